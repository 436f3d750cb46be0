"""Session memory: what of this evidence was shown before, and what is shown now (SESSION-1, SESSION-2, GUARD-1).

It brings the clock and the policy to a SessionStore; how a repeat looks to an agent, projection decides.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from citewell.model import EvidenceBlock, SessionPolicy, Shown
from citewell.ports import SessionStore

Scope = tuple[str, ...] | None
OnShown = Callable[[Iterable[EvidenceBlock], Mapping[str, int]], None]
"""Told what is shown, and of what is cut short how many characters; as `SessionMemory.record` of one session."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a session was shown of some evidence.

    Attributes:
        whole: the keys of what it was shown whole.
        partly: how many characters, from the beginning, of the others.
    """

    whole: frozenset[str] = frozenset()
    partly: Mapping[str, int] = field(default_factory=dict)


class SessionMemory:
    """Remembers per session, and per scope of it, what was shown; safe to call from several threads.

    Args:
        store: where it is kept.
        policy: how much, and for how long.
        clock: seconds since 1970.
    """

    def __init__(
        self, store: SessionStore, policy: SessionPolicy | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._policy, self._clock = store, policy or SessionPolicy(), clock

    def shown(self, session: str, scope: Scope) -> Mapping[str, Shown]:
        """What this session remembers, by evidence key."""
        return self._store.shown(session, scope, since=self._clock() - self._policy.max_age_s)

    def seen(self, session: str, scope: Scope, evidence: Iterable[EvidenceBlock]) -> Seen:
        """What of this evidence the session was shown with the very text that it has now."""
        known = self.shown(session, scope)
        chars = {block.evidence_key: _chars(known, block) for block in evidence}
        return Seen(
            frozenset(key for key, count in chars.items() if count is None),
            {key: count for key, count in chars.items() if count},
        )

    def record(
        self, session: str, scope: Scope, evidence: Iterable[EvidenceBlock], cut: Mapping[str, int] | None = None
    ) -> None:
        """Remember that the session was shown this evidence now; of the keys in `cut`, so many characters only.

        What was shown of a text before counts too, as long as the text is the same.
        """
        cut = cut or {}
        known = self.shown(session, scope) if cut else {}
        now = self._clock()
        shown = [
            Shown(block.evidence_key, _digest(block), now, _most(cut.get(block.evidence_key), _chars(known, block)))
            for block in evidence
        ]
        if shown:
            self._store.record(session, scope, shown, policy=self._policy)


def _chars(known: Mapping[str, Shown], block: EvidenceBlock) -> int | None:
    """How many characters of this text were shown; None = all."""
    entry = known.get(block.evidence_key)
    return entry.chars if entry is not None and entry.digest == _digest(block) else 0


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _digest(block: EvidenceBlock) -> str:
    """The chunk's own, or one of its text where a search port of a third party gives none."""
    return block.digest or hashlib.sha256(block.text.encode("utf-8", "surrogatepass")).hexdigest()
