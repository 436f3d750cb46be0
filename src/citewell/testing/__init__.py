"""Contract suites for those who write an engine, a search or an embedder, and fakes for those who test with one.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path): ...

The suites need pytest and hypothesis, and are loaded when they are asked for; the fakes need only numpy.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.testing.embedder import EmbedderContract
    from citewell.testing.reranker import RerankerContract
    from citewell.testing.search import SearchPortContract
    from citewell.testing.sessions import SessionContract
    from citewell.testing.store import StoreContract

__all__ = ["EmbedderContract", "RerankerContract", "SearchPortContract", "SessionContract", "StoreContract"]

_SUITES = (
    "embedder",
    "reranker",
    "search",
    "search_answers",
    "search_base",
    "search_modes",
    "sessions",
    "store",
    "store_base",
    "store_changes",
    "store_concurrency",
    "store_filters",
    "store_life",
    "store_paths",
    "store_sessions",
    "store_values",
    "store_writes",
)

_HOMES = {
    "EmbedderContract": "citewell.testing.embedder",
    "RerankerContract": "citewell.testing.reranker",
    "SearchPortContract": "citewell.testing.search",
    "SessionContract": "citewell.testing.sessions",
    "StoreContract": "citewell.testing.store",
}

# Within a pytest run, a failed assert of a suite shows its values as one in a test file does.
if "pytest" in sys.modules:
    sys.modules["pytest"].register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
