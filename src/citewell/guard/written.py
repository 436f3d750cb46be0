"""A citation as it is written, before anything is decided: where it stands, and every key that it may mean.

It knows neither what exists nor what was shown.
"""

from __future__ import annotations

from dataclasses import dataclass

from citewell.identity import find_identity
from citewell.model import CitationPlace


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read it: where the id begins then, how it is written then, and the key that it is then."""

    start: int
    raw: str
    key: str


@dataclass(frozen=True, slots=True)
class Written:
    """A citation as it is written.

    Attributes:
        start, end: of the id, in the view.
        raw: the id as written.
        place: where it stands.
        shown: the shown keys that it is letter by letter; more than one only if they look alike.
        readings: keys that it may be beside these, the longest first.
        document: the shown chunks of the document that it names, if it names a document and no chunk.
        guess: the key that a document id and a number, put together, would make.
        first: the first chunks of documents that it names if they exist; if none does, it is no citation.
    """

    start: int
    end: int
    raw: str
    place: CitationPlace = "text"
    shown: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    document: tuple[str, ...] = ()
    guess: str = ""
    first: tuple[str, ...] = ()


def readings(start: int, raw: str, *forms: str) -> tuple[Reading, ...]:
    """The keys that these forms of it are, each once, in their order; those that are no key are left out."""
    keys = [identity.evidence_key for form in forms if (identity := find_identity(form)) is not None]
    return tuple(Reading(start, raw, key) for key in dict.fromkeys(keys))
