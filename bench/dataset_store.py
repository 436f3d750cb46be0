"""A store of a dataset's own documents, ingested with default settings; knows no question and no label."""

from __future__ import annotations

from pathlib import Path

from citewell import Knowledge
from citewell.evaluation.model import Dataset


def fill(location: Path, dataset: Dataset) -> None:
    """Ingest the documents, unless there is a store already."""
    if location.exists():
        return
    with Knowledge.open(location) as knowledge:
        if dataset.folder is not None:
            knowledge.ingest(dataset.folder)
        else:
            knowledge.ingest_documents(dataset.documents)
