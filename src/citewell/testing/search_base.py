"""What every part of the search contract stands on: the fixtures, and the verbs to ask and to look at an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest

from citewell.model import Hit, Mode, PathReport, SearchRequest, SearchResponse
from citewell.ports import Embedder, KnowledgeSearchPort
from citewell.testing.fakes import HashEmbedder
from citewell.testing.samples import Sample
from citewell.testing.search_corpus import CORPUS
from citewell.testing.store_base import key

MODES: tuple[Mode, ...] = ("dense", "hybrid")
PATIENCE_S = 60.0
WIDE = 500
"""A width beyond the corpus."""

MakePort = Callable[[Sequence[Sample]], KnowledgeSearchPort]
both_modes = pytest.mark.parametrize("mode", MODES)


def ask(port: KnowledgeSearchPort, request: SearchRequest) -> SearchResponse:
    """Search, and hold what is true of every answer: identities, ranks and reports agree with one another."""
    response = port.search(request)
    keys = [hit.evidence_key for hit in response.hits]
    assert len(set(keys)) == len(keys), "an evidence key came twice"
    assert all(
        hit.evidence_key == key(hit.doc_id, hit.chunk_index)
        for hit in response.hits
        if hit.doc_id and hit.chunk_index is not None
    )
    for report in response.paths:
        ranks = sorted(reason.rank for hit in response.hits for reason in hit.reasons if reason.path == report.path)
        assert ranks == list(range(1, report.hits + 1)), f"the ranks of {report.path} have gaps or repeats"
        assert report.hits <= request.retrieve_k
        assert not report.cut or report.hits == request.retrieve_k
    assert {reason.path for hit in response.hits for reason in hit.reasons} <= {
        report.path for report in response.paths
    }
    assert all(hit.reasons for hit in response.hits), "a hit that no path found"
    return response


def report_of(response: SearchResponse, path: str) -> PathReport:
    """The one report on this path."""
    (report,) = [report for report in response.paths if report.path == path]
    return report


def found_by(response: SearchResponse, path: str) -> list[Hit]:
    """The hits of one path, by their rank there."""
    ranked = [(reason.rank, hit) for hit in response.hits for reason in hit.reasons if reason.path == path]
    return [hit for _, hit in sorted(ranked, key=lambda pair: pair[0])]


def documents(hits: Sequence[Hit]) -> set[str | None]:
    """The documents of these hits."""
    return {hit.doc_id for hit in hits}


class SearchSuite:
    """Where a search plugs in: override `make_port`, or both `port` and `empty_port`."""

    embedder: ClassVar[Embedder] = HashEmbedder(256)
    """What the corpus and the queries are embedded with; another one may break the tests that count on its vectors."""

    rrf_k: ClassVar[float] = 60
    """The constant of the fusion that the port was made with (RRF-1)."""

    @staticmethod
    def corpus() -> tuple[Sample, ...]:
        """The documents of the suite; `Sample.change` and `Sample.document` give them in the form that is wanted."""
        return CORPUS

    @pytest.fixture
    def make_port(self) -> MakePort:
        """Samples -> a port over exactly these documents."""
        raise NotImplementedError("override the fixture `make_port` and return a function from samples to a port")

    @pytest.fixture
    def port(self, make_port: MakePort) -> KnowledgeSearchPort:
        """A port over `corpus()`."""
        return make_port(self.corpus())

    @pytest.fixture
    def empty_port(self, make_port: MakePort) -> KnowledgeSearchPort:
        """A port over nothing."""
        return make_port(())
