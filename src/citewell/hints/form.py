"""The form in which a store keeps blocks of the catalogue's copy: bytes, and back again.

A form made with another analysis or by other rules is refused by its name; damage is the store's business to notice.
It knows neither store nor ranking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.hints.block import Block
from citewell.hints.infos import Infos

_RULES = "1"
"""Raise it with every change after which the same document would make another block."""

_ARRAYS = {
    "scope_of": "<i4", "lengths": "<f4", "terms": "<u8", "places": "<i4", "counts": "<i8", "centres": "<f2",
}  # fmt: skip
_PREFIX = 4


def encode(block: Block, analysis: str) -> bytes:
    """The block as bytes; `analysis` is the version of what made its terms.

    Raises:
        TypeError, ValueError: it holds metadata that is no JSON.
    """
    arrays = {name: getattr(block, name).astype(dtype) for name, dtype in _ARRAYS.items()}
    header = json.dumps(
        {
            "form": _form(analysis),
            "doc_ids": block.doc_ids,
            "scopes": block.scopes,
            "shapes": {name: array.shape for name, array in arrays.items()},
        }
    ).encode()
    parts = [header, *(array.tobytes() for array in arrays.values()), block.infos.encode()]
    return len(header).to_bytes(_PREFIX, "little") + b"".join(parts)


def decode(data: bytes, analysis: str) -> Block:
    """The block that these bytes are the form of.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: it was made by other rules, or is none.
    """
    start = _PREFIX + int.from_bytes(data[:_PREFIX], "little")
    header = json.loads(data[_PREFIX:start])
    if header["form"] != _form(analysis):
        raise ValueError(f"it has the form {header['form']}")
    arrays, end = _arrays(data, start, header["shapes"])
    doc_ids = tuple(header["doc_ids"])
    infos = data[end:].split(b"\n") if doc_ids else []
    if not len(infos) == len(doc_ids) == len(arrays["lengths"]):
        raise ValueError("its parts don't fit each other")
    scopes = tuple(None if labels is None else tuple(labels) for labels in header["scopes"])
    return Block(doc_ids, Infos(infos), scopes, **arrays)


def _form(analysis: str) -> str:
    return f"{_RULES} {analysis}"


def _arrays(data: bytes, start: int, shapes: Mapping[str, list[int]]) -> tuple[dict[str, NDArray[Any]], int]:
    found: dict[str, NDArray[Any]] = {}
    for name, dtype in _ARRAYS.items():
        shape = tuple(shapes[name])
        array: NDArray[Any] = np.frombuffer(data, dtype, count=int(np.prod(shape)), offset=start)
        found[name], start = array.reshape(shape), start + array.nbytes
    return found, start
