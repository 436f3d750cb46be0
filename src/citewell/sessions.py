"""Session memory: what of this evidence was shown before, and what is shown now (SESSION-1, SESSION-2, GUARD-1).

It brings the clock and the policy to a SessionStore; how a repeat looks to an agent, projection decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

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
        """The keys of this evidence that the session was shown with the very text that it has now."""
        known = self.shown(session, scope)
        return frozenset(
            block.evidence_key
            for block in evidence
            if block.evidence_key in known and known[block.evidence_key].digest == block.digest
        )

    def record(self, session: str, scope: Scope, evidence: Iterable[EvidenceBlock]) -> None:
        """Remember that the session was shown this evidence now."""
        now = self._clock()
        shown = [Shown(block.evidence_key, block.digest, now) for block in evidence]
        if shown:
            self._store.record(session, scope, shown, policy=self._policy)
