"""A caller can't tell whether others' documents exist: whatever it asks, it is told the same with and without them.

Not held: scores of BM25, whose statistics count every chunk, times, and whether a store holds anything at all
(docs/threat-model.md).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from two_worlds import OURS, SCOPE, THEIRS, differences, probes, world

from citewell import Knowledge
from citewell.identity import format_key
from citewell.model import Filters
from citewell.ports import Snapshot, Store

ENGINES = {
    "memory": "memory:",
    "local": "{}/kb",
    "milvus": "milvus:{}/kb.db",
    "milvus, lexical in memory": "milvus:{}/kb.db",
}
FAST = ("memory", "local")
MARKED = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in ENGINES]


def opened(engine: str, folder: Path, *documents: Any) -> Knowledge:  # noqa: ANN401 - Documents
    folder.mkdir()
    settings = {"store.lexical": "memory"} if "lexical" in engine else {}
    return world(ENGINES[engine].format(folder), documents, settings)


@pytest.mark.requirement("SAFE-1", "SAFE-3", "GUARD-1", "L0-1", "SESSION-2", "CONTEXT-2")
@pytest.mark.parametrize("engine", MARKED)
def test_a_caller_is_told_the_same_whether_others_documents_exist_or_not(engine: str, tmp_path: Path) -> None:
    alone, among = (
        opened(engine, tmp_path / "alone", *OURS),
        opened(engine, tmp_path / "among", *THEIRS[:3], *OURS, *THEIRS[3:]),
    )
    with alone, among:
        for session in ("s", "t"):  # others use the same names for their sessions
            among.lookup("pump", scope="red", session=session).to_agent()
            among.lookup("pump", session=session).to_agent()
        one, other = probes(alone), probes(among)
    assert len(one) > 150
    assert differences(one, other) == []


class Leaky:
    """A store one of whose paths has lost its scope."""

    def __init__(self, store: Store, path: str) -> None:
        self._store, self._path = store, path

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        with self._store.snapshot() as view:
            yield LeakyView(view, self._path)


class LeakyView:
    """A snapshot whose one path searches everywhere."""

    def __init__(self, view: Snapshot, path: str) -> None:
        self._view, self._path = view, path

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the snapshot has
        return getattr(self._view, name)

    def dense(self, vector: Any, k: int, filters: Filters) -> Any:  # noqa: ANN401 - as the port has them
        here = "dense" if filters.category is None else "dense_filtered"
        return self._view.dense(vector, k, replace(filters, scope=None) if self._path == here else filters)

    def lexical(self, terms: Any, k: int, filters: Filters) -> Any:  # noqa: ANN401 - as the port has them
        return self._view.lexical(terms, k, replace(filters, scope=None) if self._path == "lexical" else filters)


@pytest.mark.requirement("SAFE-1", "POST-8")
@pytest.mark.parametrize("engine", MARKED)
@pytest.mark.parametrize("path", ["dense", "dense_filtered", "lexical"])
def test_a_path_that_drops_its_scope_is_caught_counted_and_logged(
    engine: str, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(engine, tmp_path / "kb", *OURS, *THEIRS) as knowledge:
        knowledge._search._store = Leaky(knowledge._store, path)
        with caplog.at_level(logging.ERROR, "citewell"):
            result = knowledge.lookup("why does the pump PX-7 stop", scope=SCOPE, category="water", mode="hybrid")
    leaked = [record for record in caplog.records if "outside the caller's scope" in record.getMessage()]
    assert {block.doc_id for block in result.evidence} <= {document.doc_id for document in OURS}
    assert result.trace.out_of_scope > 0
    assert len(leaked) in (1, 2)  # the refill's leak is told apart
    keys = {format_key(document.doc_id, 0) for document in THEIRS}
    assert [key for key in keys if key in caplog.text]
    said: Mapping[str, object] = result.to_agent()
    assert [word for word in ("aaa", "theirs", "bak") if word in f"{said} {result.to_dict()}"] == []
