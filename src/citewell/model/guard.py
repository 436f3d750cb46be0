"""What the guard says of an answer: each citation with its verdict and its quote, and the answer without the bad ones.

These values don't know how citations are found, nor how a verdict is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["shown", "not_shown", "unknown", "ambiguous", "stale"]
CitationPlace = Literal["text", "link", "footnote", "code", "list"]
QuoteVerdict = Literal["exact", "near", "not_found", "unchecked"]


@dataclass(frozen=True, slots=True)
class KnownChunk:
    """What the guard needs of a chunk that exists now within the caller's scope.

    Attributes:
        digest: of its text, as when it was shown; empty = unknown.
        text: for quotes; None = unknown.
    """

    digest: str = ""
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that an answer gives as those of a citation, and whether they are (GUARD-3).

    Attributes:
        text: as written, without its quotation marks.
        verdict: `exact` but for white space and width; `near`; `not_found`; `unchecked` if the text isn't known.
        ratio: in [0, 1], 1 for `exact`; None for `unchecked`.
    """

    text: str
    verdict: QuoteVerdict
    ratio: float | None = None

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {"text": self.text, "verdict": self.verdict, "ratio": self.ratio}


@dataclass(frozen=True, slots=True)
class Citation:
    """One id in an answer, and what the guard says of it (GUARD-1).

    Attributes:
        raw: the id as written, without brackets, label and emphasis.
        evidence_key: the known key that it is; None if it is none.
        verdict: `shown`; `not_shown` (exists, but was not shown here); `unknown` (no such id within the scope);
            `ambiguous` (a document without a chunk); `stale` (shown, but its text has changed since).
        detail: why, and what may have been meant; empty if there is nothing to say.
        place: where it stands; `list` if ids were given instead of an answer.
        span: of `raw` in the answer, in characters; None in a list.
        quote: given with it; None if there is none.
    """

    raw: str
    evidence_key: str | None
    verdict: Verdict
    detail: str = ""
    place: CitationPlace = "text"
    span: tuple[int, int] | None = None
    quote: Quote | None = None

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "raw": self.raw,
            "evidence_key": self.evidence_key,
            "verdict": self.verdict,
            "detail": self.detail,
            "place": self.place,
            "span": None if self.span is None else list(self.span),
            "quote": None if self.quote is None else self.quote.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class GuardReport:
    """What the guard says of an answer.

    Attributes:
        ok: every citation is `shown`; in strict mode also every quote that could be checked is `exact` or `near`. True
            of an answer that cites nothing, so also of one whose ids all stand in code.
        citations: in reading order, each occurrence.
        in_code: ids in code blocks and inline code, apart: they count neither for `ok` nor for `cleaned`.
        cleaned: the answer without citations that aren't `shown`, the answer itself if there are none. In strict mode
            a rejected answer fails as a whole, and this is empty. For a list: the ids that are `shown`, one a line.
        disclaimer: what all this does not prove (GUARD-4).
        strict: the mode.
    """

    ok: bool
    citations: tuple[Citation, ...]
    in_code: tuple[Citation, ...]
    cleaned: str
    disclaimer: str
    strict: bool = False

    def to_dict(self) -> dict[str, object]:
        """JSON values, in the order of the fields."""
        return {
            "ok": self.ok,
            "citations": [citation.to_dict() for citation in self.citations],
            "in_code": [citation.to_dict() for citation in self.in_code],
            "cleaned": self.cleaned,
            "disclaimer": self.disclaimer,
            "strict": self.strict,
        }
