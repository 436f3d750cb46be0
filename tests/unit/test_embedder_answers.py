"""An endpoint's answer becomes vectors in the order of the texts, or is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from citewell.adapters.embedders.answers import read_answer
from citewell.adapters.embedders.vectors import unit_rows
from citewell.errors import EmbedderError

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "embedding", "index", "error", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def _item(embedding: object, index: object = 0) -> dict[str, Any]:
    return {"data": [{"embedding": embedding, "index": index}]}


@pytest.mark.requirement("ENGINE-4")
@given(_JSON | st.builds(_item, _JSON, _JSON), st.integers(1, 3))
def test_whatever_comes_is_either_one_row_per_text_or_refused(answer: object, wanted: int) -> None:
    found = _attempt(answer, wanted)
    if isinstance(found, EmbedderError):
        assert found.message.startswith("it gave ")
        assert len(found.message) < 400
    else:
        assert found.shape[0] == wanted
        assert found.dtype == np.float64


def _attempt(answer: object, wanted: int) -> NDArray[np.float64] | EmbedderError:
    try:
        return read_answer(answer, wanted, "it")
    except EmbedderError as error:
        return error


@pytest.mark.parametrize(
    ("embedding", "says"),
    [
        ([], "vectors of 0 dimensions"),
        ("", "vectors of 0 dimensions"),
        (None, "gave NoneType 'None' where a vector"),
        (["1.0"], "gave a list of 1 where a vector"),
        ([True], "gave a list of 1 where a vector"),
        ([[1.0]], "gave a list of 1 where a vector"),
        ([10**400], "too large"),
        ("!!!", "no base64 of float32: '!!!'"),
        ("AAA=", "no base64 of float32"),
    ],
)
@pytest.mark.requirement("ENGINE-4")
def test_what_is_no_vector_is_refused_by_name(embedding: object, says: str) -> None:
    with pytest.raises(EmbedderError, match=says):
        read_answer(_item(embedding), 1, "it")


@pytest.mark.parametrize("indexes", [(0, 0), (1, 2), (0, None), ("0", "1"), (False, True), (0.0, 1.0), (-1, 0)])
@pytest.mark.requirement("PORT-6")
def test_indexes_that_do_not_number_the_texts_are_refused(indexes: tuple[object, object]) -> None:
    answer = {"data": [{"embedding": [1.0], "index": index} for index in indexes]}
    with pytest.raises(EmbedderError, match="gave the indexes"):
        read_answer(answer, 2, "it")


@pytest.mark.requirement("ENGINE-4")
def test_vectors_of_several_lengths_in_one_answer_are_refused() -> None:
    answer = {"data": [{"embedding": [1.0], "index": 0}, {"embedding": [1.0, 2.0], "index": 1}]}
    with pytest.raises(EmbedderError, match="vectors of 1, 2 dimensions in one answer"):
        read_answer(answer, 2, "it")


@pytest.mark.requirement("SCORE-2")
def test_rows_are_scaled_to_unit_length() -> None:
    assert unit_rows(np.array([[3.0, 4.0]]), "it").tolist() == np.array([[0.6, 0.8]], np.float32).tolist()
    assert unit_rows(np.empty((0, 2)), "it").shape == (0, 2)


@pytest.mark.requirement("SCORE-2")
@given(
    st.lists(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3), min_size=1, max_size=5).filter(
        lambda rows: all(any(row) for row in rows)
    )
)
def test_unit_length_holds_for_very_large_and_very_small_numbers_whatever_the_batch(rows: list[list[float]]) -> None:
    together = unit_rows(np.array(rows), "it")
    assert together.dtype == np.float32
    assert np.abs(np.linalg.norm(together.astype(np.float64), axis=1) - 1).max() < 1e-6
    assert [unit_rows(np.array([row]), "it").tobytes() for row in rows] == [row.tobytes() for row in together]
