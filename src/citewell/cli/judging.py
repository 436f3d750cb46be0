"""A Knowledge made ready to be judged: a store to ask, a system for each choice of settings, answers in plain values.

Every question is embedded once, whatever the number of systems, and that time is kept apart from the lookup's. It
knows no measure.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.app.embed_once import EmbedOnce
from citewell.cli import reports
from citewell.errors import EmbedderError, InvalidRequest
from citewell.evaluation.model import Answer, Dataset
from citewell.projection import token_bound

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from citewell.app import Knowledge
    from citewell.config import Settings
    from citewell.evaluation.run import Ask
    from citewell.evaluation.spans import Span
    from citewell.lookup import LookupResult
    from citewell.model import IngestReport
    from citewell.ports import Embedder


class Remembered(EmbedOnce):
    """An embedder that remembers every question, and what each took, in milliseconds."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._questions: dict[str, NDArray[np.float32]] = {}
        self._took: dict[str, float] = {}
        self.asked = 0

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the embedder does, or did before; a copy each time."""
        self.asked += 1
        return self._once(text).copy()

    def prepare(self, text: str) -> float | None:
        """Embed a question before it is asked, and say what that took; None if it can't be embedded."""
        with contextlib.suppress(EmbedderError):  # whoever needs it will say so
            self._once(text)
        return self._took.get(text)

    def _once(self, text: str) -> NDArray[np.float32]:
        if text not in self._questions:
            began = time.perf_counter()
            self._questions[text] = self._embedder.embed_query(text)
            self._took[text] = (time.perf_counter() - began) * 1000
        return self._questions[text]


@dataclass(frozen=True, slots=True)
class Bench:
    """A store that is to be judged.

    Attributes:
        knowledge: open on it.
        location: of it.
        embedder: for all systems.
        report: of what was ingested; None where the store was there before.
    """

    knowledge: Knowledge
    location: str
    embedder: Remembered
    report: IngestReport | None = None

    def stored(self) -> dict[str, int]:
        """How many chunks each document has, by id."""
        return {info.doc_id: info.chunks for info in self.knowledge.documents()}

    def facts(self) -> dict[str, object]:
        """What the store holds, the embedder, and which documents of the dataset could not be read, with the reason."""
        status, files = self.knowledge.status(), () if self.report is None else self.report.files
        return {
            "documents": status.documents,
            "chunks": status.chunks,
            "embedder": self.embedder.name,
            "failed": {file.doc_id: file.detail for file in files if file.status == "failed"},
        }

    def chunks(self, doc_id: str) -> Mapping[str, Span]:
        """The spans of a document's chunks by evidence key."""
        blocks = self.knowledge.read_document(doc_id).evidence
        return {block.evidence_key: block.span for block in blocks if block.span is not None}

    def texts(self, doc_id: str) -> Mapping[str, str]:
        """The texts of a document's chunks by evidence key."""
        return {block.evidence_key: block.text for block in self.knowledge.read_document(doc_id).evidence}

    @contextmanager
    def system(self, settings: Settings, *, depth: int, first: Sequence[str]) -> Iterator[Ask]:
        """What answers questions under these settings, `depth` blocks each; warmed up with the first questions."""
        from citewell.app import Knowledge

        with Knowledge.open(self.location, settings=settings, embedder=self.embedder, create=False) as knowledge:
            before = self.embedder.asked
            for text in first:
                with contextlib.suppress(InvalidRequest):
                    knowledge.lookup(text, return_n=depth)
            embeds = self.embedder.asked > before
            yield partial(self._ask, knowledge, depth, embeds)

    def _ask(self, knowledge: Knowledge, depth: int, embeds: bool, text: str) -> Answer:
        embedding = self.embedder.prepare(text.strip()) if embeds else None
        began = time.perf_counter()
        result = knowledge.lookup(text, return_n=depth)
        took = (time.perf_counter() - began) * 1000
        shown = knowledge.settings.lookup.return_n
        spent = took - only_for_depth(result, shown)
        return as_answer(result, shown=shown, milliseconds=spent, embed_milliseconds=embedding)


@contextmanager
def bench(dataset: Dataset, kb: str | None, settings: Settings, *, quiet: bool) -> Iterator[Bench]:
    """The store that is named, as it is; without one, a store of the dataset's documents that is gone afterwards.

    Raises:
        InvalidRequest: no store is named, and the dataset has no documents.
    """
    from citewell.app import Knowledge

    if kb is not None:
        with Knowledge.open(kb, settings=settings, create=False) as knowledge:
            yield Bench(knowledge, kb, Remembered(knowledge.embedder))
        return
    if dataset.folder is None and not dataset.documents:
        raise InvalidRequest(
            f"{dataset.name} has questions alone, no documents",
            way_out="Name the store to judge with --kb, or add docs/ or a corpus.jsonl.",
        )
    with tempfile.TemporaryDirectory(prefix="citewell-eval-") as temporary:
        location = str(Path(temporary) / "kb")
        with Knowledge.open(location, settings=settings) as knowledge:
            report = _fill(knowledge, dataset, quiet=quiet)
            yield Bench(knowledge, location, Remembered(knowledge.embedder), report)


def as_answer(
    result: LookupResult, *, shown: int, milliseconds: float = 0.0, embed_milliseconds: float | None = None
) -> Answer:
    """A lookup's result as it is judged; what an agent gets to see of it are the first `shown` blocks."""
    blocks = result.evidence
    return Answer(
        keys=tuple(block.evidence_key for block in blocks),
        documents=tuple(block.doc_id for block in blocks),
        spans=tuple(block.span for block in blocks),
        digests=tuple(block.digest or block.text for block in blocks),
        shown=shown,
        tokens=_tokens(replace(result, evidence=blocks[:shown])),
        milliseconds=milliseconds,
        embed_milliseconds=embed_milliseconds,
        degraded=result.degraded,
    )


def only_for_depth(result: LookupResult, shown: int) -> float:
    """Milliseconds of a refill that no lookup of `shown` blocks would have made: it had enough without (POST-7)."""
    refill = result.trace.refill
    if refill is None or len(result.evidence) - len(refill) < shown:
        return 0.0
    return result.trace.milliseconds.get("refill", 0.0)


def _tokens(result: LookupResult) -> int:
    """What a language model pays for it: the agent's projection as JSON, by the bound that needs no tokenizer."""
    return token_bound(json.dumps(result.to_agent(), ensure_ascii=False, separators=(",", ":")))


def _fill(knowledge: Knowledge, dataset: Dataset, *, quiet: bool) -> IngestReport:
    with reports.progress_bar(quiet=quiet) as progress:
        if dataset.folder is not None:
            return knowledge.ingest(dataset.folder, progress=progress)
        return knowledge.ingest_documents(dataset.documents, progress=progress)
