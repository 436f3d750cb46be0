"""Reads the answer of an OpenAI-compatible `/embeddings` endpoint: JSON values in, one row per text out.

Knows no network. Whatever is not as it should be is refused by name: a wrong vector in a store is never found again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from citewell.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WAY_OUT = "Check that embedder.url names an OpenAI-compatible endpoint and embedder.name an embedding model."


def read_answer(answer: object, wanted: int, origin: str) -> NDArray[np.float64]:
    """Float64 [wanted, d] in the order of the texts, which `index` tells; not scaled.

    Vectors may be lists of numbers or base64 of little-endian float32. An endpoint that gives no index at all is taken
    to answer in order.

    Raises:
        EmbedderError: the answer is of another form, has another count, or holds vectors of several lengths.
    """
    items = _items(answer, origin)
    if len(items) != wanted:
        raise _refuse(f"{origin} gave {len(items)} vectors for {wanted} texts")
    rows = [_vector(item.get("embedding"), origin) for item in _in_order(items, origin)]
    lengths = sorted({row.size for row in rows})
    if len(lengths) > 1 or 0 in lengths:
        raise _refuse(f"{origin} gave vectors of {', '.join(map(str, lengths))} dimensions in one answer")
    return np.stack(rows)


def _items(answer: object, origin: str) -> list[dict[str, object]]:
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise _refuse(f"{origin} gave {_shape(answer)} where a list of embeddings should be")
    return data


def _in_order(items: Sequence[dict[str, object]], origin: str) -> list[dict[str, object]]:
    indexes = [item.get("index") for item in items]
    if all(index is None for index in indexes):
        return list(items)
    by_index = {index: item for index, item in zip(indexes, items, strict=True) if type(index) is int}
    if sorted(by_index) != list(range(len(items))):
        raise _refuse(f"{origin} gave the indexes {indexes[:20]!r} for {len(items)} texts")
    return [by_index[position] for position in range(len(items))]


def _vector(value: object, origin: str) -> NDArray[np.float64]:
    if isinstance(value, str):
        return _decoded(value, origin)
    if isinstance(value, list) and all(type(number) in (int, float) for number in value):
        try:
            return np.array(value, np.float64)
        except OverflowError:
            raise _refuse(f"{origin} gave a number that is too large for a vector") from None
    raise _refuse(f"{origin} gave {_shape(value)} where a vector should be")


def _decoded(value: str, origin: str) -> NDArray[np.float64]:
    try:
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float64)
    except (binascii.Error, ValueError) as error:
        raise _refuse(f"{origin} gave a vector that is no base64 of float32: {value[:20]!r}") from error


def _shape(value: object) -> str:
    """What a value is, in few words: an error that an endpoint sent with status 200 shows here."""
    if isinstance(value, dict):
        error = value.get("error")
        return f"an error ({str(error)[:200]})" if error else f"an object of {sorted(map(str, value))[:8]}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"{type(value).__name__} {str(value)[:40]!r}"


def _refuse(message: str) -> EmbedderError:
    return EmbedderError(message, way_out=_WAY_OUT)
