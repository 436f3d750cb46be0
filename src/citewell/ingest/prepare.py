"""One source -> what is to be done about it: nothing, a deletion, or a new version with its plan.

Reads, splits, analyses and compares; embeds nothing and writes nothing. Every fault of a source becomes its report.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from citewell.admission import check_category
from citewell.errors import CitewellError, IngestError
from citewell.ingest import split
from citewell.ingest.catalogue import Catalogue, Head
from citewell.ingest.embed import embedding_digest
from citewell.ingest.files import Unsettled
from citewell.ingest.fingerprint import digest, fingerprint, root_of
from citewell.ingest.moves import Contents, GivenUp
from citewell.ingest.outcomes import Gone, Moved, Outcome, Prepared, Source
from citewell.ingest.plan import diff
from citewell.ingest.visible import has_text
from citewell.model import Chunk, DocumentCopy, DocumentRecord, FileReport, Locator, StoredDocument, Text
from citewell.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = Mapping[str, NDArray[np.float32]]

Analyze = Callable[[str], list[str]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """How texts are split, and for whom; `analyzer` and `readers` are the versions of what made terms and texts."""

    embedder: Embedder
    analyze: Analyze
    analyzer: str
    readers: str
    target: int = split.TARGET
    maximum: int = split.MAXIMUM
    small: int = split.SMALL

    def facts(self) -> dict[str, object]:
        """What every stored form depends on, as JSON values."""
        identity = (self.embedder.name, self.embedder.dimensions, self.embedder.fingerprint, self.embedder.max_tokens)
        sizes = (self.target, self.maximum, self.small)
        return {"versions": [self.readers, split.VERSION, self.analyzer], "sizes": sizes, "embedder": identity}


class Preparation:
    """Prepares one source after the other; remembers their contents to tell equal ones.

    `stored` reads one document's stored version, `vectors` its vectors by context digest. Documents that are `leaving`
    will be deleted by this run, and those whose file goes while it runs, if they came from a root that is `pruned`.
    With `copies`, a leaving one that only moved is told as Moved.
    """

    def __init__(
        self,
        options: Options,
        catalogue: Catalogue,
        stored: Callable[[str], StoredDocument | None],
        vectors: Callable[[str], Vectors] = lambda _: {},
        *,
        leaving: Collection[str] = (),
        pruned: Collection[str] = (),
        copies: bool = False,
    ) -> None:
        self._copies = copies
        self._options, self._catalogue, self._stored, self._vectors = options, catalogue, stored, vectors
        self._facts, self._pruned = options.facts(), pruned
        self._terms = split.ContextTerms(options.analyze)
        self._contents = Contents(catalogue, leaving)
        self._given_up = GivenUp()

    @property
    def moved(self) -> Mapping[str, str]:
        """Of documents that are leaving: the one that has taken the text over."""
        return self._contents.moved

    def remark(self, doc_id: str, lost: Collection[str]) -> str:
        """What is to be said at the end of a run of a document whose text another one has or had."""
        return self._contents.remark(doc_id, lost)

    def prepare_anew(self, moved: Moved) -> Outcome:
        """What is to be done about a source whose stored document could not be taken along."""
        self._copies = False
        return self.prepare(moved.source)

    def prepare(self, source: Source) -> Outcome:
        """What is to be done about a source; never raises for what is wrong with the source itself."""
        try:
            return self._prepare(source)
        except CitewellError as error:
            if not isinstance(error, IngestError | ValueError):
                raise
            return FileReport(source.doc_id, "failed", detail=str(error))
        except FileNotFoundError:
            return self._vanished(source)
        except Unsettled:
            return self._kept(source, "it changes while it is read; the next run takes it")
        except OSError as error:
            return FileReport(source.doc_id, "failed", detail=f"it can't be read: {error.strerror or error}")

    def _vanished(self, source: Source) -> Outcome:
        """A file that went between walk and reading is as gone as one that the walk didn't meet."""
        head = self._catalogue.head(source.doc_id)
        if head and source.root in self._pruned and root_of(head.fingerprint) == source.root:
            return Gone(source.doc_id, "its file is gone")
        return self._kept(source, "its file went before it could be read")

    def _kept(self, source: Source, detail: str) -> FileReport:
        head = self._catalogue.head(source.doc_id)
        return FileReport(source.doc_id, "skipped", head.chunks if head else 0, detail=detail)

    def _prepare(self, source: Source) -> Outcome:
        head = self._catalogue.head(source.doc_id)
        if head is not None:
            _refuse_second_root(source, root_of(head.fingerprint))
        data = source.load()
        mark = fingerprint(data, self._facts | _facts(source), root=source.root)
        if head is not None and head.fingerprint == mark:
            return FileReport(source.doc_id, "unchanged", head.chunks)
        moved = self._moved(source, data, mark) if self._copies and head is None and source.path else None
        if moved is not None:
            return moved
        text = _understood(partial(source.read, data))
        if not has_text(text.text, text.start):
            detail = "; ".join(text.remarks) or ("there is no text in it" if text.text else "it is empty")
            self._give_up(head)
            self._contents.went(source.doc_id)
            return Gone(source.doc_id, detail) if head else FileReport(source.doc_id, "no_text", detail=detail)
        record, chunks, subjects = _understood(partial(self._new_version, source, text, mark))
        if head is None or head.content_digest != record.content_digest:
            self._give_up(head)
        others = self._vectors_of(record, head)
        plan = diff(self._stored(source.doc_id) if head else None, record, chunks, others)
        return Prepared(plan, subjects, text.remarks, others)

    def _moved(self, source: Source, data: bytes, mark: str) -> Moved | None:
        """The stored document that this file was, under another path, when it was ingested in just this way."""
        for old in self._contents.leaving_with(source.path):
            facts = self._facts | _facts(replace(source, source=old.source))
            if fingerprint(data, facts, root=root_of(old.fingerprint)) != old.fingerprint:
                continue
            stored = self._stored(old.doc_id)
            if stored is not None and stored.record.fingerprint == old.fingerprint:
                record = replace(stored.record, doc_id=source.doc_id, source=source.source, fingerprint=mark)
                self._contents.take_over(old, source.doc_id)
                return Moved(source, DocumentCopy(record, old.doc_id, stored.version), len(stored.context_digests))
        return None

    def _give_up(self, head: Head | None) -> None:
        """Keep the vectors of a version that goes: its text may come up under another name."""
        if head is not None:
            self._given_up.keep(head.content_digest, self._vectors(head.doc_id))

    def _vectors_of(self, record: DocumentRecord, head: Head | None) -> Vectors:
        """Of a document with the same text."""
        twin = self._contents.twin(record, head)
        return self._vectors(twin) if twin is not None else self._given_up.of(record.content_digest)

    def _new_version(
        self, source: Source, text: Text, mark: str
    ) -> tuple[DocumentRecord, tuple[Chunk, ...], tuple[str, ...]]:
        parts = self._split(text, source.title or text.title or "", source.fallback_title)
        record = DocumentRecord(
            doc_id=source.doc_id,
            title=parts.title,
            source=source.source or source.doc_id,
            category=source.category if source.category is not None else check_category(text.category),
            scope=source.scope or None,
            metadata={**text.metadata, **source.metadata},
            headings=parts.headings,
            fingerprint=mark,
            content_digest=digest(text.text[text.start :]),
        )
        chunks = tuple(self._chunk(index, passage, text) for index, passage in enumerate(parts.passages))
        return record, chunks, tuple(passage.subject for passage in parts.passages)

    def _split(self, text: Text, title: str, fallback_title: str) -> split.Split:
        options = self._options
        return split.split(
            text.text,
            format=text.format,
            title=title,
            fallback_title=fallback_title,
            start=text.start,
            markdown_from=text.markdown_from,
            headings=text.headings,
            target=options.target,
            maximum=options.maximum,
            small=options.small,
            max_tokens=options.embedder.max_tokens,
            count_tokens=getattr(options.embedder, "count_tokens", None),
        )

    def _chunk(self, index: int, passage: split.Passage, text: Text) -> Chunk:
        return Chunk(
            chunk_index=index,
            text=passage.text,
            breadcrumb=passage.breadcrumb,
            span=passage.span,
            locator=_locator(passage, text),
            digest=digest(passage.text),
            context_digest=embedding_digest(passage.subject, passage.text),
            terms=self._terms.of(passage.heading, passage.text),
        )


