"""What a retriever of any framework hands out of a lookup: identity, text, similarity, and metadata that JSON holds.

Ids are evidence keys. The one number that goes into a framework's score is the similarity; it is None where it is not
known, and never another number in its place (SCORE-1). It knows no framework's classes.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final

from citewell.admission import check_names
from citewell.app.options import LookupOptions
from citewell.checks import is_number, shown
from citewell.errors import InvalidRequest
from citewell.model import Budget, EvidenceBlock, Scalar

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.lookup import LookupResult

_log = logging.getLogger("citewell.integrations")

OPTIONS: Final = tuple(name for name in LookupOptions.__annotations__ if name != "return_n")
"""Arguments of `Knowledge.lookup` that a retriever takes under their own names; `return_n` has the framework's name."""

_EVERYTHING = Budget(max_items=None, max_chars_per_item=None, max_chars=None, max_tokens=None)
_MADE_BY_LOOKUPS = (
    "evidence_key", "doc_id", "chunk_index", "similarity", "lexical_score", "fused_score", "rerank_score", "reasons",
    "role", "span", "locator", "digest", "already_shown",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of evidence as frameworks hold documents.

    Attributes:
        id: the evidence key.
        text: of the chunk, whole; empty for what the session was shown before, unless it is to be repeated.
        similarity: in [-1, 1], higher is closer; None if unknown.
        metadata: JSON values; see `passages_of`.
    """

    id: str
    text: str
    similarity: float | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What a retriever found: best first, as `Knowledge.lookup` orders it, and how the lookup went (PROJ-6)."""

    passages: tuple[Passage, ...]
    status: str
    degraded: tuple[str, ...]


def find(knowledge: Knowledge, query: str, *, count: int | None, options: Mapping[str, Any]) -> Found:
    """Look up, and hand out the evidence whole, in the lookup's order.

    Within a session all of it is recorded as shown, for a framework puts what it retrieves before its model. Unlike a
    tool, a retriever repeats what the session was shown before, because a chain starts from nothing each time;
    `repeat=False` hands out such passages without their text, marked `already_shown`.

    Args:
        knowledge: to ask.
        query: as `Knowledge.lookup`.
        count: the most passages; None = the setting `rag.return-n`.
        options: further arguments of `Knowledge.lookup`; None counts as not given.

    Raises:
        InvalidRequest: an option is unknown, or can't be used.
        StoreError, EmbedderError: every path failed.
    """
    check_names(list(options), OPTIONS)
    given = {"repeat": True, **{name: value for name, value in options.items() if value is not None}}
    result = knowledge.lookup(query, return_n=count, **given)
    degraded = _recorded(result)
    for cause in degraded:
        _log.warning("a lookup was degraded: %s", cause)
    return Found(passages_of(result), result.status, degraded)


def _recorded(result: LookupResult) -> tuple[str, ...]:
    """Record within its session what is handed out; the causes of degradation, with one of recording if that failed."""
    if result.on_shown is None:
        return result.degraded
    causes = result.to_agent(_EVERYTHING)["degraded"]
    return tuple(map(str, causes)) if isinstance(causes, list) else result.degraded


def passages_of(result: LookupResult) -> tuple[Passage, ...]:
    """The evidence of a lookup.

    The metadata of each has the fields of an EvidenceBlock but `text`: `evidence_key`, `doc_id`, `chunk_index`,
    `source`, `title`, `breadcrumb`, `category`, `similarity`, `lexical_score`, `fused_score`, `rerank_score`,
    `reasons` (`[{path, rank, score}]`), `role`, `span`, `locator`, `digest`; beside them the document's own metadata,
    where no name of these is taken. `already_shown` is there for what comes without its text.
    """
    return tuple(_passage(block, repeated=block.evidence_key in result.already_shown) for block in result.evidence)


def _passage(block: EvidenceBlock, *, repeated: bool) -> Passage:
    own = block.to_dict()
    text, own_metadata = own.pop("text"), own.pop("metadata")
    metadata = {**plain(own_metadata), **plain(own), **({"already_shown": True} if repeated else {})}
    return Passage(block.evidence_key, "" if repeated else str(text), metadata["similarity"], metadata)


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The value in JSON's own kinds; a number that JSON has no form for is None, anything else unknown its text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if is_number(value):
        number = float(value)  # type: ignore[arg-type]  # is_number says that it is Real
        return number if math.isfinite(number) else None
    return str(value)


def where_of(conditions: Iterable[tuple[str, Any]], given: Mapping[str, Scalar] | None = None) -> dict[str, Scalar]:
    """A framework's conditions, all of them equalities, as the `where` of a lookup.

    Args:
        conditions: field and value; they must all hold.
        given: a `where` that must hold too.

    Raises:
        InvalidRequest: two conditions demand two values of one field, or a field is none that documents bear.
    """
    where = dict(given or {})
    for name, value in conditions:
        if name in _MADE_BY_LOOKUPS:
            raise InvalidRequest(
                f"a filter can't compare {name!r}, which lookups make and no document bears",
                way_out="Filter by a field of the documents' own metadata.",
            )
        if name in where and (where[name] != value or type(where[name]) is not type(value)):
            raise InvalidRequest(
                f"filters demand both {shown(where[name])} and {shown(value)} of {name!r}, which nothing can meet",
                way_out="Drop one of them; Citewell's filters are equalities that must all hold.",
            )
        where[name] = value
    return where


def unusable(what: str) -> InvalidRequest:
    """The error for a filter that can't be said in equalities; it is refused, for dropping it would show too much."""
    return InvalidRequest(
        f"filters can't hold {what}",
        way_out="Citewell compares fields with ==, all of which must hold (`and`). Leave the rest to labels (`scope`).",
    )
