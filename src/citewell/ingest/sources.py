"""What a caller hands over -> sources: files that a walk found, and Documents; each fault becomes a report.

Knows the arguments and the readers, neither store nor embedder.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

from citewell.admission import check_category, check_labels
from citewell.checks import shown
from citewell.errors import CitewellError, IngestError, InvalidRequest
from citewell.identity import check_doc_id
from citewell.ingest.files import read_file
from citewell.ingest.outcomes import Source
from citewell.ingest.walk import File
from citewell.model import Document, FileReport, RawDocument, Text
from citewell.ports import Reader

Texts = Mapping[str, Callable[[str], Text]]
"""By the format of a Document."""


def file_source(file: File, reader: Reader, category: str | None, scope: tuple[str, ...] | None) -> Source:
    """A file as a source; its bytes are read when it is its turn."""
    return Source(
        doc_id=file.doc_id,
        load=partial(read_file, file.path),
        read=partial(_read_file, reader, file.path.name),
        fallback_title=unicodedata.normalize("NFC", file.path.stem),
        source=file.source,
        category=category,
        scope=scope,
        root=file.root,
        path=file.source,
    )


def _read_file(reader: Reader, name: str, data: bytes) -> Text:
    return reader.read(data, name)


def document_sources(
    documents: Iterable[Document | RawDocument], texts: Texts, reader: Reader
) -> Iterator[Source | FileReport]:
    """Each document as a source, or the report on what is wrong with it; lazily, in the order given."""
    seen: set[str] = set()
    for number, document in enumerate(documents):
        try:
            if isinstance(document, RawDocument):
                source = _raw_source(document, reader)
            else:
                source = _document_source(document, texts)
            if source.doc_id in seen:
                raise IngestError(
                    f"the document {shown(source.doc_id)} was given twice", way_out="Give each document once."
                )
        except CitewellError as error:
            yield FileReport(_shown_id(document, number), "failed", detail=str(error))
        else:
            seen.add(source.doc_id)
            yield source


def _shown_id(document: object, number: int) -> str:
    given = getattr(document, "doc_id", "")
    doc_id = given.strip() if isinstance(given, str) else shown(given)
    return doc_id.encode("utf-8", "backslashreplace").decode("utf-8") or f"(document {number})"


def _raw_source(document: RawDocument, reader: Reader) -> Source:
    doc_id, data = check_doc_id(document.doc_id), document.data
    if not isinstance(data, bytes):
        raise InvalidRequest(f"the data of {shown(doc_id)} is {type(data).__name__}, not bytes")
    _check_written(document, ("doc_id", "source"))
    name = PurePosixPath(doc_id)
    return Source(
        doc_id=doc_id,
        load=lambda: data,
        read=partial(_read_file, reader, name.name),
        fallback_title=name.stem,
        source=document.source,
        category=check_category(document.category),
        scope=check_labels(document.scope),
    )


def _document_source(document: Document, texts: Texts) -> Source:
    if not isinstance(document, Document):
        raise InvalidRequest(f"a document can't be {type(document).__name__}", way_out="Give citewell.Document values.")
    doc_id = check_doc_id(document.doc_id)
    _check_texts(document, doc_id, texts)
    return Source(
        doc_id=doc_id,
        load=partial(_bytes_of, document),
        read=partial(_read_document, document, texts[document.format]),
        title=" ".join(document.title.split()),
        source=document.source,
        category=check_category(document.category),
        scope=check_labels(document.scope),
        metadata=_json_values(document.metadata),
    )


def _check_texts(document: Document, doc_id: str, texts: Texts) -> None:
    for name in ("text", "title", "source"):
        value = getattr(document, name)
        if not isinstance(value, str):
            raise InvalidRequest(f"the {name} of {shown(doc_id)} is {type(value).__name__}, not text")
    given: object = document.format
    if not isinstance(given, str) or given not in texts:
        raise InvalidRequest(
            f"the format of {shown(doc_id)} can't be {shown(given)}",
            way_out=f"Choose one of {', '.join(texts)}.",
        )
    _check_written(document, ("doc_id", "title", "source"))


def _check_written(document: Document | RawDocument, names: Sequence[str]) -> None:
    for name in names:
        value = getattr(document, name)
        if name != "doc_id" and not isinstance(value, str):
            raise InvalidRequest(f"the {name} of {shown(_shown_id(document, 0))} is {type(value).__name__}, not text")
        try:
            str(value).encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidRequest(f"the {name} of {shown(_shown_id(document, 0))} holds a lone surrogate") from None


def _bytes_of(document: Document) -> bytes:
    return f"{document.format}\x00{document.text}".encode("utf-8", "surrogatepass")


def _read_document(document: Document, understand: Callable[[str], Text], data: bytes) -> Text:
    return understand(document.text)


def _json_values(metadata: object) -> dict[str, object]:
    """A copy that holds JSON values only, as a store keeps them."""
    if not isinstance(metadata, Mapping) or not all(isinstance(name, str) for name in metadata):
        raise InvalidRequest(
            f"metadata can't be {type(metadata).__name__}", way_out="Give a mapping with text as keys."
        )
    try:
        copied: dict[str, object] = json.loads(json.dumps(dict(metadata), allow_nan=False))
        json.dumps(copied, ensure_ascii=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            f"metadata can't be kept as JSON: {error}", way_out="Use text, numbers, lists and mappings."
        ) from None
    return copied
