"""Checks of what a store answers: a path that breaks its contract has failed, and nothing of its ranking is believed.

What is checked is what `citewell.ports.Snapshot` promises and can be seen without a second search. It knows no order
of steps and no engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from citewell.checks import all_floats, as_number, is_number, shown
from citewell.errors import StoreError
from citewell.fetched import fetched
from citewell.filtering import has_all
from citewell.model import Path, Scored, SearchRequest, StoredChunk

_MOST = 1 + 1e-4
"""So far beyond 1 a similarity may be rounded by whoever computes in 32 bits."""


def checked_ranking(found: object, path: Path, most: int) -> tuple[Scored, ...]:
    """A path's ranking, if it is one: at most so many hits, each key once, finite scores that fall.

    Raises:
        StoreError: it isn't; says why.
    """
    if not isinstance(found, Iterable):
        raise _broken(f"a search answered {shown(found)}")
    ranking = tuple(found)
    for hit in ranking:
        if not isinstance(hit, Scored) or not isinstance(hit.key, str):
            raise _broken(f"a search answered {shown(hit)} as a hit")
    keys, given = [hit.key for hit in ranking], [hit.score for hit in ranking]
    scores = _checked_scores(keys, given, are_similarities=path != "lexical")
    if len(ranking) > most:
        raise _broken(f"a search answered {len(ranking)} hits where {most} were asked for")
    if len(set(keys)) < len(keys):
        raise _broken("a search answered a key twice")
    if scores != sorted(scores, reverse=True):
        raise _broken("a search answered hits out of order")
    return ranking if scores is given else tuple(map(Scored, keys, scores))


def checked_similarities(found: object, keys: Sequence[str]) -> dict[str, float]:
    """The similarities of some of these keys, if that is what it is.

    Raises:
        StoreError: it isn't; says why.
    """
    if not isinstance(found, Mapping) or not found.keys() <= set(keys):
        raise _broken("similarities were answered of other chunks than asked for")
    further = dict(found)
    return dict(zip(further, _checked_scores(further, [*further.values()], are_similarities=True), strict=True))


def _checked_scores(keys: Iterable[str], scores: list[float], *, are_similarities: bool) -> list[float]:
    """The scores as floats: numpy's would not get into JSON.

    Looks at all at once, and at one after another only to turn them into floats or to say which can't be.
    """
    if all_floats(scores) and not (are_similarities and any(abs(score) > _MOST for score in scores)):
        return scores
    for key, score in zip(keys, scores, strict=True):
        if not is_number(score) or not math.isfinite(as_number(score)):
            raise _broken(f"{key} was answered with the score {shown(score)}")
        if are_similarities and abs(score) > _MOST:
            raise _broken(f"{key} was answered with the similarity {shown(score)}")
    return [*map(as_number, scores)]


def _broken(what: str) -> StoreError:
    return StoreError(what, way_out="Check the store with citewell.testing.StoreContract.")


def believable(
    found: object, rankings: Mapping[Path, Sequence[Scored]], request: SearchRequest
) -> tuple[dict[str, StoredChunk], list[str]]:
    """The fetched chunks that are what was asked for, and for each path a cause if some of its hits are not.

    A hit without a chunk, with the chunk of another key, or outside `where` or among the documents to leave out is no
    hit. Scope is looked at where leaks are counted, in the lookup.
    """
    chunks = {key: chunk for key, chunk in fetched(found).items() if _is_asked_for(chunk, request)}
    lost = {path: len({hit.key for hit in ranking} - chunks.keys()) for path, ranking in rankings.items()}
    return chunks, [
        f"{path}: {count} of its {len(rankings[path])} hits are not there or outside the filters, and were dropped"
        for path, count in lost.items()
        if count
    ]


def _is_asked_for(chunk: StoredChunk, request: SearchRequest) -> bool:
    is_there = not request.where or has_all(chunk.metadata, request.where)
    return is_there and chunk.doc_id not in request.exclude_documents
