"""The reference session store: a dict under a lock, gone when the process ends; other engines are compared with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from citewell.errors import StoreUnreachable
from citewell.model import SessionInfo, SessionPolicy, Shown

_Key = tuple[str, tuple[str, ...] | None]
_Held = dict[_Key, dict[str, Shown]]


class MemorySessions:
    """See citewell.ports.SessionStore."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: _Held = {}
        self._closed = False

    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        """What it was shown at `since` or later."""
        with self._used() as held:
            return {key: entry for key, entry in held.get((session, scope), {}).items() if entry.at >= since}

    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        """Remember these, and forget what is beyond the policy."""
        with self._used() as held:
            if not shown:
                return
            now = max(entry.at for entry in shown)
            known = held.get((session, scope), {}) | {entry.evidence_key: entry for entry in shown}
            held[session, scope] = _latest(known, policy.max_items)
            _forget_old(held, now - policy.max_age_s)
            _forget_idle(held, policy.max_sessions)

    def sessions(self) -> Iterator[SessionInfo]:
        """All of them, ordered by session id, then scope (None first)."""
        with self._used() as held:
            infos = [SessionInfo(*key, len(held[key]), _last(held[key])) for key in sorted(held, key=_order)]
        return iter(infos)

    def forget(self, session: str) -> int:
        """Forget it in every scope."""
        with self._used() as held:
            return sum(len(held.pop(key)) for key in list(held) if key[0] == session)

    def close(self) -> None:
        """Refuse every further call."""
        with self._lock:
            self._closed = True

    @contextmanager
    def _used(self) -> Iterator[_Held]:
        with self._lock:
            if self._closed:
                raise StoreUnreachable("the store memory: is closed", way_out="Open a new one; its contents are gone.")
            yield self._held


def _forget_old(held: _Held, since: float) -> None:
    for key in list(held):
        held[key] = {name: entry for name, entry in held[key].items() if entry.at >= since}
        if not held[key]:
            del held[key]


def _forget_idle(held: _Held, most: int) -> None:
    for key in sorted(held, key=lambda key: (-_last(held[key]), *_order(key)))[most:]:
        del held[key]


def _latest(entries: Mapping[str, Shown], most: int) -> dict[str, Shown]:
    """The entries shown last; of equal times, those whose key comes first."""
    kept = sorted(entries.values(), key=lambda entry: (-entry.at, entry.evidence_key))[:most]
    return {entry.evidence_key: entry for entry in kept}


def _last(entries: Mapping[str, Shown]) -> float:
    return max(entry.at for entry in entries.values())


def _order(key: _Key) -> tuple[str, bool, tuple[str, ...]]:
    session, scope = key
    return session, scope is not None, scope or ()
