"""Decides whether a document is within filters (SAFE-1, SAFE-3), for whoever holds its record; knows no engine.

Engines that search with filters of their own must let through the same documents; the contract suite compares them.
"""

from __future__ import annotations

from collections.abc import Mapping

from citewell.model import DocumentInfo, DocumentRecord, Filters
from citewell.scope import is_visible


def passes(document: DocumentRecord | DocumentInfo, filters: Filters) -> bool:
    """Whether the document is within the filters: every one that is given must hold."""
    return (
        (filters.category is None or document.category == filters.category)
        and is_visible(document.scope, filters.scope)
        and has_all(document.metadata, filters.where)
        and document.doc_id not in filters.exclude_documents
    )


def has_all(metadata: Mapping[str, object], where: tuple[tuple[str, object], ...]) -> bool:
    """Whether each of these fields equals its value; a list does if it holds the value."""
    return all(_holds(metadata.get(name), value) for name, value in where)


def _holds(stored: object, wanted: object) -> bool:
    values = stored if isinstance(stored, list | tuple) else (stored,)
    # In Python True == 1; as metadata they differ.
    return any(value == wanted and isinstance(value, bool) == isinstance(wanted, bool) for value in values)
