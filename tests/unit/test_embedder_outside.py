"""A model's graph without its large tables: what is told of them, and what is no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.adapters.embedders.outside import graph_of

BIG = 1 << 20
UINT8, FLOAT = 2, 1


def _length(value: int) -> bytes:
    """As a protocol buffer writes it, for less than 2**28."""
    parts = [value & 127, value >> 7 & 127, value >> 14 & 127, value >> 21]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return bytes([part | 128 for part in parts[:-1]] + parts[-1:])


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _length(len(content)) + content


def _tensor(kind: int, name: bytes, raw: bytes) -> bytes:
    return _field(5, b"\x08\x02" + bytes([2 << 3, kind]) + _field(8, name) + _field(9, raw))


def _model(*parts: bytes) -> bytes:
    return b"\x08\x07" + _field(7, b"".join(parts)) + _field(8, b"\x10\x0c")


NODE = _field(1, b"\x0a\x01x")
SMALL = _tensor(UINT8, b"small", b"s" * 100)
FLOATS = _tensor(FLOAT, b"floats", b"f" * BIG)
OUTPUT = _field(12, b"\x0a\x01y")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.onnx"


@pytest.mark.requirement("ENGINE-1")
def test_a_large_table_of_bytes_is_told_by_its_place_in_the_file_and_all_else_stays(file: Path) -> None:
    whole = _model(NODE, SMALL, _tensor(UINT8, b"table", b"t" * BIG), FLOATS, OUTPUT)
    file.write_bytes(whole)
    place = (
        _field(13, _field(1, b"location") + _field(2, b"a.onnx"))
        + _field(13, _field(1, b"offset") + _field(2, str(whole.index(b"t" * 100)).encode()))
        + _field(13, _field(1, b"length") + _field(2, b"1048576"))
        + b"\x70\x01"  # field 14, data_location: EXTERNAL
    )
    table = _field(5, b"\x08\x02\x10\x02" + _field(8, b"table") + place)
    assert graph_of(file) == _model(NODE, SMALL, table, FLOATS, OUTPUT)


@pytest.mark.requirement("ENGINE-1")
def test_a_model_without_large_tables_stays_as_it_is(file: Path) -> None:
    file.write_bytes(_model(NODE, SMALL, OUTPUT))
    assert graph_of(file) == _model(NODE, SMALL, OUTPUT)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * (1 << 20),  # no field has the number 0
        b"\x08\x07" * 20_001,  # more fields than any model has
        b"\x0b",  # a group, which no model has
        b"\x08" + b"\xff" * 11,  # a number without an end
        _model(NODE, SMALL)[:-8],  # a file cut short
        _field(7, NODE + SMALL[:-1]),
        b"%PDF-1.7 and what follows",
    ],
    ids=["empty", "zeros", "many", "group", "endless", "short", "short within", "text"],
)
@pytest.mark.requirement("ENGINE-4")
def test_what_is_no_model_is_refused_soon(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"no model|empty"):
        graph_of(file)
