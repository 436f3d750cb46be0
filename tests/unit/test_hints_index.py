"""The catalogue's copy ranks as a plain loop over all documents does, whatever it leaves out to be fast."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.filtering import passes
from citewell.hints.index import CatalogueIndex
from citewell.hints.near import sharp
from citewell.hints.top import kth, least_of, top
from citewell.model import DocumentInfo, Filters
from citewell.model.catalogue import Catalogued

WORDS = [f"w{number}" for number in range(12)]


def plain(rows: Mapping[str, DocumentInfo], terms: Sequence[str], k: int, filters: Filters) -> list[str]:
    """BM25 as it is written down: k1 1.2, b .75, the title twice."""
    held = {name: [*info.title.split() * 2, *" ".join(info.headings).split()] for name, info in rows.items()}
    mean = np.float32(max(float(np.float32(sum(map(len, held.values()))) / np.float32(len(held))), 1.0))
    scores: dict[str, float] = {}
    for term in terms:
        holders = sum(term in words for words in held.values())
        idf = math.log(1 + (len(held) - holders + 0.5) / (holders + 0.5))
        for name, words in held.items():
            if term in words:
                count = words.count(term)
                norm = np.float32(1.2) * (np.float32(0.25) + np.float32(0.75) * np.float32(len(words)) / mean)
                scores[name] = scores.get(name, 0.0) + idf * count * 2.2 / (count + float(norm))
    found = [name for name in scores if passes(rows[name], filters)]
    return sorted(found, key=lambda name: (-scores[name], name))[:k]


def document(rng: np.random.Generator, number: int) -> Catalogued:
    """Words of which each is half as frequent as the one before."""

    def words(most: int) -> str:
        drawn = np.minimum(rng.geometric(0.3, rng.integers(0, most)) - 1, len(WORDS) - 1)
        return " ".join(WORDS[at] for at in drawn)

    scope = [None, ("a",), ("b",), ("a", "b")][rng.integers(4)]
    known: list[dict[str, object]] = [{}, {"draft": True}, {"draft": 1}, {"tags": ["x", "y"]}]
    name = f"{number}"
    return Catalogued(
        DocumentInfo(
            name, words(5), "", None, scope, known[rng.integers(4)], 1, 1, "", "", tuple(words(4) for _ in range(3))
        )
    )


FILTERS = [
    Filters(),
    Filters(scope=("a",)),
    Filters(scope=()),
    Filters(where=(("draft", True),)),
    Filters(scope=("b",), where=(("tags", "y"),)),
]


@given(
    seed=st.integers(0, 1 << 30), count=st.integers(1, 150), k=st.integers(1, 20), many=st.sampled_from([0, 5, 2_000])
)
@settings(max_examples=40, deadline=None)
@pytest.mark.requirement("L0-1", "SAFE-1")
def test_by_words_the_best_are_those_of_a_plain_loop_through_writes_and_deletions(
    seed: int, count: int, k: int, many: int
) -> None:
    rng = np.random.default_rng(seed)
    index = CatalogueIndex(str.split)
    held: dict[str, DocumentInfo] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("citewell.hints.by_words._MANY", many)
        for start in range(0, count, 40):
            rows = [document(rng, number) for number in range(start, min(start + 40, count))]
            index.put(rows)
            again = document(rng, int(rng.integers(0, start + 1)))
            index.put([again])
            held |= {row.info.doc_id: row.info for row in (*rows, again)}
        held = {name: info for name, info in held.items() if rng.random() < 0.8} or held
        index.keep_only(held)
        for filters in FILTERS:
            terms = list(dict.fromkeys(rng.choice([*WORDS, "absent"], size=4).tolist()))
            assert index.by_words(terms, k, filters) == plain(held, terms, k, filters)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, -1.0, 3.0]), min_size=1, max_size=200), st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_the_best_of_many_numbers_are_found_with_all_that_tie_with_the_last(numbers: list[float], k: int) -> None:
    values = np.array(numbers, np.float32)
    last = sorted(numbers, reverse=True)[min(k, len(numbers)) - 1]
    assert kth(values, k) == last
    assert top(values, k).tolist() == [at for at, value in enumerate(numbers) if value >= last]
    assert least_of(values, k) <= last


def test_half_precision_is_widened_without_a_difference() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves = bits.view(np.float16)
    finite = halves[np.isfinite(halves)].reshape(-1, 2)
    assert np.array_equal(sharp(finite).view(np.int32), finite.astype(np.float32).view(np.int32))


@pytest.mark.requirement("L0-1")
def test_a_word_is_said_to_stand_where_it_stands_first() -> None:
    index = CatalogueIndex(str.split)
    info = DocumentInfo("a", "pool", "disk", "ops", None, {}, 1, 1, "", "", ("pool dns", "disk"))
    index.put([Catalogued(info)])
    terms = ["disk", "ops", "pool", "dns", "absent"]
    assert index.held(["a"], terms) == [{"headings": ["disk", "dns"], "category": ["ops"], "title": ["pool"]}]


def test_of_versions_that_were_tidied_away_nothing_is_held() -> None:
    """Each of three documents is written fifty times with another category, label and metadata."""
    index = CatalogueIndex(str.split)
    for at in range(50):
        infos = [DocumentInfo(name, "t", "s", f"c{at}", (f"s{at}",), {"n": at}, 1, 1, "", "", ()) for name in "abc"]
        index.put([Catalogued(info) for info in infos])
        index = index.tidied()
    held = index.block(0)
    assert (index.category("a"), index.by_words(["t"], 3, Filters(where=(("n", 49),)))) == ("c49", ["a", "b", "c"])
    assert [len(column.values) for column in (index._scopes, index._categories, index._metadata)] == [1, 1, 1]
    assert [len(column.values) for column in (held.scopes, held.categories, held.metadata)] == [1, 1, 1]
