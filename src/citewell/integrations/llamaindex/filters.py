"""LlamaIndex's metadata filters as the `where` of a lookup; what equalities can't say is refused, never dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilters

from citewell.integrations.passages import unusable


def conditions_of(filters: MetadataFilters) -> Iterator[tuple[str, Any]]:
    """Field and value of each filter, nested ones too.

    Raises:
        InvalidRequest: an operator other than `==`, or a condition other than `and` of two or more.
    """
    alone = len(filters.filters) == 1 and filters.condition == FilterCondition.OR
    if filters.condition not in (FilterCondition.AND, None) and not alone:
        raise unusable(f"the condition {getattr(filters.condition, 'value', filters.condition)!r}")
    for each in filters.filters:
        if isinstance(each, MetadataFilters):
            yield from conditions_of(each)
        elif each.operator != FilterOperator.EQ:
            raise unusable(f"{each.key!r} with the operator {each.operator.value!r}")
        else:
            yield each.key, each.value
