"""Milvus's filter language: one way to write a value into it, and Filters as an expression (SAFE-1, SAFE-2).

Templates (`filter_params`) are not there on Lite and before 2.4, so values are written as literals, all by `literal`.
Field names are constants of the schema, never built from what a caller gives.

What is compared is not the value itself but its `token`: a short text that two values share only if they are equal.
Types survive in it (True is not 1, "1" is not 1, 1 is 1.0), and a text longer than a field holds becomes its digest.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from citewell.checks import HALF
from citewell.model import Filters

MAX_TOKEN_BYTES = 512
"""The longest token, in UTF-8; fields that hold tokens have room for as many bytes."""

NOTHING = "version < 0"
"""What no row matches."""

SEVERAL = "+"
"""The tenant of documents that bear more than one label."""

UNLABELLED = "-"
"""The tenant of documents that bear none."""


def literal(value: str) -> str:
    r"""The value as a literal of Milvus's filter language, exactly, whatever characters it holds.

    Backslashes first, else they would escape what is put in after them. A line break is written as `\n`, which Lite
    and servers read alike; anything else stands for itself (`\u1234` is not read by Lite).
    """
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def literals(values: Iterable[str]) -> str:
    """A list of literals, as `in` and the functions of arrays take it."""
    return "[" + ", ".join(literal(value) for value in values) + "]"


def token(text: str) -> str:
    """The text itself, or its digest if it is long; two texts share a token only if they are equal.

    A text that begins like a digest becomes one too; and one that holds half a character (a lone surrogate), which
    nothing that is stored does: it can be asked for and is not there.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= MAX_TOKEN_BYTES and not text.startswith("\x1d") and not HALF.search(text):
        return text
    return "\x1d" + hashlib.sha256(data).hexdigest()


def tenant(scope: tuple[str, ...] | None) -> str:
    """The partition key of a document: its label, if it bears one alone.

    A partition key is a single value, a document may bear several labels: those share the tenant SEVERAL, which
    every search within a scope looks into too. What a caller may see is decided by the labels in any case.
    """
    if not scope:
        return UNLABELLED
    return SEVERAL if len(scope) > 1 else token("=" + scope[0])


def marks(metadata: Mapping[str, object]) -> list[str]:
    """What `where` can find of a document's metadata: a token per field and value, each item of a list alone."""
    found = {
        _mark(name, value)
        for name, held in metadata.items()
        for value in (held if isinstance(held, list | tuple) else [held])
        if isinstance(value, str | int | float)
    }
    return sorted(found)


def _mark(name: str, value: object) -> str:
    # The length of the name comes first: no name and value can look like another name and value.
    return token(f"{len(name)}\x1f{name}\x1f{_typed(value)}")


def _typed(value: object) -> str:
    if isinstance(value, bool):
        return f"b{value}"
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)  # 1.0 equals 1
    return f"n{value!r}" if not isinstance(value, int) or value.bit_length() <= 256 else f"x{value:x}"


def expression(filters: Filters) -> str:
    """The filters as one expression; blank if there are none."""
    parts: list[str] = []
    if filters.scope is not None:
        parts.append(_within(filters.scope))
    if filters.category is not None:
        parts.append(f"category == {literal(token('=' + filters.category))}")
    parts += [f"array_contains(marks, {literal(_mark(name, value))})" for name, value in filters.where]
    if filters.exclude_documents:
        parts.append(f"document not in {literals(token(name) for name in filters.exclude_documents)}")
    return both(*parts)


def both(*parts: str) -> str:
    """All of these expressions together; blank ones ask for nothing."""
    return " and ".join(f"({part})" for part in parts if part)


def _within(labels: tuple[str, ...]) -> str:
    if not labels:
        return NOTHING
    tenants = literals([*(tenant((label,)) for label in labels), SEVERAL])
    return f"tenant in {tenants} and array_contains_any(labels, {literals(token(label) for label in labels)})"


@dataclass(frozen=True, slots=True)
class Bearer:
    """What filters compare with, of one document: all of it tokens, as the collection holds them."""

    document: str
    category: str
    labels: frozenset[str]
    marks: frozenset[str]


def passes(filters: Filters) -> Callable[[Bearer], bool]:
    """The same filters as a rule, for an index that is not Milvus's."""
    labels = None if filters.scope is None else {token(label) for label in filters.scope}
    category = None if filters.category is None else token("=" + filters.category)
    wanted = {_mark(name, value) for name, value in filters.where}
    excluded = {token(name) for name in filters.exclude_documents}

    def rule(bearer: Bearer) -> bool:
        return (
            (labels is None or not labels.isdisjoint(bearer.labels))
            and category in (None, bearer.category)
            and wanted <= bearer.marks
            and bearer.document not in excluded
        )

    return rule
