"""The suites themselves: each catches faults planted on purpose, and a foreign project can run them as they are."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import citewell.testing
from citewell.adapters.memory import MemoryStore
from citewell.adapters.memory_sessions import MemorySessions
from citewell.model import DocumentChange, Filters, Scored, SessionPolicy, Shown, StoredChunk
from citewell.ports import Snapshot
from citewell.testing import EmbedderContract, SessionContract, StoreContract
from citewell.testing.fakes import HashEmbedder


class View:
    """A snapshot whose calls a faulty store may bend."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __getattr__(self, name: str) -> object:
        return getattr(self._snapshot, name)


class FiltersAfterTheSearch(View):
    def dense(self, vector: NDArray[np.float32], k: int, filters: Filters) -> tuple[Scored, ...]:
        within = {hit.key for hit in self._snapshot.dense(vector, 10_000, filters)}
        return tuple(hit for hit in self._snapshot.dense(vector, k, Filters()) if hit.key in within)


class CutsTiesByAnotherOrder(View):
    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        hits = self._snapshot.lexical(terms, 10_000, filters)
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.key[::-1])))[:k]


class ReadsStarsAsSyntax(View):
    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> tuple[Scored, ...]:
        return self._snapshot.lexical([term.rstrip("*") for term in terms], k, filters)


class ReturnsIntegersAsFloats(View):
    def fetch(self, keys: Sequence[str]) -> Mapping[str, StoredChunk]:
        chunks = self._snapshot.fetch(keys)
        return {key: replace(chunk, metadata=_floats(chunk.metadata)) for key, chunk in chunks.items()}


def _floats(metadata: Mapping[str, object]) -> dict[str, object]:
    return {name: float(value) if type(value) is int else value for name, value in metadata.items()}


def viewed_as(view: type[View]) -> Callable[[], MemoryStore]:
    class Faulty(MemoryStore):
        @contextmanager
        def snapshot(self) -> Iterator[Any]:
            with super().snapshot() as snapshot:
                yield view(snapshot)

    return Faulty


class Live:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store._commit, name)


class ShowsTheLatestWrite(MemoryStore):
    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        yield Live(self)


class WritesUntilTheConflict(MemoryStore):
    def apply(self, changes: Sequence[DocumentChange]) -> None:
        for change in changes:
            super().apply([change])


class ForgetsItsLock(MemoryStore):
    @contextmanager
    def _writing(self) -> Iterator[Any]:
        commit = self._current()
        time.sleep(0.002)  # so that the fault shows every time
        yield commit


@pytest.mark.requirement("PORT-6")
@pytest.mark.parametrize(
    ("store", "test", "arguments"),
    [
        (
            viewed_as(FiltersAfterTheSearch),
            "test_a_narrow_filter_returns_its_full_count_beside_300_nearer_chunks",
            {"narrow": Filters(scope=("T1",))},
        ),
        (viewed_as(CutsTiesByAnotherOrder), "test_keys_are_ordered_as_text_not_as_numbers", {}),
        (viewed_as(ReadsStarsAsSyntax), "test_nothing_in_a_term_is_syntax", {}),
        (viewed_as(ReturnsIntegersAsFloats), "test_metadata_comes_back_with_its_types", {}),
        (ShowsTheLatestWrite, "test_a_snapshot_goes_on_showing_the_version_that_it_has_shown", {}),
        (WritesUntilTheConflict, "test_one_document_twice_in_a_call_is_refused", {}),
        (ForgetsItsLock, "test_writers_of_different_documents_all_succeed", {}),
    ],
)
def test_the_store_contract_catches_a_planted_fault(
    store: Callable[[], MemoryStore], test: str, arguments: dict[str, object]
) -> None:
    getattr(StoreContract(), test)(MemoryStore(), **arguments)
    with pytest.raises(AssertionError):
        getattr(StoreContract(), test)(store(), **arguments)


class IsBlindToScopes(MemorySessions):
    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        return super().shown(session, None, since=since)


class ForgetsTheFirstToCome(MemorySessions):
    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        known = {**self.shown(session, scope, since=0.0), **{entry.evidence_key: entry for entry in shown}}
        self.forget(session)
        super().record(session, scope, list(known.values())[-policy.max_items :], policy=policy)


class AddsUpWithoutALock(MemorySessions):
    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        known = dict(self._held.get((session, scope), {}))
        time.sleep(0.002)  # so that the fault shows every time
        self._held[session, scope] = known | {entry.evidence_key: entry for entry in shown}


class KeepsOldEntries(MemorySessions):
    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        super().record(session, scope, shown, policy=replace(policy, max_age_s=1e9))


