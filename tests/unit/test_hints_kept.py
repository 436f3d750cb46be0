"""A kept copy of the catalogue: the next process hints the same as one that read everything, and reads what changed."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell import Document, Knowledge, Settings
from citewell.adapters.local import LocalStore
from citewell.hints import CatalogueHints
from citewell.hints.form import OtherRules, decode, encode
from citewell.hints.index import CatalogueIndex
from citewell.model import DocumentChange, DocumentInfo, Filters, SearchRequest
from citewell.model.catalogue import CatalogueChanges, Catalogued, Hinted, Mark
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change

EMBEDDER = HashEmbedder()


class Counting(LocalStore):
    """Counts the documents of the catalogue that were told."""

    told = 0

    def changes(self, since: Mark | None) -> CatalogueChanges:
        found = super().changes(since)
        self.told += len(found.documents)
        return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Counting]:
    with_four = open_store(tmp_path)
    with_four.bind(binding_of(EMBEDDER))
    with_four.apply([doc(f"{name}.md", f"Pool {name}", category="ops") for name in "abcd"])
    yield with_four
    with_four.close()


def open_store(folder: Path) -> Counting:
    opened = Counting.open(folder / "kb")
    assert isinstance(opened, Counting)
    return opened


def doc(name: str, title: str, version: int = 0, **more: object) -> DocumentChange:
    return change(name, [f"text of {title}"], title=title, expected_version=version, **more)  # type: ignore[arg-type]


def ask(store: LocalStore, query: str = "pool", *, keep: bool = False, analysis: str = "1", **more: object) -> Hinted:
    hints = CatalogueHints(store, EMBEDDER, patience_s=60.0, analysis=analysis)
    try:
        if keep:
            hints.keep()
        return hints.hints(SearchRequest(query, 50, **more))  # type: ignore[arg-type]
    finally:
        hints.close()


def version(store: LocalStore, doc_id: str) -> int:
    stored = store.stored(doc_id)
    assert stored is not None
    return stored.version


@pytest.mark.requirement("L0-1")
def test_what_is_kept_is_not_read_again_and_hints_the_same(store: Counting) -> None:
    before = ask(store, keep=True)
    assert store.told == 4
    assert ask(store) == before
    assert store.told == 4


@pytest.mark.requirement("L0-1", "SAFE-1")
def test_only_what_was_written_since_is_read_and_what_was_deleted_or_hidden_since_is_not_hinted(
    store: Counting, tmp_path: Path
) -> None:
    ask(store, keep=True)
    store.apply([doc("a.md", "Pool A", version(store, "a.md"), scope="board"), doc("e.md", "Pool e")])
    store.delete(["b.md"])
    store.told = 0
    found = {hint.value for hint in ask(store, scope=("dev",)).hints}
    assert found == set()
    everything = ask(store)
    assert {hint.value for hint in everything.hints if hint.kind == "document"} == {"a.md", "e.md", "c.md"}
    assert store.told == 2 * 2
    assert ask(store, analysis="of another version") == everything


@pytest.mark.requirement("L0-1")
def test_a_few_further_documents_are_not_worth_another_copy_and_many_are(store: Counting) -> None:
    ask(store, keep=True)
    kept = store.kept_mark()
    assert kept is not None
    assert kept[1] == 0
    store.apply([doc(f"new-{number}.md", "Pool") for number in range(64)])
    ask(store, keep=True)
    assert store.kept_mark() == (kept[0], 64)
    store.apply([doc("last.md", "Pool")])
    ask(store, keep=True)
    assert store.kept_mark() == (store.mark(), 0)


@pytest.mark.requirement("L0-1", "INGEST-7")
@pytest.mark.parametrize("damage", ["UPDATE copies SET content = zeroblob(900)", "DELETE FROM copies WHERE part = 0"])
def test_a_damaged_copy_is_of_no_use_verify_names_it_and_repair_lets_go_of_it(
    store: Counting, tmp_path: Path, damage: str
) -> None:
    before = ask(store, keep=True)
    with sqlite3.connect(tmp_path / "kb" / "citewell.db") as connection:
        connection.execute(damage)
    connection.close()
    store.told = 0
    assert ask(store) == before
    assert store.told == 4
    (found,) = store.verify().findings
    assert (found.kind, found.where, found.repaired) == ("damaged", "citewell.db: copy of the catalogue", False)
    assert store.verify(repair=True).findings[0].repaired
    assert store.verify().findings == ()
    assert ask(store, keep=True) == before
    assert store.kept_mark() is not None


@pytest.mark.requirement("L0-1")
def test_what_is_said_of_a_copy_may_be_garbled_and_the_next_one_takes_its_place(
    store: Counting, tmp_path: Path
) -> None:
    before = ask(store, keep=True)
    with sqlite3.connect(tmp_path / "kb" / "citewell.db") as connection:
        connection.execute("UPDATE meta SET value = 3 WHERE name = 'copied'")
    connection.close()
    assert store.kept_mark() is None
    assert store.verify().findings == ()
    assert ask(store, keep=True) == before
    assert store.kept_mark() == (store.mark(), 0)


@pytest.mark.requirement("L0-1")
def test_a_copy_is_taken_only_in_the_place_of_the_one_that_it_was_made_from(store: Counting, tmp_path: Path) -> None:
    mark = store.mark()
    assert store.kept_mark() is None
    assert store.kept_copy() is None
    assert store.keep_copy(mark, None, [(0, b"one"), (1, b"two")], 2)
    assert store.mark() == mark
    assert not store.keep_copy(mark, None, [(0, b"three")], 1)
    assert store.keep_copy(mark, mark, [(0, b"four")], 1)
    copy = store.kept_copy()
    assert copy is not None
    assert copy.parts == (b"four",)
    with_others = LocalStore.open(tmp_path / "kb", read_only=True)
    assert with_others.kept_copy() is not None
    assert not with_others.keep_copy(with_others.mark(), with_others.mark(), [], 0)
    with_others.close()


@pytest.mark.requirement("L0-1", "INGEST-5")
def test_an_ingestion_leaves_a_copy_unless_hints_are_off(tmp_path: Path) -> None:
    for hints in (True, False):
        settings_ = Settings.of({"rag.hints": hints})
        with Knowledge.open(tmp_path / f"{hints}", settings=settings_, embedder=EMBEDDER) as knowledge:
            knowledge.ingest_documents([Document("a.md", "# Pool\n\nText.")])
        with closing(LocalStore.open(tmp_path / f"{hints}")) as kept:
            assert (kept.kept_copy() is not None) is hints


# The form


LABELS = st.none() | st.lists(st.sampled_from("ab"), max_size=2, unique=True).map(tuple)
WORDS = st.lists(st.sampled_from(["pool", "dns", "disk", "été", "池"]), max_size=5).map(" ".join)
ROWS = st.builds(
    lambda doc_id, title, scope, centre: Catalogued(
        DocumentInfo(doc_id, title, "", None, scope, {"page": 1}, 1, 1, doc_id, doc_id, (title,)),
        None if centre is None else np.array(centre, np.float32),
    ),
    st.sampled_from("abcdefgh"),
    WORDS,
    LABELS,
    st.none() | st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
)


def answers(index: CatalogueIndex, scope: tuple[str, ...] | None) -> list[list[str]]:
    filters = Filters(scope=scope)
    vectors = np.array([[1, 0], [0.6, -0.8]], np.float32)
    return [index.by_words([word, "disk"], 3, filters) for word in ("pool", "池")] + [
        index.by_meaning(vector, 3, filters) for vector in vectors
    ]


def said(index: CatalogueIndex, doc_ids: Iterable[str]) -> list[object]:
    return [(index.title(name), index.category(name), index.held([name], ["pool", "池"])) for name in doc_ids]


@given(batches=st.lists(st.lists(ROWS, max_size=4), max_size=5), gone=st.sets(st.sampled_from("abcd")), holds=LABELS)
@settings(max_examples=60, deadline=None)
@pytest.mark.requirement("L0-1", "SAFE-1")
def test_whatever_was_written_and_deleted_a_copy_answers_as_an_index_of_what_is_left(
    batches: Sequence[Sequence[Catalogued]], gone: set[str], holds: tuple[str, ...] | None
) -> None:
    followed = CatalogueIndex(str.split)
    left: dict[str, Catalogued] = {}
    for batch in batches:
        followed.put(batch)
        left |= {row.info.doc_id: row for row in batch}
    left = {doc_id: row for doc_id, row in left.items() if doc_id not in gone}
    followed.keep_only(left)
    anew = CatalogueIndex(str.split)
    anew.put(list(left.values()))
    tidied = followed.tidied()
    forms = [encode(tidied.block(at), "1") for at in range(len(tidied.parts))]
    copied = CatalogueIndex(str.split, [decode(form, "1") for form in forms])
    for index in (followed, tidied, copied):
        assert answers(index, holds) == answers(anew, holds)
        assert said(index, left) == said(anew, left)
        assert len(index) == len(left)


def test_a_form_of_another_analysis_is_told_from_a_damaged_one() -> None:
    index = CatalogueIndex(str.split)
    index.put([Catalogued(DocumentInfo("a", "t", "", None, None, {}, 1, 1, "", ""))])
    form = encode(index.block(0), "1-english")
    with pytest.raises(OtherRules):
        decode(form, "2-english")
    with pytest.raises(ValueError, match="Expecting value"):
        decode(b"\x02\x00\x00\x00no", "1-english")


@pytest.mark.requirement("L0-1")
def test_a_copy_of_an_older_version_is_made_anew_without_a_warning(
    store: Counting, caplog: pytest.LogCaptureFixture
) -> None:
    index = CatalogueIndex(str.split)
    index.put([row_of("a")])
    mark = store.mark()
    assert store.keep_copy(mark, None, [(0, encode(index.block(0), "an older analysis"))], 1)
    made = CatalogueHints(store, EMBEDDER, patience_s=60.0)
    made.hints(SearchRequest("pool", 50))
    made.close()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.requirement("L0-1")
def test_a_copy_made_by_other_rules_is_replaced_by_whoever_reads_the_catalogue(store: Counting) -> None:
    mark = store.mark()
    assert store.keep_copy(mark, None, [(0, b"of an older version")], 1)
    made = CatalogueHints(store, EMBEDDER, patience_s=60.0)
    before = made.hints(SearchRequest("pool", 50))
    made.keep()
    made.close()
    copy = store.kept_copy()
    assert copy is not None
    assert (copy.mark, copy.parts) != (mark, (b"of an older version",))
    store.told = 0
    assert store.kept_mark() == (mark, 0)
    made = CatalogueHints(store, EMBEDDER, patience_s=60.0)
    assert made.hints(SearchRequest("pool", 50)) == before
    made.close()
    assert store.told == 0


@pytest.mark.requirement("L0-1")
def test_of_a_copy_only_the_parts_that_changed_are_given_to_keep() -> None:
    index = CatalogueIndex(str.split)
    index.put([row_of(f"{number}") for number in range(1_024)])
    first, *_ = index.parts
    index.put([row_of("new")])
    assert index.parts[0] is first
    second = index.parts[1]
    index.put([row_of("newer")])
    assert index.parts[0] is first
    assert index.parts[1] is not second
    index.keep_only({*(f"{number}" for number in range(1_024)), "newer"})
    tidied = index.tidied()
    assert (tidied.parts[0] is first, tidied.parts[1] is index.parts[1]) == (True, False)
    assert [len(tidied.block(at).doc_ids) for at in range(2)] == [1_024, 1]


def row_of(name: str) -> Catalogued:
    return Catalogued(DocumentInfo(name, "t", "", None, None, {}, 1, 1, "", ""))
