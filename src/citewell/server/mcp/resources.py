"""Passages and documents as resources: listed, read and completed within what the caller may see (SAFE-1).

It knows Knowledge and URIs; what is read is shown, and recorded, as a tool would show it. All of it blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from mcp_types import Completion, Resource, ResourceTemplate, TextResourceContents

from citewell.admission import admit_scope
from citewell.errors import InvalidRequest
from citewell.identity import format_key
from citewell.projection import foreign, printable, to_text
from citewell.scope import is_visible
from citewell.server.discreet import found
from citewell.server.mcp.answers import on_wire
from citewell.server.mcp.uris import DOCUMENT, EVIDENCE, document_uri, place_of

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.model import DocumentInfo
    from citewell.server.callers import Caller

MAX_LISTED: Final = 1_000
"""The most documents that a list of resources names; templates and completions reach the others."""

MAX_COMPLETIONS: Final = 100
"""The most values that the protocol lets a completion have."""

_KIND: Final = "text/plain"

TEMPLATES: Final = (
    ResourceTemplate(
        uri_template=EVIDENCE + "{key}",
        name="evidence",
        title="A passage",
        description="One passage by its evidence key, such as etcd.md#chunk-2, percent-encoded.",
        mime_type=_KIND,
    ),
    ResourceTemplate(
        uri_template=DOCUMENT + "{id}",
        name="document",
        title="A document",
        description="A document's passages in reading order, by its document id, percent-encoded.",
        mime_type=_KIND,
    ),
)


def listed(knowledge: Knowledge, caller: Caller) -> list[Resource]:
    """The first MAX_LISTED documents that the caller may see, ordered by id."""
    return [_resource(info) for info in islice(_visible(knowledge, caller), MAX_LISTED)]


def read(knowledge: Knowledge, caller: Caller, session: str | None, uri: str) -> TextResourceContents:
    """A passage or a document as text in which it can't pass for anything but data; recorded in the session.

    Raises:
        InvalidRequest: the URI is none of ours.
        UnknownEvidence: there is no such thing within the caller's scope; outside it reads the same.
    """
    place, scope = place_of(uri), caller.narrowed(None)
    if place.kind == "evidence":
        read = knowledge.read(place.name, scope=scope, session=session)
    else:
        read = knowledge.read_document(place.name, scope=scope, session=session)
    return TextResourceContents(uri=uri, mime_type=_KIND, text=on_wire(to_text(found(read, caller).to_agent())))


def completed(knowledge: Knowledge, caller: Caller, template: str, argument: str, begun: str) -> Completion:
    """Document ids, or evidence keys, that begin so, within what the caller may see; the first MAX_COMPLETIONS.

    Raises:
        InvalidRequest: there is no such template, or it has no such argument.
    """
    names = {(EVIDENCE + "{key}", "key"): _keys, (DOCUMENT + "{id}", "id"): _ids}.get((template, argument))
    if names is None:
        raise InvalidRequest(
            f"{template!r} has no argument {argument!r}",
            way_out=f"There are {', '.join(known.uri_template for known in TEMPLATES)}.",
        )
    named = (name for info in _visible(knowledge, caller) for name in names(info, begun) if name.startswith(begun))
    values = list(islice(named, MAX_COMPLETIONS + 1))
    return Completion(values=on_wire(values[:MAX_COMPLETIONS]), has_more=len(values) > MAX_COMPLETIONS)


def _ids(info: DocumentInfo, _begun: str) -> Iterator[str]:
    yield info.doc_id


def _keys(info: DocumentInfo, begun: str) -> Iterator[str]:
    """The keys of a document's chunks; none if the document's own id says that none begins so."""
    shared = min(len(begun), len(info.doc_id))
    if info.chunks and (begun.startswith("doc:") or begun[:shared] == info.doc_id[:shared]):
        yield from (format_key(info.doc_id, index) for index in range(info.chunks))


def _visible(knowledge: Knowledge, caller: Caller) -> Iterator[DocumentInfo]:
    scope = admit_scope(caller.narrowed(None), require_scope=knowledge.settings.store.require_scope)
    return (info for info in knowledge.documents() if is_visible(info.scope, scope))


def _resource(info: DocumentInfo) -> Resource:
    title = " ".join(foreign(info.title).split())
    return Resource(
        uri=document_uri(info.doc_id),
        name=on_wire(printable(info.doc_id)),
        title=title or None,
        mime_type=_KIND,
        size=info.characters,
    )
