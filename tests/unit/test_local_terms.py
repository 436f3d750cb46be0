"""The dictionary of the embedded engine: numbers for ever, whoever enters the term."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np
import pytest

from citewell.adapters.local.terms import Dictionary, numbers_of

pytestmark = pytest.mark.requirement("INGEST-7")


@pytest.fixture
def table() -> Iterator[sqlite3.Connection]:
    """A database with no term in it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE terms (id INTEGER PRIMARY KEY, term BLOB NOT NULL UNIQUE)")
        yield connection


def count(dictionary: Dictionary, table: sqlite3.Connection, *texts: Sequence[str]) -> list[dict[int, int]]:
    with dictionary.transaction():
        found = dictionary.count(table, texts)
    return [
        dict(zip(np.frombuffer(numbers, "<i4").tolist(), np.frombuffer(counts, "<u2").tolist(), strict=True))
        for numbers, counts in found
    ]


def terms(table: sqlite3.Connection) -> dict[bytes, int]:
    return dict(table.execute("SELECT term, id FROM terms"))


def test_new_terms_get_the_next_numbers_in_order_of_appearance(table: sqlite3.Connection) -> None:
    dictionary = Dictionary()
    assert count(dictionary, table, ["pool", "size", "pool"], [], ["size"]) == [{1: 2, 2: 1}, {}, {2: 1}]
    assert count(dictionary, table, ["连接", "pool"]) == [{1: 1, 3: 1}]
    assert terms(table) == {b"pool": 1, b"size": 2, "连接".encode(): 3}


def test_terms_that_another_process_has_entered_meanwhile_keep_their_numbers(table: sqlite3.Connection) -> None:
    one, other = Dictionary(), Dictionary()
    count(one, table, ["a", "b"])
    assert count(other, table, ["c", "b"]) == [{2: 1, 3: 1}]
    assert count(one, table, ["d", "c", "a"]) == [{1: 1, 3: 1, 4: 1}]
    assert terms(table) == {b"a": 1, b"b": 2, b"c": 3, b"d": 4}


def test_numbers_that_were_rolled_back_go_to_other_terms(table: sqlite3.Connection) -> None:
    dictionary = Dictionary()
    count(dictionary, table, ["a"])
    table.execute("BEGIN")
    with pytest.raises(UnicodeEncodeError):
        count(dictionary, table, ["b", "\ud800"])
    table.execute("ROLLBACK")
    assert count(dictionary, table, ["c"], ["b"]) == [{2: 1}, {3: 1}]


def test_a_long_list_of_new_terms_is_entered_whole(table: sqlite3.Connection) -> None:
    words = [f"term{number}" for number in range(1, 602)]
    assert count(Dictionary(), table, words) == [dict.fromkeys(range(1, 602), 1)]
    assert terms(table) == {word.encode(): number for number, word in enumerate(words, 1)}


def test_terms_of_questions_are_asked_of_the_table_once_as_long_as_they_are_remembered(
    table: sqlite3.Connection,
) -> None:
    count(Dictionary(), table, ["pool", "size"])
    known: dict[str, int] = {}
    assert numbers_of(table, ["size", "lost", "\ud800", "size"], known) == {"size": 2, "lost": 0, "\ud800": 0}
    table.execute("DELETE FROM terms")
    assert numbers_of(table, ["pool", "size", "lost"], known) == {"pool": 0, "size": 2, "lost": 0}
    assert numbers_of(table, ["size"], {}) == {"size": 0}
