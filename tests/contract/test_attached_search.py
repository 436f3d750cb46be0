"""A search over an attached collection keeps the search port's contract, however its metadata is laid out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from foreign_collections import LAYOUTS, MAPS, Passage, fill

from citewell.adapters.memory_sessions import MemorySessions
from citewell.adapters.milvus.client import Client
from citewell.adapters.milvus.foreign import AttachedStore, inspect, parse_assignments, write_attachment
from citewell.model import Mode, Reuse, SearchRequest
from citewell.ports import KnowledgeSearchPort
from citewell.search import StoreSearch
from citewell.testing import SearchPortContract
from citewell.testing.samples import Sample
from citewell.testing.search_base import WIDE, ask, both_modes
from citewell.testing.search_corpus import LAMP
from citewell.testing.store_base import key

Make = Callable[[Sequence[Sample]], StoreSearch]


class Suite(SearchPortContract):
    """Writes the suite's samples as another tool would, and attaches the collection."""

    layout: ClassVar[str]

    @pytest.fixture(scope="class")
    @classmethod
    def uri(cls, tmp_path_factory: pytest.TempPathFactory) -> str:
        return f"milvus:{tmp_path_factory.mktemp('theirs') / 'theirs.db'}"

    @pytest.fixture(scope="class")
    @classmethod
    def make_port(cls, uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
        """The same collection for all tests of a class: nothing writes to it."""
        opened: dict[tuple[str, ...], tuple[StoreSearch, AttachedStore, str]] = {}
        client = Client(uri, timeout_s=60)

        def make(samples: Sequence[Sample]) -> StoreSearch:
            asked = tuple(sample.doc_id for sample in samples)
            if asked not in opened:
                opened[asked] = cls._attached(client, samples, tmp_path_factory.mktemp("attached"))
            return opened[asked][0]

        yield make
        for port, store, name in opened.values():
            port.close()
            store.close()
            client.call("drop_collection", name)
        client.close()

    @classmethod
    def _attached(
        cls, client: Client, samples: Sequence[Sample], folder: Path
    ) -> tuple[StoreSearch, AttachedStore, str]:
        name = f"theirs_{uuid.uuid4().hex[:8]}"
        fill(client, name, LAYOUTS[cls.layout], [*cls._passages(samples)])
        look = inspect(client.location, name, parse_assignments(MAPS[cls.layout]), cls.embedder)
        write_attachment(folder, look.attachment)
        store = AttachedStore.open(folder, MemorySessions())
        return StoreSearch(store, cls.embedder), store, name

    @both_modes
    def test_a_hit_keeps_the_identity_and_the_data_of_its_chunk(self, port: KnowledgeSearchPort, mode: Mode) -> None:
        """As in every store, but that the metadata of a foreign row is all that the row says."""
        (sample,) = [sample for sample in self.corpus() if sample.doc_id == "long"]
        hits = {hit.evidence_key: hit for hit in ask(port, SearchRequest(LAMP, WIDE, mode, "ops")).hits}
        for index, text in enumerate(sample.texts):
            hit = hits[key("long", index)]
            assert (hit.doc_id, hit.chunk_index, hit.text) == ("long", index, text)
            assert (hit.category, hit.scope, hit.source) == (sample.category, sample.scope, "long")
            assert {name: repr(hit.metadata[name]) for name in sample.metadata} == {
                name: repr(value) for name, value in sample.metadata.items()
            }

    @classmethod
    def _passages(cls, samples: Sequence[Sample]) -> Iterator[Passage]:
        for sample in samples:
            change = sample.change(embedder=cls.embedder)
            for chunk, vector in zip(change.chunks, change.vectors, strict=True):
                assert not isinstance(vector, Reuse)
                yield Passage(
                    sample.doc_id, chunk.chunk_index, chunk.text, vector, sample.category,
                    sample.scope, sample.metadata, sample.title, chunk.span[0],
                )  # fmt: skip


@pytest.mark.requirement("ENGINE-3")
class TestJsonMetadata(Suite):
    layout = "json"


@pytest.mark.requirement("ENGINE-3")
class TestMetadataAsJsonText(Suite):
    layout = "json-text"


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-3")
class TestFieldsOfTheRowsOwn(Suite):
    layout = "langchain-dynamic"


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-3")
class TestPlainFieldsAndArrays(Suite):
    layout = "plain"


@pytest.mark.requirement("ENGINE-3")
class TestBm25OfTheEngine(Suite):
    layout = "bm25"


@pytest.mark.slow
@pytest.mark.requirement("ENGINE-3")
class TestJsonMetadataOnAServer(Suite):
    layout = "json"

    @pytest.fixture(scope="class")
    @classmethod
    def uri(cls, running_milvus: object) -> str:
        uri: str | None = getattr(running_milvus, "uri", None)
        if uri is None:
            pytest.skip(str(running_milvus))
        return uri


del Suite  # pytest would collect it as well
