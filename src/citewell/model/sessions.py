"""What a session remembers: which evidence it was shown, which text that was, and when (SESSION-1, GUARD-1).

These values don't know where they are kept, nor what time it is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """One piece of evidence that a session was shown.

    Attributes:
        evidence_key: of the chunk.
        digest: of the chunk's text as it was then; another one now means that the text has changed.
        at: seconds since 1970 (UTC) when it was last shown.
        chars: how many characters of its text, from the beginning, were shown at most; None = all. Of a text cut short,
            an agent hasn't seen the rest, so that more of it is shown again, although its id has been shown.
    """

    evidence_key: str
    digest: str
    at: float
    chars: int | None = None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session within one scope, for lists.

    Attributes:
        session: the id that callers give.
        scope: the labels it was held with; sessions of other labels are other sessions (SESSION-2).
        shown: how many pieces of evidence it remembers.
        last_at: seconds since 1970 (UTC) of the latest.
    """

    session: str
    scope: tuple[str, ...] | None
    shown: int
    last_at: float

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "session": self.session,
            "scope": None if self.scope is None else list(self.scope),
            "shown": self.shown,
            "last_at": self.last_at,
        }


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """How much is remembered, and for how long; the `session.*` settings.

    Attributes:
        max_items: the most pieces of evidence that a session remembers; the latest stay.
        max_age_s: seconds after which a piece of evidence is forgotten.
        max_sessions: the most sessions that a store remembers; those used latest stay.
    """

    max_items: int = 1_000
    max_age_s: float = 7 * 24 * 3600.0
    max_sessions: int = 10_000
