"""Marks: equal values have equal marks, different ones different marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.local.marks import category_mark, field_mark, label_mark, marks_of
from citewell.model import DocumentRecord

scalars = st.one_of(st.text(), st.booleans(), st.integers(), st.floats(allow_nan=False))


@pytest.mark.requirement("SAFE-2")
@given(scalars, scalars)
def test_two_values_share_a_mark_exactly_if_they_are_equal(one: object, other: object) -> None:
    equal = one == other and isinstance(one, bool) == isinstance(other, bool)
    assert (field_mark("page", one) == field_mark("page", other)) == equal


@pytest.mark.requirement("SAFE-2")
@given(st.text(st.characters(), max_size=5), st.text(st.characters(), max_size=5), st.text(st.characters(), max_size=5))
def test_name_and_value_never_run_together(name: str, value: str, other: str) -> None:
    """Also not with lone surrogates, which a query may hold."""
    assert (field_mark(name, value) == field_mark(name + other, value)) == (not other)
    assert len({category_mark(value), label_mark(value), field_mark(name, value)}) == 3


@pytest.mark.requirement("SAFE-2")
@pytest.mark.parametrize("value", [None, float("nan"), [], ["a"], {"a": 1}, object()])
def test_what_equals_nothing_has_no_mark(value: object) -> None:
    assert field_mark("page", value) is None


@pytest.mark.requirement("SAFE-2", "SAFE-3")
def test_a_document_bears_the_marks_of_its_category_its_labels_and_each_value_of_a_list() -> None:
    record = DocumentRecord(
        "a", category="ops", scope=("x", "y"), metadata={"tags": ["t", 1, None, ["n"]], "page": 2.0}
    )
    assert marks_of(record) == sorted(
        mark
        for mark in (
            category_mark("ops"), label_mark("x"), label_mark("y"), field_mark("tags", "t"), field_mark("tags", 1),
            field_mark("page", 2),
        )
        if mark
    )  # fmt: skip
    assert marks_of(DocumentRecord("a")) == []
