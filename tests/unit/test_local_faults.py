"""Every failure of SQLite and of the system becomes an error of the store, once, with a way out (ENGINE-4)."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from citewell.adapters.local.faults import decoded, translated
from citewell.errors import (
    CitewellError,
    InvalidRequest,
    StoreCorrupt,
    StoreError,
    StoreLocked,
    StoreUnreachable,
)

FILE = Path("/somewhere/citewell.db")
PRIMARY = [name for name in dir(sqlite3) if name.startswith("SQLITE_") and name.count("_") == 1]
CODES = {name: getattr(sqlite3, name) for name in PRIMARY if isinstance(getattr(sqlite3, name), int)}


def translation(error: BaseException) -> CitewellError:
    with pytest.raises(CitewellError) as refusal, translated(FILE):
        raise error
    assert refusal.value.__cause__ is error
    return refusal.value


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("it said so")
    error.sqlite_errorcode = code
    return error


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("extended", [0, 0x0100, 0x0A00])
@pytest.mark.parametrize("name", sorted(CODES))
def test_every_code_of_sqlite_has_a_translation_that_names_the_file_and_a_way_out(name: str, extended: int) -> None:
    error = translation(sqlite_error(CODES[name] & 0xFF | extended))
    assert isinstance(error, StoreError)
    assert str(FILE) in error.message
    assert error.way_out
    assert "delet" not in error.way_out.lower()


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_NOTADB, StoreCorrupt),
        (sqlite3.SQLITE_CORRUPT, StoreCorrupt),
        (sqlite3.SQLITE_CORRUPT_INDEX, StoreCorrupt),
        (sqlite3.SQLITE_BUSY, StoreLocked),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreLocked),
        (sqlite3.SQLITE_FULL, StoreUnreachable),
        (sqlite3.SQLITE_READONLY, StoreUnreachable),
        (sqlite3.SQLITE_CANTOPEN, StoreUnreachable),
        (sqlite3.SQLITE_IOERR_READ, StoreUnreachable),
    ],
)
def test_the_kind_of_error_follows_the_code(code: int, kind: type[StoreError]) -> None:
    assert type(translation(sqlite_error(code))) is kind


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO, errno.ENOTDIR, errno.EMFILE])
def test_what_the_system_refuses_is_unreachable(code: int) -> None:
    error = translation(OSError(code, "it said so", "/somewhere/index"))
    assert type(error) is StoreUnreachable
    assert "/somewhere/index" in error.message
    assert ("space" in error.message) == (code == errno.ENOSPC)


@pytest.mark.requirement("ENGINE-4")
def test_a_text_without_a_utf8_form_is_the_callers_fault() -> None:
    assert type(translation(UnicodeEncodeError("utf-8", "a\ud800", 1, 2, "surrogates"))) is InvalidRequest


@pytest.mark.requirement("ENGINE-4")
def test_errors_that_are_translated_already_and_errors_of_others_pass_through() -> None:
    own, foreign = StoreLocked("held"), KeyError("a bug")
    for error in (own, foreign):
        with pytest.raises(type(error)) as raised, translated(FILE):
            raise error
        assert raised.value is error


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("error", [ValueError("odd"), TypeError("odd"), KeyError("odd"), IndexError("odd")])
def test_what_the_tables_hold_without_a_meaning_is_damage_that_says_what_it_is(error: Exception) -> None:
    said = f"a vector that can't be read: {type(error).__name__}"
    with pytest.raises(StoreCorrupt, match=said) as refusal, decoded("a vector"):
        raise error
    assert refusal.value.__cause__ is error
    assert "verify" in refusal.value.way_out


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    "error",
    [InvalidRequest("asked"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), sqlite3.DatabaseError("x")],
)
def test_what_is_no_damage_of_a_value_passes_through_the_taking_apart(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, decoded("a vector"):
        raise error
    assert raised.value is error