@pytest.mark.requirement("PORT-6", "SESSION-2")
@pytest.mark.parametrize(
    ("sessions", "test"),
    [
        (IsBlindToScopes, "test_the_same_id_within_another_scope_is_another_session"),
        (ForgetsTheFirstToCome, "test_the_latest_entries_of_a_session_stay"),
        (AddsUpWithoutALock, "test_threads_that_record_in_one_session_lose_nothing"),
        (KeepsOldEntries, "test_entries_older_than_the_age_are_forgotten_in_every_session"),
    ],
)
def test_the_session_contract_catches_a_planted_fault(sessions: Callable[[], MemorySessions], test: str) -> None:
    getattr(SessionContract(), test)(MemorySessions())
    with pytest.raises(AssertionError):
        getattr(SessionContract(), test)(sessions())


class DependsOnTheBatch(HashEmbedder):
    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.nextafter(super().embed_passages(texts), np.float32(len(texts)), dtype=np.float32)


class SortsByLength(HashEmbedder):
    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed_passages(sorted(texts, key=len))


class ForgetsToNormalise(HashEmbedder):
    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed_passages(texts) * np.float32(1.01)


class AnswersInDoubles(HashEmbedder):
    def embed_query(self, text: str) -> NDArray[np.float32]:
        doubles: Any = super().embed_query(text).astype(np.float64)
        return doubles  # type: ignore[no-any-return]  # the fault is its type


class HasNoFingerprint(HashEmbedder):
    def __init__(self) -> None:
        super().__init__(fingerprint=" ")


@pytest.mark.requirement("PORT-6")
@pytest.mark.parametrize(
    ("embedder", "test", "arguments"),
    [
        (DependsOnTheBatch, "test_a_passage_gets_the_same_bytes_alone_and_in_any_batch", {}),
        (SortsByLength, "test_rows_keep_the_order_of_the_texts", {}),
        (ForgetsToNormalise, "test_passages_become_float32_rows_of_unit_length", {"count": 2}),
        (AnswersInDoubles, "test_a_query_becomes_one_float32_vector_of_unit_length", {}),
        (HasNoFingerprint, "test_it_says_who_it_is_and_says_the_same_again", {}),
    ],
)
def test_the_embedder_contract_catches_a_planted_fault(
    embedder: Callable[[], HashEmbedder], test: str, arguments: dict[str, object]
) -> None:
    getattr(EmbedderContract(), test)(HashEmbedder(), **arguments)
    with pytest.raises(AssertionError):
        getattr(EmbedderContract(), test)(embedder(), **arguments)


FOREIGN_TESTS = """
import pytest
from citewell.adapters.memory import MemoryStore
from citewell.adapters.memory_sessions import MemorySessions
from citewell.search import StoreSearch
from citewell.testing import EmbedderContract, SearchPortContract, StoreContract
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of

class Forgetful(MemoryStore):
    def delete(self, doc_ids):
        return 17

class TestStore(StoreContract):
    @pytest.fixture
    def store(self):
        return MemoryStore()

class TestForgetfulStore(StoreContract):
    @pytest.fixture
    def store(self):
        return Forgetful()

class TestEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return HashEmbedder()

class TestSearch(SearchPortContract):
    @pytest.fixture
    def make_port(self):
        def make(samples):
            store = MemoryStore()
            store.bind(binding_of(self.embedder))
            store.apply([sample.change(embedder=self.embedder) for sample in samples])
            return StoreSearch(store, self.embedder)
        return make
"""
FOREIGN_SETTINGS = "[pytest]\naddopts = --strict-markers --strict-config -p no:cacheprovider\nfilterwarnings = error\n"


@pytest.mark.requirement("PORT-6")
def test_a_project_that_is_strict_and_knows_no_marker_of_ours_can_run_the_suites(tmp_path: Path) -> None:
    (tmp_path / "test_foreign.py").write_text(FOREIGN_TESTS, "utf-8")
    (tmp_path / "pytest.ini").write_text(FOREIGN_SETTINGS, "utf-8")
    chosen = "(delete_counts or empty or unit_length or similarity) and not four_threads"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", chosen], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    assert failed
    assert all("TestForgetfulStore" in line for line in failed), done.stdout
    # The values of a failed assert are shown, as in a test file.
    assert "assert 17 == 0" in done.stdout
    assert " passed" in done.stdout


@pytest.mark.requirement("API-1")
def test_the_fakes_need_neither_pytest_nor_hypothesis() -> None:
    program = (
        "import sys; from citewell.testing.fakes import HashEmbedder; import citewell.testing.samples;"
        "print([name for name in ('pytest', 'hypothesis') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("API-1")
def test_every_suite_can_be_had_by_its_name_and_nothing_else() -> None:
    for name in citewell.testing.__all__:
        assert getattr(citewell.testing, name).__name__ == name
    with pytest.raises(AttributeError, match="NonsenseContract"):
        citewell.testing.NonsenseContract  # noqa: B018 - the access is what is tested
