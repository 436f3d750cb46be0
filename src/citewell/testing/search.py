"""The contract that every KnowledgeSearchPort keeps: subclass, override one fixture, run pytest (PORT-6).

    from citewell.testing import SearchPortContract

    class TestMySearch(SearchPortContract):
        @pytest.fixture
        def make_port(self):
            def make(samples):
                engine = MyEngine(embedder=self.embedder)
                engine.write([sample.change(embedder=self.embedder) for sample in samples])
                return MySearch(engine)
            return make

Who has an engine filled already overrides the fixtures `port` and `empty_port` instead, and fills it with `corpus()`:
one chunk per text. The words of the corpus are the same before and after stemming, so any analysis will do.
"""

from __future__ import annotations

from citewell.testing.search_answers import Answers, HardFilters, Scores
from citewell.testing.search_modes import DenseModes, HybridModes


class SearchPortContract(DenseModes, HybridModes, Scores, HardFilters, Answers):
    """Every sentence of `citewell.ports.KnowledgeSearchPort` that can be seen from outside, as tests.

    What a port does when a path fails can't be provoked from outside; whoever writes one tests it beside this suite.
    """
