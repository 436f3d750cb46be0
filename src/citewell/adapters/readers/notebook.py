"""Jupyter notebooks -> Markdown: text as it is, code in the kernel's language, what the cells printed (INGEST-1).

Pictures are left out, long outputs are cut openly, colours of the terminal are gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape

from citewell.adapters.readers import blocks
from citewell.adapters.readers.ansi import shown
from citewell.adapters.readers.blocks import Block, joined
from citewell.adapters.readers.decode import clean, decode
from citewell.adapters.readers.json import parse, value_text
from citewell.adapters.readers.paths import Members, path_lines
from citewell.errors import IngestError
from citewell.model import Locator, Text

_LONGEST_OUTPUT = 4_000
_DATA_URI = re.compile(r"!\[([^\]]{0,300})\]\((?:data:|attachment:)[^)\s]*\)")
_NO_TEXT = re.compile(r"\s*<(?:Figure|matplotlib|AxesSubplot|Axes|IPython|PIL|folium|plotly|altair|bokeh)[^>]*>\s*")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_MARKS = re.compile(r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)$", re.MULTILINE)
_TAG = re.compile(r"<[^<>]{0,2000}>")


def read_notebook(data: bytes, name: str) -> Text:
    """A notebook of format 3 or 4; JSON that is none is read as JSON.

    Raises:
        IngestError: it is no JSON.
    """
    decoded = decode(data)
    value, fault = parse(decoded.text)
    if fault:
        raise IngestError(f"it is no notebook: {fault}", way_out="Open it in Jupyter and save it again.")
    notebook = _mapping(value)
    cells = _cells(notebook)
    if cells is None:
        return value_text(value, (*decoded.remarks, "it is JSON, not a notebook, and read as such"))
    metadata = _mapping(notebook.get("metadata"))
    language = _language(metadata)
    text = clean(joined(block for cell in cells for block in _cell(_mapping(cell), language)))
    title = metadata.get("title")
    return Text(
        text,
        title=title if isinstance(title, str) and title.strip() else None,
        metadata={"language": language} if language else {},
        remarks=decoded.remarks,
        places=((0, Locator()),),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return dict(value) if isinstance(value, Members) else {}


def _cells(notebook: Mapping[str, object]) -> Sequence[object] | None:
    """The cells; format 3 keeps them in worksheets. None if there are none to be had."""
    cells = notebook.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    inner = (_mapping(sheet).get("cells") for sheet in sheets)
    return [cell for cells in inner if isinstance(cells, list) for cell in cells]


def _language(metadata: Mapping[str, object]) -> str:
    names = (_mapping(metadata.get("language_info")).get("name"), _mapping(metadata.get("kernelspec")).get("language"))
    language = next((str(name).lower() for name in names if name), "")
    return language if _LANGUAGE.fullmatch(language) else ""


def _cell(cell: Mapping[str, object], language: str) -> Iterator[Block]:
    kind = cell.get("cell_type")
    source = _text(cell.get("source", cell.get("input"))).strip("\n").rstrip()
    if kind == "code":
        if source.strip():
            yield blocks.fence(source, language)
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            yield from _output(_mapping(output))
    elif kind == "heading":
        level = str(cell.get("level", "1"))
        yield blocks.heading(int(level) if level.isdigit() and len(level) < 3 else 1, source)
    elif source.strip():
        yield Block(_closed(_DATA_URI.sub(r"\1", source))) if kind == "markdown" else blocks.fence(source)


def _text(value: object) -> str:
    """A text, or a list of its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _output(output: Mapping[str, object]) -> Iterator[Block]:
    if output.get("output_type") in ("error", "pyerr"):
        yield from _printed(f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}")
        return
    data = _mapping(output.get("data")) or output
    printed = _text(data.get("text/plain", data.get("text")))
    markdown, page = _text(data.get("text/markdown")), _text(data.get("text/html", data.get("html")))
    if markdown.strip() and len(markdown) <= _LONGEST_OUTPUT:
        yield Block(_closed(_DATA_URI.sub(r"\1", markdown.strip("\n"))))
    elif markdown.strip():
        yield from _printed(markdown)
    elif printed.strip() and not _NO_TEXT.fullmatch(printed):
        yield from _printed(printed)
    elif page.strip():
        yield from _of_page(page)
    else:
        yield from _printed(_text(data.get("text/latex", data.get("latex"))) or _values(data.get("application/json")))


def _printed(text: str) -> Iterator[Block]:
    text = shown(text).strip("\n").rstrip()
    if text.strip() and not _NO_TEXT.fullmatch(text):
        yield blocks.fence(_cut(text))


def _of_page(markup: str) -> Iterator[Block]:
    """What a cell shows as HTML alone; without the extra for pages its bare text."""
    try:
        from citewell.adapters.readers.html import convert  # noqa: PLC0415 - only such outputs need the extra
    except ImportError:
        yield from _printed(unescape(_TAG.sub(" ", markup)))
        return
    text = joined(convert(clean(markup)).blocks)
    yield from [Block(text)] if len(text) <= _LONGEST_OUTPUT else _printed(text)


def _values(value: object) -> str:
    return "\n".join(path_lines(value)).strip() if value is not None else ""


def _closed(text: str) -> str:
    """Markdown whose last fence is closed: it would go on in the next cell."""
    mark = ""
    for match in _MARKS.finditer(text):
        written = match.group(1)
        if not mark:
            mark = written
        elif written[0] == mark[0] and len(written) >= len(mark) and not match.group(2).strip():
            mark = ""
    return f"{text}\n{mark}" if mark else text


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_OUTPUT:
        return text
    end = text.rfind("\n", _LONGEST_OUTPUT // 2, _LONGEST_OUTPUT)
    end = end if end > 0 else _LONGEST_OUTPUT
    return f"{text[:end]}\n… ({len(text) - end} more characters)"
