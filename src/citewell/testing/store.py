"""The contract that every store keeps: subclass, override one fixture, run pytest (PORT-6).

    from citewell.testing import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            store = MyStore(tmp_path)
            yield store
            store.close()

        def reopen(self, store):          # only if the engine keeps its contents
            store.close()
            return MyStore(store.location)

Its parts can be run alone while an engine grows. It speaks to `citewell.ports.Store` only and knows no engine.
"""

from __future__ import annotations

from citewell.testing.store_changes import Changes
from citewell.testing.store_concurrency import Snapshots, Threads
from citewell.testing.store_filters import CombinedFilters, SingleFilters
from citewell.testing.store_life import Bindings, Catalogues, EmptyStores, Lifetimes
from citewell.testing.store_paths import DensePaths, LexicalPaths, Similarities
from citewell.testing.store_sessions import StoreSessions
from citewell.testing.store_values import HostileValues, RoundTrips
from citewell.testing.store_writes import Conflicts, Deletions, Replacements


class StoreContract(
    EmptyStores,
    Bindings,
    Replacements,
    Conflicts,
    Deletions,
    Catalogues,
    Changes,
    Lifetimes,
    DensePaths,
    Similarities,
    LexicalPaths,
    SingleFilters,
    CombinedFilters,
    HostileValues,
    RoundTrips,
    Snapshots,
    Threads,
    StoreSessions,
):
    """Every sentence of `citewell.ports.Store`, `Snapshot` and `SessionStore`, as tests.

    Override the fixture `store`; `reopen` if the engine keeps its contents; `compact` if its lexical statistics need a
    call after deletions; `recall` and `statistics_tolerance` where it is exact, or can't be.
    """
