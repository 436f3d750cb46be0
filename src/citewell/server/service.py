"""What callers of HTTP may ask of a Knowledge, with their scope applied here and nowhere else (SAFE-3, API-4).

Arguments come as mappings whose names are known; what they hold, the library's own admission checks. It knows no
request and no route; all of it blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from citewell.admission import admit_scope
from citewell.checks import check_count, check_text, refusal
from citewell.errors import CitewellError, Forbidden, InvalidRequest, UnknownEvidence
from citewell.identity import check_doc_id
from citewell.model import Document, DocumentInfo, RawDocument
from citewell.scope import is_visible
from citewell.server import discreet

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.ingest import Progress
    from citewell.model import IngestReport
    from citewell.server.apart import Apart
    from citewell.server.callers import Caller

    Work = Callable[[Callable[[Progress], None]], IngestReport]

Arguments = Mapping[str, Any]

MAX_LISTED = 1_000
"""The most documents on a page of the list."""

_LISTED = 100

MAX_ANSWER = 200_000
"""The most characters of an answer whose citations are checked."""

MAX_IDS = 2_000
"""The most ids of a list that is checked; with answers of that length, a check takes a second at most."""


@dataclass(frozen=True, slots=True)
class Service:
    """The use cases over one Knowledge; safe to use from several threads.

    Attributes:
        elsewhere: ingests instead of the Knowledge, if there is one.
    """

    knowledge: Knowledge
    elsewhere: Apart | None = None

    def lookup(self, caller: Caller, arguments: Arguments) -> dict[str, object]:
        """Evidence for a question: `to_agent` with `agent`, else `to_dict`."""
        given = dict(arguments)
        as_agent = check_switch("agent", given.pop("agent", False))
        query, scope = check_text("query", given.pop("query", None)), caller.narrowed(given.pop("scope", None))
        session = caller.session(given.pop("session", None))
        found = discreet.found(self.knowledge.lookup(query, scope=scope, session=session, **given), caller)
        return found.to_agent() if as_agent else found.to_dict()

    def read(self, caller: Caller, key: str, arguments: Arguments) -> dict[str, object]:
        """A chunk and its neighbours, as a lookup's result."""
        given = dict(arguments)
        as_agent = check_switch("agent", given.pop("agent", False))
        scope, session = caller.narrowed(given.pop("scope", None)), caller.session(given.pop("session", None))
        found = discreet.found(self.knowledge.read(key, scope=scope, session=session, **given), caller)
        return found.to_agent() if as_agent else found.to_dict()

    def check(self, caller: Caller, arguments: Arguments) -> dict[str, object]:
        """What the guard says of an answer, or of a list of ids."""
        given = dict(arguments)
        answer = given.pop("answer", None)
        if not isinstance(answer, str | list):
            raise refusal("answer", answer, "the answer's text, or a list of ids")
        check_size(answer)
        scope, session = caller.narrowed(given.pop("scope", None)), caller.session(given.pop("session", None))
        strict = check_switch("strict", given.pop("strict", False))
        return self.knowledge.check(answer, scope=scope, session=session, strict=strict, **given).to_dict()

    def documents(self, caller: Caller, arguments: Arguments) -> dict[str, object]:
        """A page of the documents that the caller may see, by id, and the `after` of the next page."""
        limit = check_count("limit", arguments.get("limit", _LISTED), least=1, most=MAX_LISTED)
        after = check_text("after", arguments.get("after", ""))
        page = list(islice(self._visible(caller, arguments.get("scope"), after), limit + 1))
        more = page[limit - 1].doc_id if len(page) > limit else None
        return {"documents": [_shown(info, caller).to_dict() for info in page[:limit]], "next": more}

    def delete(self, caller: Caller, doc_id: str) -> dict[str, object]:
        """Remove a document, all of whose labels the caller must hold.

        Raises:
            UnknownEvidence: there is none that the caller may see.
            Forbidden: the caller may not change documents, or not this one.
        """
        caller.check_ingest()
        record = self.knowledge.document(doc_id, scope=caller.scope)
        if not _holds_all(caller, record.scope):
            raise Forbidden(
                "the document bears a label that this token doesn't hold",
                way_out="Use a token that holds all labels of the document.",
            )
        removed = self.knowledge.delete(record.doc_id)
        if not removed:
            raise UnknownEvidence(f"there is no document {doc_id!r}", way_out="Give an id that a list of them has.")
        return {"doc_id": record.doc_id, "chunks": removed}

    def filling(self, caller: Caller, documents: Iterable[Document | RawDocument]) -> tuple[list[str], Work]:
        """The ids of the documents as they will be stored, and what stores them.

        A caller who holds a scope gives its documents labels of it, all of them unless it says which, and writes under
        its own name: ids are the store's, and so nobody overwrites another's document or learns that an id is taken.

        Raises:
            Forbidden: the caller may not change documents, hands out a label that it doesn't hold, or would replace a
                document whose labels it doesn't hold.
            InvalidRequest: there is no document, or an id or a scope can't be used.
        """
        caller.check_ingest()
        taken = [self._own(caller, document) for document in documents]
        if not taken:
            raise InvalidRequest("there is no document to ingest", way_out="Give at least one.")
        ingest = self.knowledge.ingest_documents if self.elsewhere is None else self.elsewhere.ingest_documents
        fill = partial(ingest, taken, apart=caller.scope is not None)

        def work(progress: Callable[[Progress], None]) -> IngestReport:
            try:
                return fill(progress=progress)
            except CitewellError as error:
                raise discreet.told(error, caller) from error

        return [document.doc_id for document in taken], work

    def _own(self, caller: Caller, document: Document | RawDocument) -> Document | RawDocument:
        labels = caller.narrowed(document.scope)
        if caller.scope is None:
            return replace(document, doc_id=check_doc_id(document.doc_id), scope=labels)
        if not labels:
            raise Forbidden("this token's documents bear at least one label", way_out="Leave `scope` out.")
        doc_id = check_doc_id(f"{quote(caller.name, safe='')}/{check_doc_id(document.doc_id)}")
        if not _holds_all(caller, self._labels(doc_id)):
            raise Forbidden(
                f"this token may not replace {doc_id!r}", way_out="Use a token that holds all labels of the document."
            )
        return replace(document, doc_id=doc_id, scope=labels)

    def _labels(self, doc_id: str) -> tuple[str, ...] | None:
        """Of a stored document; none of one that isn't there, which anybody may make."""
        try:
            return self.knowledge.document(doc_id).scope or (_NOBODYS,)
        except UnknownEvidence:
            return None

    def _visible(self, caller: Caller, asked: object, after: str) -> Iterator[DocumentInfo]:
        required = self.knowledge.settings.store.require_scope
        scope = admit_scope(caller.narrowed(asked), require_scope=required)
        listed = self.knowledge.documents()
        return (info for info in listed if info.doc_id > after and is_visible(info.scope, scope))


