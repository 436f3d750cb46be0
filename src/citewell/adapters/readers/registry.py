"""A file of any known kind -> Text, by the reader that its content asks for (INGEST-1); each loads at its first use.

The one edge of this room: whatever a library throws at a damaged file becomes an IngestError, and a library that is not
installed becomes one that says how to get it. Knows which readers there are, nothing of what they do.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module

from citewell.adapters.readers.kinds import Kind, is_known, kind_of
from citewell.adapters.readers.markdown import markdown_text
from citewell.adapters.readers.plain import plain_text
from citewell.adapters.readers.tidy import tidied
from citewell.errors import CitewellError, IngestError
from citewell.model import Text
from citewell.ports import Reader

VERSION = "2"
"""Changes when the same bytes would be read otherwise; part of every document's fingerprint."""

_Read = Callable[[bytes, str], Text]
_READERS: Mapping[str, str] = {
    "asciidoc": "asciidoc:read_asciidoc",
    "code": "code:read_code",
    "delimited": "delimited:read_delimited",
    "docx": "docx:read_docx",
    "html": "html:read_html",
    "json": "json:read_json",
    "jsonl": "json:read_jsonl",
    "mail": "mail:read_mail",
    "markdown": "markdown:read_markdown",
    "notebook": "notebook:read_notebook",
    "pdf": "pdf:read_pdf",
    "plain": "plain:read_plain",
    "pptx": "pptx:read_pptx",
    "rst": "rst:read_rst",
    "xlsx": "xlsx:read_xlsx",
    "yaml": "yaml:read_yaml",
}
TEXTS: Mapping[str, Callable[[str], Text]] = {
    "markdown": lambda text: tidied(markdown_text(text)),
    "text": plain_text,
}
"""For texts that a caller hands over instead of a file."""

_VISIBLE = re.compile(rb"[^\x00\s]")
_INSTALL = 'pip install "citewell[docs]"'
_WAY_OUT = "Open it in its own program and save it again, or convert it."


class FileReader:
    """Reads every format that Citewell knows; satisfies `citewell.ports.Reader`.

    `preferred` readers are asked first, in order, for files that they take: an extra such as trafilatura for HTML.
    """

    def __init__(self, preferred: Sequence[Reader] = ()) -> None:
        self._preferred = tuple(preferred)
        self._loaded: dict[str, _Read] = {}
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """Of these readers and the preferred ones."""
        return "+".join([VERSION, *(reader.version for reader in self._preferred)])

    def takes(self, name: str) -> bool:
        """Whether a file of this name is worth opening."""
        return is_known(name) or any(reader.takes(name) for reader in self._preferred)

    def read(self, data: bytes, name: str) -> Text:
        """The text of a file; blank, with a remark that says why, if it holds none.

        Raises:
            IngestError: it can't be read, and why.
        """
        if not _VISIBLE.search(data):
            return Text("", "text", remarks=("it is empty",))
        kind = kind_of(data, name)
        if kind.locked:
            return Text("", "text", remarks=(f"it is {kind.what} protected by a password; save it without one",))
        if not kind.reader:
            raise IngestError(f"it is {kind.what}, which can't be read", way_out="Convert it, or leave it out.")
        text = tidied(self._read(kind, data, name))
        if not text.text and not text.remarks:
            return replace(text, remarks=("there is no text in it",))
        return replace(text, remarks=(kind.remark, *text.remarks)) if kind.remark else text

    def _read(self, kind: Kind, data: bytes, name: str) -> Text:
        preferred = None if kind.remark else next((each for each in self._preferred if each.takes(name)), None)
        try:
            return preferred.read(data, name) if preferred else self._reader(kind.reader)(data, name)
        except CitewellError:
            raise
        except ImportError as error:
            missing = error.name or str(error)
            raise IngestError(
                f"reading {kind.what} needs {missing}, which is not installed", way_out=_INSTALL
            ) from None
        except Exception as error:  # the edge: nothing that a library throws at a damaged file may end a run
            raise IngestError(f"it can't be read as {kind.what}: {_described(error)}", way_out=_WAY_OUT) from error

    def _reader(self, kind: str) -> _Read:
        with self._lock:
            if kind not in self._loaded:
                module, _, function = _READERS[kind].partition(":")
                self._loaded[kind] = getattr(import_module(f"citewell.adapters.readers.{module}"), function)
            return self._loaded[kind]


def _described(error: Exception) -> str:
    message = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
