"""Haystack's filters as the `where` of a lookup; what equalities can't say is refused, never dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from citewell.checks import check_list, check_mapping, check_text
from citewell.integrations.passages import unusable


def conditions_of(filters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Field (without `meta.`) and value of each comparison, nested ones too; an empty filter has none.

    Raises:
        InvalidRequest: an operator other than `==` and `AND`, or no filter at all.
    """
    given = check_mapping("filters", filters, wanted="a filter as Haystack writes it")
    if not given:
        return
    operator = given.get("operator")
    if "conditions" in given:
        if operator != "AND":
            raise unusable(f"the operator {operator!r}")
        for inner in check_list("conditions", given["conditions"]):
            yield from conditions_of(inner)
        return
    if set(given) != {"field", "operator", "value"}:
        raise unusable(f"a condition of {', '.join(sorted(given))}")
    field = check_text("field", given["field"]).removeprefix("meta.")
    if operator != "==":
        raise unusable(f"{field!r} with the operator {operator!r}")
    yield field, given["value"]
