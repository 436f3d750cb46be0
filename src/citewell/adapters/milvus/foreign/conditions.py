"""Filters on a foreign collection: what the engine is asked, and what decides.

`holds` decides, on the row itself (SAFE-1). `expression` is what the engine is asked before: it never shuts out a row
that holds, but it may let others through, for not everything can be said in Milvus's language (JSON kept as text, keys
with odd characters, lists of documents to leave out where a row may lack one). Whoever searches asks for more until
enough rows hold. Field names come from the checked mapping; every value is written by `filters.literal`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from citewell.adapters.milvus.filters import both, literal, literals
from citewell.adapters.milvus.foreign.mapping import FieldMap, Path, keys, root
from citewell.adapters.milvus.foreign.schema import Field, Schema
from citewell.checks import HALF
from citewell.filtering import has_all
from citewell.model import Filters, Scalar, StoredChunk
from citewell.scope import is_visible

ANYTHING = ""
"""What an expression says that asks for nothing."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_CANONICAL = re.compile(r"-?[1-9][0-9]{0,17}|0")
_WORDS = frozenset(("in", "not", "and", "or", "like", "exists", "is", "null", "true", "false", "random_sample"))
_FUNCTIONS = ("json_", "array_", "st_", "text_match", "phrase_match")
_LONGEST = 50_000
_MOST_VALUES = 100

Compare = Callable[[Sequence[Scalar]], str | None]
"""Values -> an expression that is true wherever a row has one of them; None = it can't be said."""


def holds(chunk: StoredChunk, filters: Filters) -> bool:
    """Whether a chunk is within the filters."""
    return (
        (filters.category is None or chunk.category == filters.category)
        and is_visible(chunk.scope, filters.scope)
        and chunk.doc_id not in filters.exclude_documents
        and has_all(chunk.metadata, filters.where)
    )


class Conditions:
    """Writes expressions for one collection.

    Args:
        schema: of the collection.
        fields: the mapping, checked against it.
        json_text: JSON fields whose values are not objects but the text of some.
    """

    def __init__(self, schema: Schema, fields: FieldMap, json_text: Sequence[str] = ()) -> None:
        self._schema, self._fields, self._json_text = schema, fields, frozenset(json_text)

    def expression(self, filters: Filters) -> str | None:
        """What to ask the engine; ANYTHING = no condition, None = no row can hold, so there is nothing to ask."""
        parts: list[str | None] = []
        if filters.scope is not None:
            parts.append(self._any(self._fields.of("scope"), filters.scope))
        if filters.category is not None:
            parts.append(self._any(self._fields.of("category"), (filters.category,)))
        parts += [self._where(name, value) for name, value in filters.where]
        if None in parts:
            return None
        whole = both(*[part for part in parts if part], self._without(filters.exclude_documents))
        return whole if len(whole) <= _LONGEST else ANYTHING

    def _any(self, paths: Sequence[Path], values: Sequence[Scalar]) -> str | None:
        """One of these paths has one of these values."""
        sayable = [value for value in values if _is_sayable(value)]
        if not paths or not sayable:
            return None
        found = [self._compare(path)(sayable) for path in paths]
        if any(part is None for part in found) or len(sayable) > _MOST_VALUES:
            return ANYTHING
        said = [part for part in found if part]
        return " or ".join(said) if said else None

    def _where(self, name: str, value: Scalar) -> str | None:
        """A metadata field of this name has this value, wherever it may lie."""
        if not _PLAIN_KEY.fullmatch(name):
            return ANYTHING
        places = [f"{path}.{name}" for path in self._fields.of("metadata")]
        if name in self._schema.fields or self._schema.is_dynamic:
            places.append(name)
        return self._any(places, (value,))

    def _compare(self, path: Path) -> Compare:
        field, behind = self._schema.fields.get(root(path)), keys(path)
        # Deeper, a row may have one key with dots in it, or the text of an object, which only `follow` sees.
        if len(behind) > (0 if field is None else 1):
            return _unsayable
        if field is None:
            return _dynamic(root(path))
        if behind:
            is_object = field.kind == "json" and field.name not in self._json_text
            return _in_json(field.name, behind) if is_object else _unsayable
        make = _BY_KIND.get(field.kind)
        return make(field) if make else _unsayable

    def _without(self, documents: Sequence[str]) -> str:
        """Leave documents out where that can't leave out a row that has none."""
        paths = self._fields.of("docId")
        field = self._schema.fields.get(paths[0]) if len(paths) == 1 else None
        if field is None or field.kind != "text" or field.is_nullable or len(documents) > _MOST_VALUES:
            return ANYTHING
        known = [name for name in documents if _is_sayable(name)]
        return f"{field.name} not in {literals(known)}" if known else ANYTHING


