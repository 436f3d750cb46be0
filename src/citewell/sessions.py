"""Session memory: what of this evidence was shown before, and what is shown now (SESSION-1, SESSION-2, GUARD-1).

It brings the clock and the policy to a SessionStore; how a repeat looks to an agent, projection decides.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from citewell.model import EvidenceBlock, SessionPolicy, Shown
from citewell.ports import SessionStore

Scope = tuple[str, ...] | None


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

    def repeats(self, session: str, scope: Scope, evidence: Iterable[EvidenceBlock]) -> frozenset[str]:
        """The keys of this evidence that the session was shown whole, with the very text that it has now."""
        known = self.shown(session, scope)
        return frozenset(block.evidence_key for block in evidence if _has_seen(known, block))

    def record(
        self, session: str, scope: Scope, evidence: Iterable[EvidenceBlock], *, cut: Collection[str] = ()
    ) -> None:
        """Remember that the session was shown this evidence now, that of the keys `cut` in part only.

        What was shown whole before stays so, as long as its text is the same.
        """
        known = self.shown(session, scope) if cut else {}
        now = self._clock()
        shown = [
            Shown(block.evidence_key, _digest(block), now, block.evidence_key not in cut or _has_seen(known, block))
            for block in evidence
        ]
        if shown:
            self._store.record(session, scope, shown, policy=self._policy)


def _has_seen(known: Mapping[str, Shown], block: EvidenceBlock) -> bool:
    entry = known.get(block.evidence_key)
    return entry is not None and entry.whole and entry.digest == _digest(block)


def _digest(block: EvidenceBlock) -> str:
    """The chunk's own, or one of its text where a search port of a third party gives none."""
    return block.digest or hashlib.sha256(block.text.encode("utf-8", "surrogatepass")).hexdigest()
