"""LanceDB with a graph over the vectors: one partition, scalar quantisation, its default search width."""

from __future__ import annotations

from pathlib import Path

import stack_lancedb
from peers_case import Case

PACKAGES = stack_lancedb.PACKAGES


class Stack(stack_lancedb.Stack):
    """The same table and searches; for large sets alone."""

    def build(self, case: Case, folder: Path) -> None:
        """On disk, then the index."""
        super().build(case, folder)
        self.table.create_index(metric="cosine", index_type="IVF_HNSW_SQ", num_partitions=1)
