"""What a request holds becomes arguments: names that are known, without those that are null (API-8).

What an argument may hold is not checked here: the library does that. It knows JSON, forms and query strings.
"""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from citewell.admission import check_category, check_names
from citewell.checks import check_mapping, check_text, refusal, shown
from citewell.errors import InvalidRequest
from citewell.model import Document, RawDocument
from citewell.server.http.answered import JSON, Refused

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request

FORM: Final = "multipart/form-data"
MAX_FILES: Final = 1_000
"""The most files of one upload."""

FORMATS: Final = get_args(get_type_hints(Document)["format"])
"""Of a document as text."""

_AT_ONCE: Final = 65_536
"""Bytes of JSON that are parsed in the event loop; more would hold up other requests."""

_DOCUMENT: Final = ("doc_id", "text", "title", "source", "category", "scope", "metadata", "format")
_FORM: Final = ("files", "category", "scope", "prefix")


async def json_object(request: Request, known: Collection[str], needed: Collection[str]) -> dict[str, Any]:
    """The arguments in a body of JSON.

    Raises:
        Refused: it is of another kind, or no JSON.
        InvalidRequest: it is no object, a name is unknown, or one that is needed is missing.
    """
    if kind_of(request) != JSON:
        raise _unknown_kind(kind_of(request), JSON)
    no_query_string(request)
    body = await request.body()
    given = await asyncio.to_thread(_parsed, body) if len(body) > _AT_ONCE else _parsed(body)
    return _known(given, known, needed)


def no_query_string(request: Request) -> None:
    """Refuse arguments where none are taken: a scope that is not heeded would show or write too much.

    Raises:
        InvalidRequest: there is one.
    """
    query_string(request)


def query_string(
    request: Request,
    *,
    switches: Collection[str] = (),
    numbers: Collection[str] = (),
    texts: Collection[str] = (),
    lists: Collection[str] = (),
) -> dict[str, Any]:
    """The arguments in a query string; one of `lists` may be there several times.

    Raises:
        InvalidRequest: a name is unknown, or there twice, or a value is not of its kind.
    """
    given = request.query_params.multi_items()
    check_names([name for name, _ in given], [*texts, *switches, *numbers, *lists])
    arguments: dict[str, Any] = {}
    for name, value in given:
        if name in lists:
            arguments.setdefault(name, []).append(value)
        elif name in arguments:
            raise InvalidRequest(f"{name} is there twice", way_out="Give it once.")
        else:
            arguments[name] = _typed(name, value, switches, numbers)
    return arguments


async def documents_of(request: Request) -> list[Document | RawDocument]:
    """The documents that a request hands over: a form with files, or `{documents: [...]}`.

    Raises:
        Refused: the body is of another kind, or can't be taken apart.
        InvalidRequest: a name is unknown, or a document or a file's name can't be used.
    """
    kind = kind_of(request)
    if kind == JSON:
        given = await json_object(request, ["documents"], ["documents"])
        if not isinstance(given["documents"], list):
            raise InvalidRequest(f"documents can't be {shown(given['documents'])}", way_out="Give a list of objects.")
        return await asyncio.to_thread(_documents, given["documents"])
    if kind != FORM:
        raise _unknown_kind(kind, f"{JSON} or {FORM}")
    no_query_string(request)
    try:
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FILES) as form:
            return await _files(form)
    except HTTPException as error:
        raise Refused(400, "no_form", f"the form can't be read: {error.detail}", "Send multipart/form-data.") from error


def kind_of(request: Request) -> str:
    """The kind of a request's body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body, object_pairs_hook=_object)
    except InvalidRequest:
        raise
    except (ValueError, RecursionError):
        raise Refused(400, "no_json", "the body is no JSON", "Send one JSON object in UTF-8.") from None
    if not isinstance(given, dict):
        raise InvalidRequest(f"the body can't be {shown(given)}", way_out="Send one JSON object.")
    return given


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """One that names nothing twice: whoever looked at it on its way here may have heeded the other one."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidRequest(f"{shown(twice)} is there twice", way_out="Give it once.")
    return made


def _documents(given: list[object]) -> list[Document | RawDocument]:
    return [_document(number, each) for number, each in enumerate(given)]


def _known(given: Mapping[str, Any], known: Collection[str], needed: Iterable[str]) -> dict[str, Any]:
    check_names(list(given), list(known))
    arguments = {name: value for name, value in given.items() if value is not None}
    missing = [name for name in needed if name not in arguments]
    if missing:
        raise InvalidRequest(f"{', '.join(missing)} is missing", way_out=f"Needed: {', '.join(needed)}.")
    return arguments


def _typed(name: str, value: str, switches: Collection[str], numbers: Collection[str]) -> object:
    """A value of a query string; what doesn't look like its kind stays text, and is refused where it is used."""
    if name in switches:
        return {"true": True, "false": False}.get(value, value)
    if name in numbers and value.isascii() and value.lstrip("-").isdigit() and len(value) < 20:
        return int(value)
    return value


def _document(number: int, given: object) -> Document:
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"documents[{number}] can't be {shown(given)}", way_out="Give an object.")
    try:
        parts = _known(given, _DOCUMENT, ["doc_id", "text"])
        for name in ("doc_id", "text", "title", "source"):
            check_text(name, parts.get(name, ""))
        check_category(parts.get("category"))
        check_mapping("metadata", parts.get("metadata", {}))
        if parts.get("format", FORMATS[0]) not in FORMATS:
            raise refusal("format", parts["format"], f"one of {', '.join(FORMATS)}")
        return Document(**parts)
    except InvalidRequest as error:
        raise InvalidRequest(f"documents[{number}]: {error.message}", way_out=error.way_out) from error


async def _files(form: FormData) -> list[Document | RawDocument]:
    check_names(list(form), _FORM)
    files = form.getlist("files")
    strays = [name for name in form if name != "files" and any(isinstance(v, UploadFile) for v in form.getlist(name))]
    if strays or not all(isinstance(file, UploadFile) for file in files):
        raise InvalidRequest("files and fields are mixed up", way_out="Send files as `files`, and texts as the others.")
    for name in ("category", "prefix"):
        if len(form.getlist(name)) > 1:
            raise InvalidRequest(f"{name} is there twice", way_out="Give it once.")
    category, prefix = form.get("category"), str(form.get("prefix", ""))
    scope = [str(label) for label in form.getlist("scope")] or None
    return [
        RawDocument(
            prefix + _path(file.filename),
            await file.read(),
            category=None if category is None else str(category),
            scope=scope,
        )
        for file in files
        if isinstance(file, UploadFile)
    ]


def _path(name: str | None) -> str:
    """The path that an uploaded file is named by, which must stay below where it is put.

    Raises:
        InvalidRequest: it has none, begins at a root, or climbs.
    """
    path = unicodedata.normalize("NFC", name or "").replace("\\", "/").strip()
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") for part in parts) or ":" in parts[0]:
        raise InvalidRequest(
            f"a file can't be named {shown(name)}", way_out="Give a relative path without '..', such as docs/a.md."
        )
    return path


def _unknown_kind(kind: str, wanted: str) -> Refused:
    return Refused(415, "unknown_kind", f"the body's kind can't be {kind or 'unsaid'!r}", f"Send {wanted}.")