def _facts(source: Source) -> dict[str, object]:
    """What the caller says of a source, as JSON values."""
    return {
        "title": [source.title, source.fallback_title],
        "source": source.source,
        "category": source.category,
        "scope": list(source.scope) if source.scope is not None else None,
        "metadata": dict(source.metadata),
    }


def _refuse_second_root(source: Source, other: str) -> None:
    """The same path under another folder is another document, as long as the first one is still there."""
    if not source.root or not other or other == source.root:
        return
    first = Path(other) / source.path
    if first.exists() and not first.samefile(Path(source.root) / source.path):
        raise IngestError(
            f"{source.doc_id!r} is stored already, from the folder {other!r}",
            way_out="Give one of the folders a prefix to set them apart.",
        )


def _understood(work: Callable[[], T]) -> T:
    try:
        return work()
    except CitewellError:
        raise
    except (
        Exception
    ) as error:  # the one translating edge: a parser may fail on anything, and one file must not stop all
        raise IngestError(f"it can't be understood: {type(error).__name__}: {error}") from error


def _locator(passage: split.Passage, text: Text) -> Locator:
    if not text.places:
        return Locator(line=passage.line)
    index = bisect_right(text.places, passage.span[0], key=lambda place: place[0]) - 1
    return text.places[max(index, 0)][1]