_NOBODYS = ""
"""Stands for the label of a document that bears none: no label is blank, so that no caller holds it."""


def check_switch(name: str, value: object) -> bool:
    """True or false.

    Raises:
        InvalidRequest: it is something else.
    """
    if not isinstance(value, bool):
        raise refusal(name, value, "true or false")
    return value


def check_size(answer: Sequence[object]) -> None:
    """Refuse what would take a thread, and Python's lock with it, from all other callers.

    Raises:
        InvalidRequest: it is a longer text, or a longer list of ids, than is checked at once.
    """
    most, what = (MAX_ANSWER, "characters") if isinstance(answer, str) else (MAX_IDS, "ids")
    if len(answer) > most:
        raise InvalidRequest(
            f"an answer of {len(answer)} {what} is not checked at once", way_out=f"Give at most {most} {what}."
        )


def _holds_all(caller: Caller, labels: Sequence[str] | None) -> bool:
    return caller.scope is None or set(labels or ()) <= set(caller.scope)


def _shown(info: DocumentInfo, caller: Caller) -> DocumentInfo:
    """Without labels that the caller doesn't hold: whom else a document is for is not its business."""
    if caller.scope is None or info.scope is None:
        return info
    return replace(info, scope=tuple(label for label in info.scope if label in caller.scope))
