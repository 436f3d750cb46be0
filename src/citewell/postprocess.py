"""Decides which candidates become evidence (POST-1..8, SCORE-5, SCORE-6); what is left out is named with its reason.

It never changes the order or the scores of what stays, and never writes into a candidate. It does not know how
candidates were found, what an identifier is (analysis does), or whether there is more to ask for (lookup does).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from citewell.errors import InvalidRequest
from citewell.model import PATHS, Candidate, Dropped, DropReason, Reason, Refined

_Placed = list[tuple[int, Candidate]]
"""Candidates with their position in the input, from 1."""

_Drops = list[tuple[int, Dropped]]

# Scripts that run on without spaces, or that attach particles to foreign words, do not continue a Latin identifier.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u2e80-\u2fff\u3005-\u318f\u31f0-\u31ff\u3400-\u9fff"
    r"\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = rf"[^\W{_UNSPACED}]"
_LETTER = rf"[^\W_{_UNSPACED}]"
_PLAIN_EDGES = re.compile(rf"(?<!{_LETTER})"), re.compile(rf"(?!{_LETTER})")
_COMPOUND_EDGES = (
    re.compile(rf"(?<!{_WORD})(?<!{_WORD}-)(?<![0-9]\.)"),
    re.compile(rf"(?!{_WORD})(?!-{_WORD})(?!\.[0-9])"),
)
_VERSION = re.compile(r"v?(?=[0-9]+\.[0-9])")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+")


def refine(
    candidates: Sequence[Candidate],
    *,
    return_n: int,
    max_chunks_per_document: int = 2,
    min_similarity: float | None = None,
    keep_identifiers: bool = True,
    query_identifiers: Sequence[str] = (),
) -> Refined:
    """Choose from candidates, best first: deduplicate, apply the floor, cap documents, cut at return_n (POST-1).

    The result is a subsequence of the input: `kept` plus `dropped` are all of it. With equal candidates, the answer
    for a smaller return_n is a prefix of the answer for a larger one (POST-6). The hits of a refill (POST-7) are
    appended to the first candidates and the whole is refined again: caps then count across both, and what was kept
    at first stays in front.

    Duplicates are candidates with equal evidence keys, and nothing else. The first stays, with the reasons of all
    (best rank per path) and the best known similarity; a merged candidate is a new object.

    Args:
        candidates: best first.
        return_n: the most that are kept, >= 1.
        max_chunks_per_document: the most of one document (`document_of`), 0 = no cap.
        min_similarity: a candidate stays if its similarity is at least this; unknown is below. None = no floor.
        keep_identifiers: whether a candidate below the floor stays if the lexical path found it and it holds every
            identifier of the query (SCORE-6).
        query_identifiers: those identifiers; without any, nothing stays below the floor.

    Raises:
        InvalidRequest: return_n, the cap or the floor is out of range.
    """
    _check(return_n, max_chunks_per_document, min_similarity, query_identifiers)
    wanted = [identifier for identifier in query_identifiers if _folded(identifier).strip()] if keep_identifiers else []
    unique, repeated = _deduplicated(candidates)
    close, below, excepted = _above_floor(unique, min_similarity, wanted)
    capped, crowding = _capped(close, max_chunks_per_document)
    kept, beyond = capped[:return_n], capped[return_n:]
    cut: _Drops = [
        _drop(position, candidate, "return_n", f"place {place} > {return_n}")
        for place, (position, candidate) in enumerate(beyond, start=return_n + 1)
    ]
    dropped = sorted([*repeated, *below, *crowding, *cut], key=lambda drop: drop[0])
    return Refined(
        kept=tuple(candidate for _, candidate in kept),
        dropped=tuple(drop for _, drop in dropped),
        kept_identifiers=tuple(c.evidence_key for _, c in kept if c.evidence_key in excepted),
    )


def full_documents(kept: Sequence[Candidate], max_chunks_per_document: int) -> tuple[str, ...]:
    """The docIds of which no further chunk could be kept, in order of their first chunk; what a refill leaves out.

    A document known by its source alone can't be named in a request, so it is not listed. Cap 0: none is ever full.
    """
    if max_chunks_per_document == 0:
        return ()
    counts: dict[str, int] = {}
    for candidate in kept:
        if candidate.doc_id:
            counts[candidate.doc_id] = counts.get(candidate.doc_id, 0) + 1
    return tuple(doc_id for doc_id, count in counts.items() if count >= max_chunks_per_document)


def document_of(candidate: Candidate) -> tuple[str, str]:
    """What the cap counts by: the docId, without one the source, without both the block itself (POST-4).

    A pair of the kind and the name, so that a docId never counts as another document's source.
    """
    if candidate.doc_id:
        return ("document", candidate.doc_id)
    if candidate.source.strip():
        return ("source", candidate.source)
    return ("block", candidate.evidence_key)


def holds_identifiers(candidate: Candidate, identifiers: Iterable[str]) -> bool:
    """Whether text, title or breadcrumb of the candidate hold each of these identifiers, as whole tokens.

    Both sides are compared after NFKC and case folding. A plain identifier (`E12`) may be a part of a longer one
    (`KB-E12`, `E12_old`), but never of a longer word (`E1207`); one with inner marks (`ZX-81`, `max_conn`) has to be
    the whole (not `ZX-81-Q`, not `max_conn_age`). `1.24.3` and `v1.24.3` are the same. Letters of scripts without
    spaces may touch it.
    """
    haystack = _folded("\n".join((candidate.title, candidate.breadcrumb, candidate.text)))
    return all(
        any(_stands_alone(spelling, haystack) for spelling in _spellings(_folded(identifier)))
        for identifier in identifiers
    )


def _check(return_n: int, cap: int, floor: float | None, identifiers: Sequence[str]) -> None:
    if isinstance(return_n, bool) or return_n < 1:
        raise InvalidRequest(f"return_n can't be {return_n!r}", way_out="Give an integer >= 1.")
    if isinstance(cap, bool) or cap < 0:
        raise InvalidRequest(f"max_chunks_per_document can't be {cap!r}", way_out="Give an integer >= 0; 0 = no cap.")
    if floor is not None and not _is_floor(floor):
        raise InvalidRequest(f"min_similarity can't be {floor!r}", way_out="Give a number from -1 to 1, or None.")
    if isinstance(identifiers, str):
        raise InvalidRequest(f"query_identifiers can't be the bare string {identifiers!r}", way_out="Give a sequence.")


def _is_floor(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1 <= value <= 1


def _deduplicated(candidates: Sequence[Candidate]) -> tuple[_Placed, _Drops]:
    first: dict[str, tuple[int, Candidate]] = {}
    repeated: _Drops = []
    for position, candidate in enumerate(candidates, start=1):
        if candidate.evidence_key not in first:
            first[candidate.evidence_key] = (position, candidate)
            continue
        place, known = first[candidate.evidence_key]
        first[candidate.evidence_key] = (place, _merged(known, candidate))
        repeated.append(_drop(position, candidate, "duplicate", f"position {position} repeats position {place}"))
    return list(first.values()), repeated


def _merged(higher: Candidate, lower: Candidate) -> Candidate:
    return replace(
        higher,
        similarity=_best(higher.similarity, lower.similarity),
        lexical_score=_best(higher.lexical_score, lower.lexical_score),
        fused_score=lower.fused_score if higher.fused_score is None else higher.fused_score,
        rerank_score=lower.rerank_score if higher.rerank_score is None else higher.rerank_score,
        reasons=_merged_reasons((*higher.reasons, *lower.reasons)),
    )


def _best(one: float | None, other: float | None) -> float | None:
    # 0.0 and -0.1 are values; only None and NaN are unknown.
    known = [value for value in (one, other) if value is not None and value == value]
    return max(known, default=None)


def _merged_reasons(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    best: dict[str, Reason] = {}
    for reason in reasons:
        if reason.path not in best or reason.rank < best[reason.path].rank:
            best[reason.path] = reason
    order: dict[str, int] = {path: place for place, path in enumerate(PATHS)}
    return tuple(sorted(best.values(), key=lambda reason: (order.get(reason.path, len(order)), reason.path)))


def _above_floor(placed: _Placed, floor: float | None, identifiers: Sequence[str]) -> tuple[_Placed, _Drops, set[str]]:
    if floor is None:
        return placed, [], set()
    close: _Placed = []
    below: _Drops = []
    excepted: set[str] = set()
    for position, candidate in placed:
        if candidate.similarity is not None and candidate.similarity >= floor:
            close.append((position, candidate))
        elif identifiers and _is_lexical(candidate) and holds_identifiers(candidate, identifiers):
            excepted.add(candidate.evidence_key)
            close.append((position, candidate))
        else:
            below.append(_drop(position, candidate, "below_similarity", _shortfall(candidate.similarity, floor)))
    return close, below, excepted


def _is_lexical(candidate: Candidate) -> bool:
    return candidate.lexical_score is not None or any(reason.path == "lexical" for reason in candidate.reasons)


def _capped(placed: _Placed, cap: int) -> tuple[_Placed, _Drops]:
    if cap == 0:
        return placed, []
    counts: dict[tuple[str, str], int] = {}
    within: _Placed = []
    crowding: _Drops = []
    for position, candidate in placed:
        document = document_of(candidate)
        counts[document] = counts.get(document, 0) + 1
        if counts[document] <= cap:
            within.append((position, candidate))
        else:
            detail = f"number {counts[document]} of {document[0]} {document[1]!r}, at most {cap}"
            crowding.append(_drop(position, candidate, "document_cap", detail))
    return within, crowding


def _drop(position: int, candidate: Candidate, reason: DropReason, detail: str) -> tuple[int, Dropped]:
    return position, Dropped(candidate.evidence_key, reason, detail)


def _shortfall(similarity: float | None, floor: float) -> str:
    if similarity is None or similarity != similarity:
        return f"similarity unknown, floor {floor:.3f}"
    # As many digits as it takes to tell the two apart: 0.450 < 0.450 would explain nothing.
    for digits in range(3, 10):
        low, high = f"{similarity:.{digits}f}", f"{floor:.{digits}f}"
        if low != high:
            return f"similarity {low} < {high}"
    return f"similarity {similarity!r} < {floor!r}"


def _folded(text: str) -> str:
    if text.isascii():
        return text.casefold()
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return visible.casefold().replace("\u2010", "-").replace("\u2019", "'")


def _spellings(identifier: str) -> tuple[str, ...]:
    version = _VERSION.match(identifier)
    return (identifier[version.end() :], f"v{identifier[version.end() :]}") if version else (identifier,)


def _stands_alone(token: str, text: str) -> bool:
    begins, ends = _PLAIN_EDGES if token.isalnum() else _COMPOUND_EDGES
    start = text.find(token)
    while start >= 0:
        if begins.match(text, start) and ends.match(text, start + len(token)):
            return True
        start = text.find(token, start + 1)
    return False
