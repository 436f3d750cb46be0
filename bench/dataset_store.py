"""A store of a dataset's own documents, ingested with default settings, and how it is asked; knows no question."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from citewell import Knowledge
from citewell.evaluation.model import Dataset

PATIENT: Mapping[str, object] = {"retrieval.search.timeout": 3_600}
"""With it a lookup waits, where otherwise it would go on without a path: on a busy machine that is another figure."""


def patient() -> dict[str, str]:
    """The same as this process's environment, for commands."""
    return {**os.environ, "CITEWELL_RETRIEVAL__SEARCH__TIMEOUT": "3600"}


def fill(location: Path, dataset: Dataset) -> None:
    """Ingest the documents, unless there is a store already."""
    if location.exists():
        return
    with Knowledge.open(location) as knowledge:
        if dataset.folder is not None:
            knowledge.ingest(dataset.folder)
        else:
            knowledge.ingest_documents(dataset.documents)