def _is_sayable(value: Scalar) -> bool:
    """Whether a row may hold it at all: half a character (a lone surrogate) is in no store, NaN equals nothing."""
    if isinstance(value, str):
        return HALF.search(value) is None
    return not isinstance(value, float) or math.isfinite(value)


def _unsayable(_: Sequence[Scalar]) -> str | None:
    return None


def _text(field: Field) -> Compare:
    def compare(values: Sequence[Scalar]) -> str:
        texts = [value for value in values if isinstance(value, str)]
        return f"{field.name} in {literals(texts)}" if texts else ""

    return compare


def _integer(field: Field) -> Compare:
    def compare(values: Sequence[Scalar]) -> str:
        numbers = [number for value in values for number in [_whole(value)] if number is not None]
        return f"{field.name} in {numbers}" if numbers else ""

    return compare


def _boolean(field: Field) -> Compare:
    def compare(values: Sequence[Scalar]) -> str:
        return " or ".join(f"{field.name} == {str(value).lower()}" for value in values if isinstance(value, bool))

    return compare


def _array(field: Field) -> Compare:
    def of_texts(values: Sequence[Scalar]) -> str:
        texts = [value for value in values if isinstance(value, str)]
        return f"array_contains_any({field.name}, {literals(texts)})" if texts else ""

    return of_texts if field.element == "text" else _unsayable


_BY_KIND: dict[str, Callable[[Field], Compare]] = {
    "text": _text, "integer": _integer, "boolean": _boolean, "array": _array,
}  # fmt: skip


def _dynamic(name: str) -> Compare:
    """A field of the rows' own; Lite knows its lists by the bare name alone, which may be a word of the language."""
    if not _PLAIN_KEY.fullmatch(name) or name.lower() in _WORDS or name.lower().startswith(_FUNCTIONS):
        return _unsayable
    return _json_at(f"$meta[{literal(name)}]", name)


def _in_json(field: str, behind: Sequence[str]) -> Compare:
    """An entry of a JSON field."""
    if not all(_PLAIN_KEY.fullmatch(key) for key in behind):
        return _unsayable
    place = field + "".join(f"[{literal(key)}]" for key in behind)
    return _json_at(place, place)


def _json_at(place: str, of_lists: str) -> Compare:
    """The value itself, or a list that holds it."""

    def compare(values: Sequence[Scalar]) -> str | None:
        written = [_written(value) for value in values]
        if any(not each for each in written):
            return None
        said = [text for each in written for text in each]
        return " or ".join(f"{place} == {text} or json_contains({of_lists}, {text})" for text in said)

    return compare


def _written(value: Scalar) -> list[str]:
    """The literals that JSON may have for it; an id in digits may be a number there. None if there is no exact one.

    There is none for numbers below 0, which Lite does not read within `json_contains`.
    """
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, str):
        if _CANONICAL.fullmatch(value):
            return [literal(value), value] if value[0] != "-" else []
        return [literal(value)]
    whole = _whole(value)
    if whole is not None:
        # In a list, servers take 1 and 1.0 for two numbers.
        return [str(whole), f"{whole}.0"] if whole >= 0 else []
    text = repr(value)
    return [text] if re.fullmatch(r"[0-9]+\.[0-9]+", text) else []


def _whole(value: Scalar) -> int | None:
    """The 64-bit integer that it is, or that its digits are."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if _CANONICAL.fullmatch(value) else None
    number = int(value) if value == int(value) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None
