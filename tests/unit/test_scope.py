"""Who sees what: the labels of a document and of a caller must meet (SAFE-3)."""

from __future__ import annotations

from typing import Any

import pytest

from citewell.errors import InvalidRequest
from citewell.scope import is_visible


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize(
    ("bears", "holds", "visible"),
    [
        (("a", "b"), ("b", "c"), True),
        (("a",), ("b",), False),
        (("a",), (), False),
        ((), ("a",), False),
        (None, ("a",), False),
        (None, (), False),
        (("a",), None, True),
        (None, None, True),
    ],
)
def test_a_chunk_is_visible_when_labels_meet_or_no_scope_is_given(bears: Any, holds: Any, visible: bool) -> None:  # noqa: ANN401
    assert is_visible(bears, holds) is visible


@pytest.mark.requirement("SAFE-3")
def test_a_bare_string_is_one_label_and_no_list_of_letters() -> None:
    assert is_visible("ops", "ops")
    assert is_visible(("ops",), "ops")
    assert is_visible("ops", ("ops",))
    assert not is_visible("ops", "p")
    assert not is_visible("ops", ("s",))
    assert not is_visible(("o", "p"), "ops")


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize("value", [5, True, [["a"]], object()])
def test_what_is_no_list_of_labels_is_refused(value: Any) -> None:  # noqa: ANN401
    for bears, holds in ((value, ("a",)), (("a",), value)):
        with pytest.raises(InvalidRequest, match="a scope can't be") as caught:
            is_visible(bears, holds)
        assert caught.value.way_out
