"""Segments: postings found by term, rows dropped when segments are joined, and which of them are joined when."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.local.segments import CODED_FROM, Postings, Segment, groups_to_join, join

held = st.lists(st.dictionaries(st.integers(1, 9), st.integers(1, 4), max_size=5), min_size=1, max_size=8)


def segment(first: int, rows: list[dict[int, int]]) -> Segment:
    """An open segment of these rows, each a mapping of term to count; vectors tell the rows apart."""
    pairs = [(place, term, count) for place, row in enumerate(rows) for term, count in row.items()]
    places, terms, counts = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    numbers = np.arange(first, first + len(rows))
    return Segment(
        numbers,
        numbers * 10,
        np.array([sum(row.values()) for row in rows], dtype=np.int32),
        np.stack([numbers, numbers + 0.5], axis=1).astype(np.float32),
        Postings(terms.astype(np.int32), None, places.astype(np.int32), counts.astype(np.uint16)),
    )


def told(one: Segment) -> list[dict[int, int]]:
    """What a segment holds, row by row, as its postings tell it term by term."""
    rows: list[dict[int, int]] = [{} for _ in range(one.size)]
    for term, (places, counts) in enumerate(one.postings.of(np.arange(11, dtype=np.int32))):
        assert (np.diff(places) > 0).all()
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            rows[place][term] = count
    return rows


@given(held)
def test_a_segment_tells_the_same_whether_it_is_sealed_or_open(rows: list[dict[int, int]]) -> None:
    assert told(segment(1, rows)) == rows
    assert told(segment(1, rows).sealed()) == rows


@given(held, held, st.data())
def test_joined_segments_tell_of_the_rows_that_stay_in_their_order(
    first: list[dict[int, int]], second: list[dict[int, int]], data: st.DataObject
) -> None:
    one, two = segment(1, first).sealed(), segment(50, second)
    stays = [data.draw(st.booleans()) for _ in range(len(first))]
    joined = join([(one, np.array(stays)), (two, None)])
    kept = [row for row, stay in zip(first, stays, strict=True) if stay]
    numbers = [number for number, stay in zip(range(1, len(first) + 1), stays, strict=True) if stay]
    numbers += range(50, 50 + len(second))
    for result in (joined, joined.sealed()):
        assert told(result) == kept + second
        assert result.rows.tolist() == numbers
        assert result.stamps.tolist() == [number * 10 for number in numbers]
        assert result.vectors[:, 1].tolist() == [number + 0.5 for number in numbers]
        assert result.lengths.tolist() == [sum(row.values()) for row in kept + second]


def test_a_large_sealed_segment_has_codes_and_a_small_one_has_none() -> None:
    assert segment(1, [{}] * 10).sealed().codes is None
    assert segment(1, [{}] * CODED_FROM).sealed().codes is not None


def groups(*sizes: tuple[int, int] | int, ratio: float = 2.0) -> tuple[tuple[int, int], ...]:
    pairs = [size if isinstance(size, tuple) else (size, size) for size in sizes]
    return groups_to_join(pairs, most_gone=0.3, ratio=ratio)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((), ()),
        ((5,), ()),
        ((8, 4), ()),
        ((8, 5), ((0, 2),)),
        ((100, 8, 5), ((1, 3),)),
        ((100, 40, 15), ((0, 3),)),
        ((100, 30, 8, 5), ((2, 4),)),
        (((10, 6), 2), ((0, 1),)),
        (((10, 8), 2), ()),
        (((10, 0),), ((0, 1),)),
        ((100, (20, 10), 4, 4), ((1, 4),)),
    ],
)
def test_small_segments_are_joined_and_large_ones_left_until_it_pays(
    sizes: tuple[tuple[int, int] | int, ...], expected: tuple[tuple[int, int], ...]
) -> None:
    """From the first segment that is smaller than twice all behind it; alone where over .3 of its rows have gone."""
    assert groups(*sizes) == expected


@given(st.lists(st.integers(1, 5), min_size=100, max_size=400))
def test_many_small_segments_end_up_as_few(added: list[int]) -> None:
    """Each row is rewritten a logarithmic number of times."""
    sizes: list[int] = []
    rewritten = 0
    for size in added:
        sizes.append(size)
        for start, end in groups(*sizes):
            rewritten += sum(sizes[start:end])
            sizes[start:end] = [sum(sizes[start:end])]
    assert len(sizes) <= 1 + np.log2(sum(added))
    assert rewritten <= sum(added) * (2 + np.log2(len(added)))
