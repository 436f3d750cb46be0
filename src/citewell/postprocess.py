"""Decides which candidates become evidence (POST-1..8, SCORE-5, SCORE-6); what is left out is named with its reason.

It never changes the order or the scores of what stays, and never writes into a candidate. It does not know how
candidates were found, what an identifier is (analysis does), or whether there is more to ask for (lookup does).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from citewell.checks import check_count, check_list, check_number, check_texts, refusal
from citewell.model import PATHS, Candidate, Dropped, DropReason, Reason, Refined
from citewell.model.making import maker
from citewell.patterns import late

_Placed = list[tuple[int, Candidate]]
"""Candidates with their position in the input, from 1."""

_Drops = list[tuple[int, Dropped]]

_CAP = "max_chunks_per_document"
_make_dropped = maker(Dropped)

# Scripts that run on without spaces, or that attach particles to foreign words, do not continue a Latin identifier.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u2e80-\u2fff\u3005-\u318f\u31f0-\u31ff\u3400-\u9fff"
    r"\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = rf"[^\W{_UNSPACED}]"
_LETTER = rf"[^\W_{_UNSPACED}]"
_PLAIN_EDGES = late(lambda: re.compile(rf"(?<!{_LETTER})")), late(lambda: re.compile(rf"(?!{_LETTER})"))
_COMPOUND_EDGES = (
    late(lambda: re.compile(rf"(?<!{_WORD})(?<!{_WORD}-)(?<![0-9]\.)")),
    late(lambda: re.compile(rf"(?!{_WORD})(?!-{_WORD})(?!\.[0-9])")),
)
_VERSION = re.compile(r"v?(?=[0-9]+\.[0-9])")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_CASELESS = re.compile(r"[0-9_.-]+")

# What NFKC makes of the characters that Chinese text is full of. Put in first, it leaves most texts in NFKC already,
# and seeing that takes a fiftieth of the time of bringing them there.
_WIDE_MARKS = (
    ("\uff0c", ","), ("\uff1a", ":"), ("\uff1b", ";"), ("\uff01", "!"), ("\uff1f", "?"), ("\uff08", "("),
    ("\uff09", ")"), ("\u3000", " "), ("\u2026", "..."),
)  # fmt: skip


class _Needle(NamedTuple):
    """An identifier to look for: how it may be written, folded, and the longest part of all spellings without case."""

    spellings: tuple[str, ...]
    core: str


def refine(
    candidates: Sequence[Candidate],
    *,
    return_n: int,
    max_chunks_per_document: int = 2,
    min_similarity: float | None = None,
    keep_identifiers: bool | Sequence[str] = True,
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
        keep_identifiers: the identifiers of the query (`citewell.analysis.identifiers`): a candidate below the floor
            stays if the lexical path found it and it holds every one of them (SCORE-6). False = none stays. True =
            those of `query_identifiers`; True alone, without those, keeps nothing, for this function never sees the
            query.
        query_identifiers: the identifiers of the query, if `keep_identifiers` is True.

    Raises:
        InvalidRequest: an argument is of another kind or out of range; the message names it and its value.
    """
    places = check_count("return_n", return_n)
    cap = check_count(_CAP, max_chunks_per_document, least=0)
    floor = None if min_similarity is None else _checked_floor(min_similarity)
    identifiers = _wanted(keep_identifiers, query_identifiers)
    needles = [] if floor is None else _needles(identifiers)
    unique, repeated = _deduplicated(_checked(candidates))
    close, below, excepted = _above_floor(unique, floor, needles)
    capped, crowding = _capped(close, cap)
    kept, beyond = capped[:places], capped[places:]
    cut: _Drops = [
        _drop(position, candidate, "return_n", f"place {place} > {places}")
        for place, (position, candidate) in enumerate(beyond, start=places + 1)
    ]
    dropped = sorted([*repeated, *below, *crowding, *cut], key=itemgetter(0))
    return Refined(
        kept=tuple([candidate for _, candidate in kept]),
        dropped=tuple([drop for _, drop in dropped]),
        kept_identifiers=tuple(c.evidence_key for _, c in kept if c.evidence_key in excepted),
    )


def full_documents(kept: Sequence[Candidate], max_chunks_per_document: int) -> tuple[str, ...]:
    """The docIds of which no further chunk could be kept, in order of their first chunk; what a refill leaves out.

    A document known by its source alone can't be named in a request, so it is not listed. Cap 0: none is ever full.
    """
    cap = check_count(_CAP, max_chunks_per_document, least=0)
    counts: dict[str, int] = {}
    for candidate in _checked(kept) if cap else ():
        if candidate.doc_id:
            counts[candidate.doc_id] = counts.get(candidate.doc_id, 0) + 1
    return tuple(doc_id for doc_id, count in counts.items() if count >= cap)


