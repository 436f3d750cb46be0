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
from citewell.hints.coded import Coded
from citewell.hints.postings import Postings

_RULES = "2"
"""Raise it with every change after which the same document would make another block."""

_ARRAYS = {
    "scopes": "<i4", "categories": "<i4", "metadata": "<i4", "lengths": "<f4", "centres": "<f2",
    "terms": "<u8", "starts": "<i8", "places": "<i4", "counts": "<u2", "spots": "|u1",
}  # fmt: skip
_CODED = ("scopes", "categories", "metadata")
_OF_POSTINGS = ("terms", "starts", "places", "counts", "spots")
_PREFIX = 4


class OtherRules(Exception):
    """A copy that is whole, and made by other rules than those in force."""


def encode(block: Block, analysis: str) -> bytes:
    """The block as bytes; `analysis` is the version of what made its terms.

    Raises:
        TypeError, ValueError: it holds metadata that is no JSON.
    """
    arrays = {name: np.asarray(_array(block, name)).astype(dtype) for name, dtype in _ARRAYS.items()}
    header = json.dumps(
        {
            "form": _form(analysis),
            "doc_ids": block.doc_ids,
            "titles": block.titles,
            "scopes": block.scopes.values,
            "categories": block.categories.values,
            "metadata": [_text(each) for each in block.metadata.values],
            "shapes": {name: array.shape for name, array in arrays.items()},
        }
    ).encode()
    return len(header).to_bytes(_PREFIX, "little") + b"".join([header, *(each.tobytes() for each in arrays.values())])


def decode(data: bytes, analysis: str) -> Block:
    """The block that these bytes are the form of.

    Raises:
        OtherRules: it was made by another version, or for another analysis.
        ValueError, LookupError, TypeError, AttributeError: it is none.
    """
    start = _PREFIX + int.from_bytes(data[:_PREFIX], "little")
    header = json.loads(data[_PREFIX:start])
    if header["form"] != _form(analysis):
        raise OtherRules
    arrays, values = _arrays(data, start, header["shapes"]), _values(header)
    doc_ids, titles = tuple(header["doc_ids"]), tuple(header["titles"])
    if not len(titles) == len(doc_ids) == len(arrays["lengths"]):
        raise ValueError("its parts don't fit each other")
    return Block(
        doc_ids=doc_ids,
        titles=titles,
        postings=Postings(**{name: arrays[name] for name in _OF_POSTINGS}),
        lengths=arrays["lengths"],
        centres=arrays["centres"],
        scopes=Coded(values["scopes"], arrays["scopes"]),
        categories=Coded(values["categories"], arrays["categories"]),
        metadata=Coded(values["metadata"], arrays["metadata"]),
    )


def _array(block: Block, name: str) -> object:
    if name in _CODED:
        return getattr(block, name).of
    return getattr(block.postings if name in _OF_POSTINGS else block, name)


def _values(header: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {
        "scopes": tuple(None if labels is None else tuple(labels) for labels in header["scopes"]),
        "categories": tuple(header["categories"]),
        "metadata": tuple(each.encode() for each in header["metadata"]),
    }


def _text(metadata: object) -> str:
    if not isinstance(metadata, bytes):
        raise TypeError("there is metadata that is no JSON")
    return metadata.decode()


def _form(analysis: str) -> str:
    return f"{_RULES} {analysis}"


def _arrays(data: bytes, start: int, shapes: Mapping[str, list[int]]) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for name, dtype in _ARRAYS.items():
        shape = tuple(shapes[name])
        # A copy, since a part of the bytes would keep all of them in memory.
        array: NDArray[Any] = np.frombuffer(data, dtype, count=int(np.prod(shape)), offset=start).copy()
        found[name], start = array.reshape(shape), start + array.nbytes
    return found
