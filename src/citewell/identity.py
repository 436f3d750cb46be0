"""Decides what a chunk is called, everywhere in the system (ID-1..9); knows nothing of scores, text analysis or stores.

An evidence key is the identity of a chunk:

    etcd.md#chunk-2            document and chunk index known
    vector:{id}                one of them missing, vector id known
    content:{16 hex digits}    neither: a digest of what the chunk says

Two different chunks never share a key. A document id that itself begins with `vector:` or `content:` would look like
one of the fallback keys; ingestion refuses it (`check_doc_id`), and where a foreign store brings one, its key gets
the prefix `doc:` (as does an id that already begins with `doc:...vector:`, so that the escape can be undone):
document `vector:7`, chunk 2 -> `doc:vector:7#chunk-2`, while vector id `7#chunk-2` -> `vector:7#chunk-2`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

from citewell.checks import check_text, shown
from citewell.errors import InvalidRequest

_T = TypeVar("_T")

_MARK = "#chunk-"
_SEPARATOR = "\x1f"
_LARGEST_INDEX = 2**63 - 1
_LARGEST_ID_BITS = 2048
_NEEDS_ESCAPE = re.compile(r"(?:doc:)*(?:vector|content):")
_FALLBACK_PREFIX = re.compile(r"(?:vector|content):")
_FALLBACK_KEY = re.compile(r"vector:.+|content:[0-9a-f]{16}", re.DOTALL)
_CANONICAL_INDEX = re.compile(r"0|[1-9][0-9]{0,18}")
_INDEX_TEXT = re.compile(r"[0-9]{1,19}(?:\.0+)?")
# What a key has, and what people and models make of it: other case, full width, a plural, a space, another sign or
# none, emphasis, the `%23` of an address.
_WRITTEN_MARK = re.compile(
    r"(?:[#＃﹟♯]|%23) ?[cｃ][hｈ][uｕ][nｎ][kｋ]s?(?:[-‐‑‒–—−－_ :=.~/*`]{0,4}[-+]?\d+)", re.IGNORECASE
)
_WRITTEN_FALLBACK = re.compile(r"(?<!doc:)(?:vector:(?=\S)|(?i:content:)(?=[0-9A-Fa-f]{16}(?![0-9A-Za-z])))")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a chunk is: its document and index where they are known, its evidence key always."""

    doc_id: str | None
    chunk_index: int | None
    evidence_key: str


def normalize_id(value: object) -> str | None:
    """A document or vector id as it is compared: NFC-normalised and stripped (ID-7, ID-8).

    Strings and integers are ids; blank, None, booleans, floats and everything else are missing -> None. So is an
    integer of more than 600 digits: Python refuses to write it out.
    """
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip() or None
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    whole = int(value)
    return str(whole) if whole.bit_length() <= _LARGEST_ID_BITS else None