def document_of(candidate: Candidate) -> tuple[str, str]:
    """What the cap counts by: the docId, without one the source, without both the block itself (POST-4).

    A pair of the kind and the name, so that a docId never counts as another document's source.
    """
    return _document(_check_candidate(candidate))


def _document(candidate: Candidate) -> tuple[str, str]:
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
    return _holds(_check_candidate(candidate), _needles(check_texts("identifiers", identifiers)))


def _checked(candidates: object) -> list[Candidate]:
    listed = check_list("candidates", candidates)
    if all(issubclass(kind, Candidate) for kind in set(map(type, listed))):  # most are of one class
        return listed
    return [_check_candidate(candidate) for candidate in listed]


def _check_candidate(candidate: object) -> Candidate:
    if not isinstance(candidate, Candidate):
        raise refusal("a candidate", candidate, "a Candidate, such as a search port's Hit")
    return candidate


def _checked_floor(floor: object) -> float:
    return check_number("min_similarity", floor, least=-1, most=1, wanted="a number from -1 to 1, or None for no floor")


def _wanted(keep: object, of_query: object) -> list[str]:
    """The identifiers that keep a candidate below the floor; blank ones are none."""
    identifiers = check_texts("query_identifiers", of_query)
    if not isinstance(keep, bool):
        if identifiers:
            raise refusal("query_identifiers", of_query, "the identifiers once: keep_identifiers has them already")
        identifiers = check_texts("keep_identifiers", keep, wanted="True, False or a list of identifiers")
    return [identifier for identifier in identifiers if keep and _folded(identifier).strip()]


def _deduplicated(candidates: Iterable[Candidate]) -> tuple[_Placed, _Drops]:
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


def _above_floor(placed: _Placed, floor: float | None, needles: Sequence[_Needle]) -> tuple[_Placed, _Drops, set[str]]:
    if floor is None:
        return placed, [], set()
    close: _Placed = []
    below: _Drops = []
    excepted: set[str] = set()
    for position, candidate in placed:
        if candidate.similarity is not None and candidate.similarity >= floor:
            close.append((position, candidate))
        elif needles and _is_lexical(candidate) and _holds(candidate, needles):
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
        document = _document(candidate)
        counts[document] = number = counts.get(document, 0) + 1
        if number <= cap:
            within.append((position, candidate))
        else:
            detail = f"number {number} of {document[0]} {document[1]!r}, at most {cap}"
            crowding.append(_drop(position, candidate, "document_cap", detail))
    return within, crowding


def _drop(position: int, candidate: Candidate, reason: DropReason, detail: str) -> tuple[int, Dropped]:
    return position, _make_dropped(candidate.evidence_key, reason, detail)


def _shortfall(similarity: float | None, floor: float) -> str:
    if similarity is None or similarity != similarity:
        return f"similarity unknown, floor {floor:.3f}"
    # As many digits as it takes to tell the two apart: 0.450 < 0.450 would explain nothing.
    for digits in range(3, 10):
        low, high = f"{similarity:.{digits}f}", f"{floor:.{digits}f}"
        if low != high:
            return f"similarity {low} < {high}"
    return f"similarity {similarity!r} < {floor!r}"


def _needles(identifiers: Iterable[str]) -> list[_Needle]:
    return [_needle(_folded(identifier)) for identifier in identifiers]


def _needle(identifier: str) -> _Needle:
    version = _VERSION.match(identifier)
    bare = identifier[version.end() :] if version else identifier
    core = max(_CASELESS.findall(bare), key=len, default="")
    return _Needle((bare, f"v{bare}") if version else (identifier,), core)


def _holds(candidate: Candidate, needles: Sequence[_Needle]) -> bool:
    visible = _visible("\n".join((candidate.title, candidate.breadcrumb, candidate.text)))
    # Most candidates hold no such digits or underscores at all, and folding the case of a text is slow.
    if not all(needle.core in visible for needle in needles):
        return False
    haystack = visible.casefold()
    return all(any(_stands_alone(spelling, haystack) for spelling in needle.spellings) for needle in needles)


def _folded(text: str) -> str:
    return _visible(text).casefold()


def _visible(text: str) -> str:
    """The text in NFKC, without what can't be seen, with plain hyphens and apostrophes."""
    if text.isascii():
        return text
    for wide, plain in _WIDE_MARKS:
        text = text.replace(wide, plain)
    text = unicodedata.normalize("NFKC", text)
    if _INVISIBLE.search(text):
        text = _INVISIBLE.sub("", text)
    return text.replace("\u2010", "-").replace("\u2019", "'")


def _stands_alone(token: str, text: str) -> bool:
    begins, ends = _PLAIN_EDGES if token.isalnum() else _COMPOUND_EDGES
    start = text.find(token)
    while start >= 0:
        if begins.match(text, start) and ends.match(text, start + len(token)):
            return True
        start = text.find(token, start + 1)
    return False
