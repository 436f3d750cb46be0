"""ZIP containers of Office documents: which one it is, and whether unpacking it is safe.

An archive of a few kilobytes can unpack to gigabytes; its directory says how much each part will be, and Python's
`zipfile` never unpacks more than that. Knows the containers, not what is in the documents.
"""

from __future__ import annotations

import io
import zipfile
import zlib

from citewell.errors import IngestError

SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_MARKS = (("word/document", "docx"), ("ppt/presentation", "pptx"), ("xl/workbook", "xlsx"))
_OTHERS = {
    b"application/epub+zip": "an EPUB book",
    b"application/vnd.oasis.opendocument.text": "an OpenDocument text",
    b"application/vnd.oasis.opendocument.spreadsheet": "an OpenDocument spreadsheet",
    b"application/vnd.oasis.opendocument.presentation": "an OpenDocument presentation",
}
_MOST_ENTRIES = 20_000
_MOST_BYTES = 256 * 1024 * 1024
_MOST_XML = 96 * 1024 * 1024
_DENSEST = 200
_SMALL = 4 * 1024 * 1024


def office_kind(data: bytes) -> str:
    """`docx`, `pptx` or `xlsx`; else what the archive is, in words."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = package.namelist()[:_MOST_ENTRIES]
            mimetype = package.read("mimetype")[:100] if "mimetype" in names[:4] and _is_small(package) else b""
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
        return "a damaged ZIP archive or Office document"
    for start, kind in _MARKS:
        if any(name.replace("\\", "/").lower().startswith(start) for name in names):
            return kind
    return _OTHERS.get(mimetype.strip(), "a ZIP archive")


def _is_small(package: zipfile.ZipFile) -> bool:
    return package.getinfo("mimetype").file_size <= 100


def open_package(data: bytes) -> zipfile.ZipFile:
    """The archive, once it is sure that all of it unpacks to a bounded size.

    Raises:
        IngestError: it is damaged, or far larger inside than it looks.
    """
    try:
        package = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise IngestError(f"its archive is damaged: {error}", way_out="Save it again, or restore it.") from None
    _refuse_bombs(package.infolist(), len(data))
    return package


def _refuse_bombs(entries: list[zipfile.ZipInfo], packed: int) -> None:
    total = sum(entry.file_size for entry in entries)
    markup = sum(entry.file_size for entry in entries if entry.filename.lower().endswith((".xml", ".rels", ".vml")))
    if len(entries) > _MOST_ENTRIES:
        reason = f"it holds {len(entries):,} parts, more than {_MOST_ENTRIES:,}"
    elif total > _MOST_BYTES or markup > _MOST_XML:
        reason = f"it unpacks to {max(total, markup):,} bytes, more than can be read safely"
    elif total > _SMALL and total > _DENSEST * packed:
        reason = f"it unpacks to {total:,} bytes, {total // max(packed, 1)} times its size"
    else:
        return
    raise IngestError(reason, way_out="Split the document, or save its text in another format.")


def part(package: zipfile.ZipFile, name: str) -> bytes:
    """One part's bytes.

    Raises:
        IngestError: it is missing, damaged or encrypted.
    """
    try:
        return package.read(name)
    except (
        KeyError,
        zipfile.BadZipFile,
        OSError,
        ValueError,
        NotImplementedError,
        RuntimeError,
        EOFError,
        zlib.error,
    ) as error:
        raise IngestError(f"its part {name!r} can't be unpacked: {error}", way_out="Save it again.") from None
