"""Recordings made by hand: what each path found for a query is written down, no store and no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from citewell.evaluation.measures import judge
from citewell.evaluation.model import Dataset
from citewell.evaluation.recorded import Recorded, Recording
from citewell.evaluation.truth import hold_against
from citewell.evaluation.tune import Task
from citewell.evaluation.tune_grid import Stage, stages
from citewell.evaluation.tune_replay import Rules, Setting
from citewell.identity import format_key
from citewell.model import PATHS, Candidate, LookupPolicy, SearchPolicy

WEIGHTS = {"dense": 1.0, "dense_filtered": 1.0, "lexical": 1.9}
HYBRID = Setting.of(SearchPolicy(mode="hybrid", weights=WEIGHTS), LookupPolicy())
Rankings = Mapping[str, Sequence[str]]


def key(name: str) -> str:
    """The first chunk of the document of this name."""
    return format_key(name, 0)


def numbered(start: str, count: int) -> list[str]:
    """Names that no other query finds, each of a document of its own."""
    return [f"{start}{number}" for number in range(1, count + 1)]


def recording(queries: Mapping[str, Rankings], similarity: Mapping[str, float] | None = None) -> Recording:
    """What each query found, by names of documents, best first; a document has one chunk."""
    names = sorted({name for rankings in queries.values() for ranking in rankings.values() for name in ranking})
    known = {key(name): value for name, value in (similarity or {}).items()}
    return Recording(
        depth=200,
        queries={
            query: Recorded(
                {path: tuple(map(key, queries[query][path])) for path in PATHS if path in queries[query]}, known
            )
            for query in sorted(queries)
        },
        chunks={key(name): Candidate(evidence_key=key(name), doc_id=name, chunk_index=0) for name in names},
    )


def few_stages() -> tuple[Stage, ...]:
    """The mode, k 60 or 5, retrieve-k 50 or 100: what hand-made rankings need, and no more."""
    mode, _, _ = stages("document", PATHS, return_n=20, depth=200)
    fusion = Stage(("retrieval.search.rrf-k",), lambda setting: (replace(setting, rrf_k=k) for k in (60, 5.0)))
    width = Stage(("rag.retrieve-k",), lambda setting: (replace(setting, retrieve_k=k) for k in (50, 100)))
    return mode, fusion, width


def task(recorded: Recording, relevant: Mapping[str, str]) -> Task:
    """Tuning on this recording; the document that is relevant for each query is named."""
    dataset = Dataset(
        name="by-hand",
        grain="document",
        queries={query: f"question {query}" for query in recorded.queries},
        qrels={query: {relevant[query]: 1.0} for query in recorded.queries},
    )
    truth = hold_against(dataset, dict.fromkeys(relevant.values(), 1), lambda _: {})
    return Task(
        recording=recorded,
        current=HYBRID,
        rules=Rules(return_n=20),
        stages=few_stages(),
        judge=partial(judge, dataset=dataset, truth=truth, depth=20),
    )


def outvoted(query: str) -> Rankings:
    """`QUERY-right` is first in the lexical path alone; `QUERY-wrong` is first in the dense one and tenth there.

    k 60: right 1.9/61 = .031, wrong 1/61 + 1.9/70 = .044; k 5: right 1.9/6 = .317, wrong 1/6 + 1.9/15 = .293.
    """
    return {
        "dense": [f"{query}-wrong"],
        "lexical": [f"{query}-right", *numbered(f"{query}-l", 8), f"{query}-wrong"],
    }


def agreed(query: str) -> Rankings:
    """`QUERY-right` is twelfth in both paths.

    k 60: 2.9/72 = .040, above the first of either path; k 5: 2.9/17 = .171, below 1.9/(5 + 6) = .173: seventh.
    """
    return {
        "dense": [*numbered(f"{query}-d", 11), f"{query}-right"],
        "lexical": [*numbered(f"{query}-l", 11), f"{query}-right"],
    }
