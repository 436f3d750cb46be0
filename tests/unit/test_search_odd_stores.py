"""A third party's store that breaks where no path does, or scores with numbers of another kind: named, and plain."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from citewell import Knowledge, Settings
from citewell.adapters.memory import MemoryStore
from citewell.errors import StoreError, UnknownEvidence
from citewell.model import Scored
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import binding_of, change

EMBEDDER = HashEmbedder()
SAID = {
    "binding": "the store could not say who filled it",
    "snapshot": "the store could not be read",
    "enter": "the store could not be read",
    "size": "the store could not say its size",
    "fetch": "the chunks could not be read",
    "leave": "the store's snapshot could not be closed",
    "query_terms": "the question's terms could not be had",
}
"""What a lookup says where each of these is broken."""


class Odd:
    """A store that raises `error` at one place; `number` is what it makes of its scores."""

    at_hand = True
    lie: Callable[[Any], Any] = staticmethod(lambda chunks: chunks)
    """What becomes of chunks that are fetched."""

    def __init__(self, fault: str = "", error: Exception | None = None, number: Callable[[float], Any] = float) -> None:
        self.fault, self.error, self.number = fault, error, number
        self.store = MemoryStore()
        self.store.bind(binding_of(EMBEDDER))
        self.store.apply([change("ops", ["rotate the signing key", "payroll"], embedder=EMBEDDER)])

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the other has
        return getattr(self.store, name)

    def reach(self, place: str) -> None:
        if place == self.fault and self.error:
            raise self.error

    def binding(self) -> object:
        self.reach("binding")
        return self.store.binding()

    def query_terms(self, query: str) -> list[str]:
        self.reach("query_terms")
        return query.split()

    def doubt(self) -> str:
        self.reach("doubt")
        return ""

    def snapshot(self) -> Any:  # noqa: ANN401 - a context manager
        self.reach("snapshot")
        return self._snapshot()

    @contextmanager
    def _snapshot(self) -> Iterator[_View]:
        self.reach("enter")
        with self.store.snapshot() as view:
            yield _View(view, self)
        self.reach("leave")


class _View:
    def __init__(self, view: Any, owner: Odd) -> None:  # noqa: ANN401 - a Snapshot
        self.view, self.owner = view, owner

    @property
    def size(self) -> int:
        self.owner.reach("size")
        return int(self.view.size)

    def fetch(self, keys: Any) -> Any:  # noqa: ANN401 - as a Snapshot
        self.owner.reach("fetch")
        return self.owner.lie(self.view.fetch(keys))

    def dense(self, *given: Any) -> list[Scored]:  # noqa: ANN401 - as above
        return [Scored(hit.key, self.owner.number(hit.score)) for hit in self.view.dense(*given)]

    def lexical(self, *given: Any) -> list[Scored]:  # noqa: ANN401 - as above
        return [Scored(hit.key, self.owner.number(hit.score)) for hit in self.view.lexical(*given)]

    def similarities(self, *given: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
        return {key: self.owner.number(score) for key, score in self.view.similarities(*given).items()}


def knowing(store: Odd) -> Knowledge:
    store.fault, fault = "", store.fault
    knowledge = Knowledge(store, EMBEDDER, Settings())  # type: ignore[arg-type]  # it passes on what it doesn't have
    store.fault = fault
    return knowledge


@pytest.mark.requirement("PORT-2")
@pytest.mark.parametrize("error", [KeyError("no row"), StopIteration("no row")], ids=["KeyError", "StopIteration"])
@pytest.mark.parametrize("place", SAID)
def test_a_store_that_breaks_where_nothing_else_can_answer_is_named(place: str, error: Exception) -> None:
    with knowing(Odd(place, error)) as knowledge, pytest.raises(StoreError, match=SAID[place]):
        knowledge.lookup("signing key", mode="hybrid")


@pytest.mark.requirement("PORT-2")
def test_in_an_event_loop_it_is_an_error_too_and_no_endless_wait() -> None:
    async def look(knowledge: Knowledge) -> object:
        return await asyncio.wait_for(knowledge.alookup("signing key"), 60)

    with knowing(Odd("fetch", StopIteration())) as knowledge, pytest.raises(StoreError, match="could not be read"):
        asyncio.run(look(knowledge))


@pytest.mark.requirement("PORT-2")
def test_a_store_that_can_not_say_whether_it_is_whole_is_in_doubt() -> None:
    with knowing(Odd("doubt", KeyError("log"))) as knowledge:
        result = knowledge.lookup("signing key", mode="hybrid")
    assert [block.evidence_key for block in result.evidence] == ["ops#chunk-0", "ops#chunk-1"]
    assert result.degraded == ("store: it could not say whether it is whole: KeyError: 'log'",)


@pytest.mark.requirement("SCORE-1")
@pytest.mark.parametrize("number", [np.float32, np.float64, Fraction])
@pytest.mark.parametrize("paths", [("dense", "lexical"), ("lexical",)])
def test_numbers_of_another_kind_become_floats_that_json_can_write(
    number: Callable[[float], Any], paths: tuple[str, ...]
) -> None:
    settings = Settings.load(overrides={"retrieval.search.paths": paths})
    with Knowledge(Odd(number=number), EMBEDDER, settings) as knowledge:  # type: ignore[arg-type]  # as above
        result = knowledge.lookup("signing key", mode="hybrid")
    json.dumps([result.to_dict(), result.to_agent()])
    numbers = [number for block in result.evidence for number in (block.similarity, *(r.score for r in block.reasons))]
    assert {type(each) for each in numbers} == {float}


@pytest.mark.requirement("ID-1")
def test_by_its_key_no_other_chunk_is_shown_and_nothing_that_is_none() -> None:
    store = Odd()
    with knowing(store) as knowledge, store.store.snapshot() as view:
        other = view.fetch(["ops#chunk-1"])["ops#chunk-1"]
        for lie in (
            lambda found: dict.fromkeys(found, other),
            lambda found: dict.fromkeys(found, "text"),
            dict.fromkeys,
        ):
            store.lie = lie
            with pytest.raises(UnknownEvidence):
                knowledge.show("ops#chunk-0")
        store.lie = list
        with pytest.raises(StoreError, match="chunks were answered as"):
            knowledge.show("ops#chunk-0")
