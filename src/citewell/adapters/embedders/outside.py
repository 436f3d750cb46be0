"""A model's graph without its large tables, which then lie "outside": at an offset of the file that they lie in anyway.

The runtime copies a model twice while it reads it, and maps what lies outside. So a start is spared most of 72 MB, and
the processes on a machine share them. The values are the same bytes, so that the vectors are. Nothing is written.
Of the ONNX format (a protocol buffer; https://onnx.ai/onnx/repo-docs/ExternalData.html) it knows only where tensors
are, and how one says that its data lies elsewhere; it knows no runtime and no certain model.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

_LEAST = 1 << 20
"""Bytes of a tensor that is worth mapping."""

_MOST_FIELDS = 20_000
"""A model has a few for each node; what has more is none, and reading on would take minutes."""

_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
"""Kinds of fields that are so many bytes long."""
_LONGEST = 10
"""Bytes of a varint."""
_NO_MODEL = "this is no model"
_MODEL_GRAPH, _GRAPH_TENSOR, _TENSOR_TYPE, _TENSOR_RAW, _TENSOR_OUTSIDE, _TENSOR_PLACE = 7, 5, 2, 9, 13, 14
_ENTRY_KEY, _ENTRY_VALUE = 1, 2
_BYTE_WIDE = {2, 3, 9}  # uint8, int8, bool: they may lie at any offset


def graph_of(path: Path) -> bytes:
    """The model in this file, with each tensor of a mebibyte or more told by its offset within the file.

    Only tensors of one byte a number are: others must lie at offsets that their numbers can be read at.

    Raises:
        OSError: it can't be read.
        ValueError: it is no protocol buffer of a model.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as model:
        return b"".join(_model(model, path.name.encode()))


def _model(model: mmap.mmap, name: bytes) -> Iterator[bytes]:
    for number, begin, start, end in _fields(model, 0, len(model)):
        if number == _MODEL_GRAPH:
            yield _told(_MODEL_GRAPH, b"".join(_graph(model, start, end, name)))
        else:
            yield model[begin:end]


def _graph(model: mmap.mmap, start: int, end: int, name: bytes) -> Iterator[bytes]:
    """What lies between large tensors is taken in one piece."""
    done = start
    for number, begin, inner, after in _fields(model, start, end):
        if number == _GRAPH_TENSOR and after - inner >= _LEAST:
            yield model[done:begin]
            yield _told(_GRAPH_TENSOR, _tensor(model, inner, after, name))
            done = after
    yield model[done:end]


def _tensor(model: mmap.mmap, start: int, end: int, name: bytes) -> bytes:
    fields = list(_fields(model, start, end))
    kind = next((model[inner] for number, _, inner, _ in fields if number == _TENSOR_TYPE), 0)
    if kind not in _BYTE_WIDE:
        return model[start:end]
    return b"".join(
        _place(name, inner, after - inner) if number == _TENSOR_RAW else model[begin:after]
        for number, begin, inner, after in fields
    )


def _place(name: bytes, offset: int, length: int) -> bytes:
    """The fields that stand for data: where it lies, and that it lies outside."""
    entries = {b"location": name, b"offset": b"%d" % offset, b"length": b"%d" % length}
    told = (_told(_ENTRY_KEY, key) + _told(_ENTRY_VALUE, value) for key, value in entries.items())
    return b"".join(_told(_TENSOR_OUTSIDE, entry) for entry in told) + bytes([_TENSOR_PLACE << 3 | _VARINT, 1])


def _told(number: int, content: bytes) -> bytes:
    """A field of bytes, as a protocol buffer has it: number and kind, length, content."""
    return _written(number << 3 | _BYTES) + _written(len(content)) + content


def _fields(model: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Each field in here: its number, where it begins, where its content does, and where that ends."""
    at = start
    for _ in range(_MOST_FIELDS):
        if at == end:
            return
        tag, content = _read(model, at, end)
        content, after = _extent(model, tag & 7, content, end)
        if tag < 1 << 3 or after > end:
            break
        yield tag >> 3, at, content, after
        at = after
    raise ValueError(_NO_MODEL)


def _extent(model: mmap.mmap, kind: int, at: int, end: int) -> tuple[int, int]:
    """Where the content of a field of this kind begins and ends."""
    if kind == _BYTES:
        length, at = _read(model, at, end)
        return at, at + length
    if kind == _VARINT:
        return at, _read(model, at, end)[1]
    if kind in _FIXED:
        return at, at + _FIXED[kind]
    raise ValueError(_NO_MODEL)


def _read(model: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A varint (seven bits a byte, the lowest first) and where it ends."""
    value = shift = 0
    for place in range(at, min(at + _LONGEST, end)):
        byte = model[place]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place + 1
        shift += 7
    raise ValueError(_NO_MODEL)


def _written(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)
