"""The reference session store: a dict under a lock, gone when the process ends; other engines are compared with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

from citewell.model import SessionInfo, SessionPolicy, Shown

_Key = tuple[str, tuple[str, ...] | None]


class MemorySessions:
    """See citewell.ports.SessionStore."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[_Key, dict[str, Shown]] = {}

    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        """What it was shown at `since` or later."""
        with self._lock:
            held = self._held.get((session, scope), {})
            return {key: shown for key, shown in held.items() if shown.at >= since}

    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        """Remember these, and forget what is beyond the policy."""
        if not shown:
            return
        now = max(entry.at for entry in shown)
        with self._lock:
            held = self._held.setdefault((session, scope), {})
            held.update((entry.evidence_key, entry) for entry in shown)
            self._held[session, scope] = _latest(held, policy.max_items)
            self._forget_old(now - policy.max_age_s)
            self._forget_most(policy.max_sessions)

    def sessions(self) -> Iterator[SessionInfo]:
        """All of them, ordered by session id, then scope (None first)."""
        with self._lock:
            held = {key: dict(shown) for key, shown in self._held.items()}
        for session, scope in sorted(held, key=_order):
            shown = held[session, scope]
            yield SessionInfo(session, scope, len(shown), max(entry.at for entry in shown.values()))

    def forget(self, session: str) -> int:
        """Forget it in every scope."""
        with self._lock:
            return sum(len(self._held.pop(key)) for key in list(self._held) if key[0] == session)

    def _forget_old(self, since: float) -> None:
        for key in list(self._held):
            kept = {name: entry for name, entry in self._held[key].items() if entry.at >= since}
            if kept:
                self._held[key] = kept
            else:
                del self._held[key]

    def _forget_most(self, most: int) -> None:
        used = sorted(self._held, key=lambda key: (-max(entry.at for entry in self._held[key].values()), *_order(key)))
        for key in used[most:]:
            del self._held[key]


def _latest(held: Mapping[str, Shown], most: int) -> dict[str, Shown]:
    """The entries shown last; of equal times, those whose key comes first."""
    kept = sorted(held.values(), key=lambda entry: (-entry.at, entry.evidence_key))[:most]
    return {entry.evidence_key: entry for entry in kept}


def _order(key: _Key) -> tuple[str, bool, tuple[str, ...]]:
    session, scope = key
    return session, scope is not None, scope or ()
