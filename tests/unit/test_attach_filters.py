"""Filters on an attached collection let through exactly what they should, whatever values rows and callers have.

The expression that the engine gets may let more through, never less; the answer is what a plain look at every row says.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from foreign_collections import LAYOUTS, Passage, fill
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.adapters.memory_sessions import MemorySessions
from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.foreign import AttachedStore, inspect, parse_assignments, write_attachment
from citewell.adapters.milvus.foreign.conditions import holds
from citewell.adapters.milvus.foreign.snapshot import AttachedSnapshot
from citewell.model import Filters, Scalar
from citewell.testing.fakes import HashEmbedder

pytestmark = [pytest.mark.requirement("ENGINE-3", "SAFE-1", "SAFE-2")]

EMBEDDER = HashEmbedder(16)
HOSTILE = (
    "plain", "o'clock", 'say "hi"',
    "back\\slash", "\\", '\\"', "new\nline", "tab\there", "中文 分类", "emoji 🦊", "\u00e9", "e\u0301",
    "%", "_%", "x' or 'a'=='a", '") or (pk > 0', "$meta", "null", "true", "1", "0", "-7", "1.0", " padded ", "x" * 300,
    "[\"a\"]", "{}", "a\u2028b", "\x7f", "like", "in",
)  # fmt: skip
NUMBERS: tuple[Scalar, ...] = (0, 1, -7, 2**53 + 1, -(2**40), 1.0, 0.5, 1e-7, 1e300, True, False)
KEYS = ("lang", "in", "like", "json_x", "a.b", "with space", "Ключ", "array_of")
VALUES: tuple[Scalar, ...] = (*HOSTILE, *NUMBERS)


def _passages() -> Iterator[Passage]:
    for number, value in enumerate(VALUES):
        vector = EMBEDDER.embed_query(f"word {number}")
        key = KEYS[number % len(KEYS)]
        held: Mapping[str, object] = {key: value, "list": [value, "other"], "more": None}
        category = value if isinstance(value, str) else None
        scope = (value, "all") if isinstance(value, str) else None
        yield Passage(f"{number} {value}", 0, f"word {number}", vector, category, scope, held)


@dataclass(frozen=True)
class Theirs:
    """An attached collection, and every row of it."""

    store: AttachedStore
    rows: tuple[Passage, ...]


LAYOUT_MAPS = {
    "json": ("docId=metadata.source", "chunkIndex=metadata.chunk_index", "scope=metadata.labels"),
    "json-text": ("text=page_content", "docId=metadata.source", "category=metadata.category", "scope=metadata.labels"),
    "langchain-dynamic": ("scope=labels",),
}


def attached(client: Client, layout: str, folder: Path) -> Theirs:
    rows = tuple(_passages())
    name = f"values_{layout.replace('-', '_')}_{uuid.uuid4().hex[:8]}"
    fill(client, name, LAYOUTS[layout], rows, EMBEDDER.dimensions)
    look = inspect(client.location, name, parse_assignments(LAYOUT_MAPS[layout]), EMBEDDER)
    write_attachment(folder, look.attachment)
    return Theirs(AttachedStore.open(folder, MemorySessions()), rows)


@pytest.fixture(scope="module", params=sorted(LAYOUT_MAPS))
def theirs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    client = Client(f"milvus:{tmp_path_factory.mktemp('theirs') / 'theirs.db'}", timeout_s=60)
    found = attached(client, request.param, tmp_path_factory.mktemp("attached"))
    yield found
    found.store.close()
    client.close()


def _everything(view: AttachedSnapshot) -> set[str]:
    return {hit.key for hit in view.dense(EMBEDDER.embed_query("word 1"), 1_000, Filters())}


def check(theirs: Theirs, filters: Filters) -> set[str]:
    """Every path lets through the same rows as a look at each of them; returns their keys."""
    with theirs.store.snapshot() as view:
        chunks = view.fetch(sorted(_everything(view)))
        assert len(chunks) == len(theirs.rows)
        allowed = {key for key, chunk in chunks.items() if holds(chunk, filters)}
    with theirs.store.snapshot() as view:
        dense = {hit.key for hit in view.dense(EMBEDDER.embed_query("word 1"), 1_000, filters)}
        words = {hit.key for hit in view.lexical(["word"], 1_000, filters)}
    assert dense == allowed, f"{filters} lets through other rows by vectors"
    assert words == allowed, f"{filters} lets through other rows by words"
    return allowed


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: ascii(value)[:20])
def test_a_hostile_value_matches_itself_alone(theirs: Theirs, value: str) -> None:
    assert len(check(theirs, Filters(category=value))) == 1
    assert len(check(theirs, Filters(scope=(value,)))) == 1
    assert len(check(theirs, Filters(where=(("list", value),)))) == 1


def _equals(value: Scalar) -> list[Scalar]:
    return [other for other in NUMBERS if other == value and isinstance(other, bool) == isinstance(value, bool)]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_a_number_matches_its_equals_and_no_truth_value_and_no_text(theirs: Theirs, value: Scalar) -> None:
    assert len(check(theirs, Filters(where=(("list", value),)))) == len(_equals(value))


@pytest.mark.parametrize(("key", "value"), [(KEYS[n % len(KEYS)], value) for n, value in enumerate(VALUES)], ids=repr)
def test_an_odd_name_of_a_field_finds_its_rows(theirs: Theirs, key: str, value: Scalar) -> None:
    assert check(theirs, Filters(where=((key, value),)))


@pytest.mark.requirement("SAFE-3")
def test_scope_meets_labels_and_no_label_is_seen_by_nobody(theirs: Theirs) -> None:
    assert len(check(theirs, Filters(scope=("all",)))) == len(HOSTILE)
    assert len(check(theirs, Filters(scope=("plain", "中文 分类", "nobody")))) == 2
    assert check(theirs, Filters(scope=())) == set()
    assert check(theirs, Filters(scope=tuple(f"label {n}" for n in range(300)))) == set()
    assert len(check(theirs, Filters(scope=(*(f"label {n}" for n in range(300)), "plain")))) == 1


def test_documents_can_be_left_out(theirs: Theirs) -> None:
    all_of_them = check(theirs, Filters())
    left = check(theirs, Filters(exclude_documents=("0 plain", "1 o'clock", "no such")))
    assert len(left) == len(all_of_them) - 2


@settings(max_examples=40)
@given(
    category=st.none() | st.sampled_from(HOSTILE) | st.text(max_size=8),
    scope=st.none() | st.lists(st.sampled_from(["all", *HOSTILE]) | st.text(max_size=8), max_size=3).map(tuple),
    where=st.lists(
        st.tuples(
            st.sampled_from(["list", *KEYS]) | st.text(max_size=6), st.sampled_from(VALUES) | st.text(max_size=6)
        ),
        max_size=2,
    ).map(tuple),
)
def test_whatever_the_filters_the_rows_are_those_that_hold(
    theirs: Theirs, category: str | None, scope: tuple[str, ...] | None, where: tuple[tuple[str, Scalar], ...]
) -> None:
    check(theirs, Filters(category, scope, where))


def test_similarities_are_those_of_the_dense_path(theirs: Theirs) -> None:
    query = EMBEDDER.embed_query("word 3")
    with theirs.store.snapshot() as view:
        found = view.dense(query, 10, Filters())
    with theirs.store.snapshot() as view:
        again = view.similarities(query, [hit.key for hit in found])
    assert [again[hit.key] for hit in found] == [hit.score for hit in found]
    expected = {f"word {n}": float(np.dot(query, EMBEDDER.embed_query(f"word {n}"))) for n in range(len(VALUES))}
    with theirs.store.snapshot() as view:
        texts = view.fetch([hit.key for hit in found])
    assert [hit.score for hit in found] == pytest.approx([expected[texts[hit.key].text] for hit in found], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["json", "langchain-dynamic"])
def test_a_real_server_lets_through_the_same_rows(
    milvus_uri: str, tmp_path_factory: pytest.TempPathFactory, layout: str
) -> None:
    client = Client(milvus_uri, timeout_s=60)
    found = attached(client, layout, tmp_path_factory.mktemp("attached"))
    for value in HOSTILE:
        assert len(check(found, Filters(category=value, scope=(value,), where=(("list", value),)))) == 1
    for number in NUMBERS:
        assert len(check(found, Filters(where=(("list", number),)))) == len(_equals(number))
    assert len(check(found, Filters(scope=("plain", "nobody")))) == 1
    found.store.close()
    client.close()
