"""Source code -> its own text, comments and all, with its classes and functions as headings (INGEST-1).

A `#` is a comment here, never a heading; lines keep their numbers.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from citewell.adapters.readers import declared
from citewell.adapters.readers.decode import decode
from citewell.adapters.readers.languages import language_of
from citewell.adapters.readers.symbols import symbols
from citewell.model import Text


def read_code(data: bytes, name: str) -> Text:
    """A source file; its language is told by its name.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    language = language_of(name) or "text"
    decoded = decode(data, declared.of_markup(data) if language == "xml" else declared.of_source(data))
    return Text(
        decoded.text,
        "lines",
        title=PurePosixPath(name).name,
        metadata={"language": language},
        remarks=decoded.remarks,
        headings=symbols(decoded.text, language),
    )
