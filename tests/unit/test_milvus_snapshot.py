"""A snapshot on Milvus shows committed versions alone, whatever rows a search returns (INGEST-5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from citewell.adapters.milvus.chunks import Ask, found_of
from citewell.adapters.milvus.snapshot import MilvusSnapshot
from citewell.adapters.milvus.state import Head, State
from citewell.model import Filters


class Rows:
    """A collection that answers every search with the rows of three versions, whatever it is asked for."""

    def dense(self, vector: Any, chosen: str) -> Ask:  # noqa: ANN401 - as the collection has it
        return lambda width: [found_of(f"a#chunk-0@{version}", 0.9 - version / 10, "{}") for version in (1, 2, 3)]

    bm25 = dense


@pytest.mark.requirement("INGEST-5", "ENGINE-2")
@pytest.mark.parametrize("path", ["dense", "lexical"])
def test_rows_of_a_replaced_version_and_of_one_under_way_are_no_hits(path: str) -> None:
    state = State()
    state.moved(Head(sequence=1, documents=1, chunks=1))
    state.moved(Head(sequence=2, documents=1, chunks=1, retired=(1,)))  # 1 is replaced by 2; 3 isn't committed yet
    rows: Any = Rows()
    snapshot = MilvusSnapshot(rows, rows, state, lambda: None, lambda: None, 2)
    query = np.array([1.0, 0.0], dtype=np.float32)
    hits = snapshot.dense(query, 5, Filters()) if path == "dense" else snapshot.lexical(["a"], 5, Filters())
    assert {hit.key: hit.score for hit in hits} == pytest.approx({"a#chunk-0": 0.7})
