"""What is worked out from a recording is what a lookup answers, whatever the settings (EVAL-2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

import pytest

from citewell import Document, Knowledge, Settings
from citewell.evaluation.recorded import Recording, record
from citewell.evaluation.tune_replay import Rules, Setting, replay
from citewell.model import LookupPolicy, SearchPolicy
from citewell.testing.fakes import HashEmbedder

WORDS = ["pool", "disk", "node", "pod", "queue", "lease", "quota", "cert", "clock", "cache", "shard", "replica"]
CODES = ("KB-4471", "max_conn", "E1207", "fetchTableRow")
PLAIN = {"retrieval.search.mode": "hybrid", "rag.hints": False}


def documents() -> list[Document]:
    """Thirty documents of one to four chunks; some share a code."""
    draw = Random(5)
    texts = []
    for number in range(30):
        parts = [
            " ".join(draw.choice(WORDS) for _ in range(110)) + f". Code {draw.choice(CODES)} of part {part}."
            for part in range(1 + number % 4)
        ]
        texts.append(Document(f"doc-{number}", "\n\n".join(parts), title=draw.choice(WORDS), format="text"))
    return texts


QUERIES = {
    "a": "why is the pool of the disk slow",
    "b": "lease quota KB-4471",
    "c": "max_conn",
    "d": "clock cert replica shard cache",
    "e": "E1207 fetchTableRow node",
    "f": "nothing of this is known",
    "g": "???",
}


@pytest.fixture(scope="module")
def knowledge() -> Iterator[Knowledge]:
    with Knowledge.open("memory:", settings=Settings.of(PLAIN), embedder=HashEmbedder()) as filled:
        filled.ingest_documents(documents())
        yield filled


@pytest.fixture(scope="module")
def recorded(knowledge: Knowledge) -> Recording:
    return record(QUERIES, lambda text, deep: knowledge.lookup(text, **deep))


@pytest.mark.requirement("EVAL-2")
def test_a_recording_has_every_candidate_in_the_order_of_its_path(knowledge: Knowledge, recorded: Recording) -> None:
    dense = knowledge.lookup(QUERIES["d"], mode="dense", return_n=200, retrieve_k=200, max_chunks_per_document=0)
    found = recorded.queries["d"]
    assert found.rankings["dense"] == tuple(block.evidence_key for block in dense.evidence)
    assert len(found.rankings["dense"]) == knowledge.status().chunks
    assert found.similarity[dense.evidence[0].evidence_key] == dense.evidence[0].similarity
    assert recorded.chunks[dense.evidence[0].evidence_key].doc_id == dense.evidence[0].doc_id


@pytest.mark.requirement("EVAL-2", "SCORE-6")
def test_a_recording_keeps_the_texts_of_what_no_floor_drops_and_no_others(recorded: Recording) -> None:
    excepted = recorded.queries["b"].excepted
    assert 0 < len(excepted) < len(recorded.queries["b"].rankings["dense"])
    assert all("KB-4471" in text for text in excepted.values())
    assert recorded.queries["a"].excepted == {}


@pytest.mark.requirement("EVAL-2")
def test_a_query_that_a_lookup_refuses_has_found_nothing(recorded: Recording) -> None:
    assert recorded.queries["g"].rankings == {}
    answer = replay(
        Setting.of(SearchPolicy("hybrid"), LookupPolicy()), Rules(5), recorded.queries["g"], recorded.chunks
    )
    assert answer.keys == ()


@pytest.mark.requirement("EVAL-2")
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_what_is_worked_out_is_what_a_lookup_answers(mode: str, knowledge: Knowledge, recorded: Recording) -> None:
    own: object = ""  # unset: each query's own
    fusions = [(own, 60), ({"dense": 1.0, "lexical": 1.9}, 60), ({"dense": 1.8, "lexical": 1.0}, 2)]
    chosen = fusions if mode == "hybrid" else fusions[:1]
    rows = itertools.product(chosen, (6, 50), (0, 1), (None, 0.3), (True, False))
    different = set()
    for (table, k), width, cap, floor, keep in rows:
        settings = Settings.of(
            {
                **PLAIN,
                "retrieval.search.mode": mode,
                "retrieval.search.weights": table,
                "retrieval.search.rrf-k": k,
                "rag.retrieve-k": width,
                "rag.return-n": 6,
                "rag.max-chunks-per-document": cap,
                "rag.keep-identifiers": keep,
                **({} if floor is None else {"rag.min-similarity": floor}),
            }
        )
        setting, rules = Setting.of(settings.search, settings.lookup), Rules(6, keep_identifiers=keep)
        asked = Knowledge(knowledge._store, knowledge._embedder, settings)
        for query in ("a", "b", "c", "e"):
            real = asked.lookup(QUERIES[query])
            answer = replay(setting, rules, recorded.queries[query], recorded.chunks)
            assert answer.keys == tuple(block.evidence_key for block in real.evidence), (
                settings.search,
                settings.lookup,
            )
            assert answer.documents == tuple(block.doc_id for block in real.evidence)
            assert answer.spans == tuple(block.span for block in real.evidence)
            different.add(answer.keys)
        asked._search.close()
    assert len(different) > 10


@pytest.mark.requirement("EVAL-2", "POST-7")
def test_a_refill_is_worked_out_too(knowledge: Knowledge) -> None:
    settings = Settings.of(
        {
            **PLAIN,
            "retrieval.search.paths": ["dense"],
            "rag.retrieve-k": 8,
            "rag.return-n": 8,
            "rag.max-chunks-per-document": 1,
        }
    )
    asked = Knowledge(knowledge._store, knowledge._embedder, settings)
    recorded = record({"d": QUERIES["d"]}, lambda text, deep: asked.lookup(text, **deep))
    real = asked.lookup(QUERIES["d"])
    asked._search.close()
    setting, query = Setting.of(settings.search, settings.lookup), recorded.queries["d"]
    assert real.trace.refill
    assert replay(setting, Rules(8), query, recorded.chunks).keys == tuple(b.evidence_key for b in real.evidence)
    assert len(replay(setting, Rules(8, refill=False), query, recorded.chunks).keys) < 8