def normalize_index(value: object) -> int | None:
    """A chunk index as an integer >= 0, or None for "missing" (ID-6).

    3, "3", " 3 ", 3.0 and "3.0" are 3. Booleans, negative numbers, fractions, NaN, infinity, other text and whatever
    does not fit 63 bits are missing. 0 is an index.
    """
    if isinstance(value, str):
        return _index_from_text(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number: Any = value  # the type stubs of Real know no comparison with an int
    # The range comes first: NaN fails it, and neither infinity nor a huge integer would survive a conversion.
    if not 0 <= number <= _LARGEST_INDEX:
        return None
    whole = math.floor(number)
    return whole if whole == number and whole <= _LARGEST_INDEX else None


def _index_from_text(text: str) -> int | None:
    stripped = text.strip()
    if not _INDEX_TEXT.fullmatch(stripped):
        return None
    whole = int(stripped.partition(".")[0])
    return whole if whole <= _LARGEST_INDEX else None


def format_key(doc_id: str | int, chunk_index: int) -> str:
    """The evidence key of a chunk: `{docId}#chunk-{chunkIndex}` (ID-3); `parse_key` is its inverse.

    Raises:
        InvalidRequest: the document id is blank or the index is no integer >= 0.
    """
    name, index = _required_id(doc_id), normalize_index(chunk_index)
    if index is None:
        raise InvalidRequest(f"a chunk index can't be {shown(chunk_index)}", way_out="Give an integer >= 0.")
    escaped = f"doc:{name}" if _NEEDS_ESCAPE.match(name) else name
    return f"{escaped}{_MARK}{index}"


def parse_key(key: str) -> Identity:
    """The identity that an evidence key names.

    Splits at the last `#chunk-`, so that a document id may itself contain it. Only canonical digits are an index:
    `-00`, `-01` and `-1.0` are not. Of a fallback key (`vector:`, `content:`) only the key itself is known.

    Raises:
        InvalidRequest: the text is no evidence key.
    """
    identity = find_identity(key)
    if identity is None:
        raise InvalidRequest(
            f"{shown(key)} is no evidence key",
            way_out="Keys look like 'etcd.md#chunk-2', 'vector:7' or 'content:0123456789abcdef'.",
        )
    return identity


def find_identity(key: str) -> Identity | None:
    """Like `parse_key`, but None where the text is no evidence key."""
    text = normalize_id(key)
    if text is None:
        return None
    if _FALLBACK_PREFIX.match(text):
        return Identity(None, None, text) if _FALLBACK_KEY.fullmatch(text) else None
    name, mark, digits = text.rpartition(_MARK)
    if not mark or not name.strip() or not _CANONICAL_INDEX.fullmatch(digits) or int(digits) > _LARGEST_INDEX:
        return None
    doc_id = name.removeprefix("doc:") if _NEEDS_ESCAPE.match(name) else name
    return Identity(normalize_id(doc_id), int(digits), f"{name.strip()}{_MARK}{digits}")


def find_marks(text: str) -> Iterator[tuple[int, int]]:
    """Where a text may name chunks: where the mark between document and index begins, and where the index ends.

    Also marks that no key has but that are easily taken for it: `#Chunk-1`, `＃chunk-１`, `# chunk_1`, `%23chunk-01`.
    Whether one makes a key, `find_identity` says. In reading order, without overlap, in linear time.
    """
    return (match.span() for match in _WRITTEN_MARK.finditer(text))


def find_fallbacks(text: str) -> Iterator[int]:
    """Where a text may name chunks by vector id or content digest: where `vector:` or `content:` begins.

    Also where a digest is written in capitals, which no key is. Whether there is a key, `find_identity` says.
    """
    return (match.start() for match in _WRITTEN_FALLBACK.finditer(text))


def check_doc_id(value: object) -> str:
    """The normalised id of a document that is about to be ingested.

    Raises:
        InvalidRequest: it is missing, or begins like a fallback key (ID-8).
    """
    doc_id = _required_id(value)
    if _NEEDS_ESCAPE.match(doc_id):
        raise InvalidRequest(
            f"the document id {shown(doc_id)} begins like a key that stands for a vector or a content digest",
            way_out="Give it another id, or a prefix such as 'docs/'.",
        )
    return doc_id


def _required_id(value: object) -> str:
    doc_id = normalize_id(value)
    if doc_id is None:
        raise InvalidRequest(
            f"a document id can't be {shown(value)}", way_out="Give a string that is not blank, or an integer."
        )
    return doc_id


def identify(
    metadata: Mapping[str, object] | str | None,
    *,
    vector_id: object = None,
    source: str | None = "",
    title: str | None = "",
    breadcrumb: str | None = "",
    text: str | None = "",
) -> Identity:
    """Decide the identity of a chunk from whatever a store says of it (ID-1..7).

    `metadata` may be a mapping, the JSON text of one, or either nested under `metadata`; names may be camelCase or
    snake_case. camelCase wins if both are usable, an unusable one gives way to the other; what stands at the top
    wins over what is nested. Of the labels and the text, which count for a content digest alone, None is blank.

    Raises:
        InvalidRequest: a label or the text is no text.
    """
    labels = {"source": source, "title": title, "breadcrumb": breadcrumb, "text": text}
    parts = [check_text(name, "" if label is None else label) for name, label in labels.items()]
    layers = _layers(metadata)
    doc_id = _first(layers, ("docId", "doc_id"), normalize_id)
    index = _first(layers, ("chunkIndex", "chunk_index"), normalize_index)
    if doc_id is not None and index is not None:
        return Identity(doc_id, index, format_key(doc_id, index))
    vector = normalize_id(vector_id)
    if vector is not None:
        return Identity(doc_id, index, f"vector:{vector}")
    return Identity(doc_id, index, _content_key(parts))


def _content_key(parts: Iterable[str]) -> str:
    joined = _SEPARATOR.join(parts)
    # Lone surrogates have no UTF-8 form; foreign rows may hold them, and each must still get a key of its own.
    return f"content:{hashlib.sha256(joined.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _layers(metadata: object) -> list[Mapping[str, object]]:
    layers: list[Mapping[str, object]] = []
    current = _as_mapping(metadata)
    while current is not None and len(layers) < 3:
        layers.append(current)
        current = _as_mapping(current.get("metadata"))
    return layers


def _as_mapping(value: object) -> Mapping[str, object] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


def _first(
    layers: list[Mapping[str, object]], names: tuple[str, ...], read: Callable[[object], _T | None]
) -> _T | None:
    for layer in layers:
        for name in names:
            value = read(layer.get(name))
            if value is not None:
                return value
    return None
