"""The lexical path over a view: BM25 (Robertson and Zaragoza 2009) over our own postings, exact statistics included.

    score = sum over the query's terms of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))

A race in float32 finds the rows that can be among the best; those are scored in float64, the same whatever the race
was. The mean length is that of live rows, whatever the filters. It knows terms by their ids only, and no evidence key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.local.asked import find_postings
from citewell.adapters.local.race import K1, B, Race
from citewell.adapters.local.view import View

if TYPE_CHECKING:
    from citewell.adapters.local.asked import Doubles
    from citewell.adapters.local.segments import Bools, Int64s


def best(view: View, terms: Sequence[int], k: int, allowed: Bools | None) -> tuple[Int64s, Doubles]:
    """The slots of the k best rows and their scores, unordered, with all that tie with the k-th.

    `terms` are ids as the query holds them: one that comes twice counts twice. `allowed` is bool [slots], None = all.
    Only rows that hold at least one of the terms; scores are > 0.
    """
    held = find_postings(view, terms)
    if not held or k < 1:
        return np.empty(0, dtype=np.int64), np.empty(0)
    slots, counts = Race(view, k, allowed).run(list(held.values()))
    added = dict(zip(held, _added(view, slots, np.array([[term.idf] for term in held.values()]), counts), strict=True))
    scores = np.zeros(slots.size)
    for term in terms:  # one after the other: `sum` would add in another order where there is but one row
        if term in added:
            scores += added[term]
    if slots.size > k:
        close = scores >= np.partition(scores, slots.size - k)[slots.size - k]
        return slots[close], scores[close]
    return slots, scores


def _added(view: View, slots: Int64s, idf: Doubles, counts: Doubles) -> Doubles:
    """Float64 [terms, slots]: what each term adds to each row's score, by the formula as it stands.

    `idf` is [terms, 1], `counts` are [terms, slots] and used up.
    """
    below = counts + K1 * (1 - B + B * view.lengths_of(slots) / view.mean_length)
    counts *= idf
    counts *= K1 + 1
    counts /= below
    return counts
