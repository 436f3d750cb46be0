"""PDF files -> text, page by page: the locator is the page, the outline gives the headings (INGEST-1, INGEST-9).

The library is not safe for threads, so one lock guards every call of it. One page is open at a time: memory is bounded
by the text, not by the number of pages. Nothing is rendered, and scripts in the file don't run.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import pypdfium2
import pypdfium2.raw as pdfium

from citewell.adapters.readers.decode import clean
from citewell.adapters.readers.pdf_headings import Entry, by_outline, by_size, largest_line
from citewell.adapters.readers.pdf_layout import Line, Page, page_of
from citewell.adapters.readers.pdf_pages import assembled
from citewell.adapters.readers.pdf_scan import refuse_bombs
from citewell.errors import IngestError
from citewell.model import Locator, Text

_LOCK = threading.Lock()
_MOST_PAGES = 20_000
_LONGEST = 600.0
_MOST_CHARACTERS = 100_000_000
_MOST_ENTRIES = 5_000
_DEEPEST_ENTRY = 6
_LONGEST_MARK = 12
_WAY_OUT = "Open it in its own program and save it again."
_LEADER = re.compile(r"(?: ?\.){6,}")
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_NO_TITLE = re.compile(
    r"untitled.*|microsoft (?:word|powerpoint|excel) - .*|.*\.(?:docx?|pptx?|xlsx?|tex|dvi|indd|pdf|rtf)|[\W\d_]*",
    re.IGNORECASE,
)


def read_pdf(data: bytes, name: str) -> Text:
    """A PDF file; blank, with the reason as a remark, if it is locked or holds images only.

    Raises:
        IngestError: it is damaged, has more pages or text than can be read, or takes too long.
    """
    refuse_bombs(data)
    with _LOCK:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            return _not_opened(error)
        with closing(document):
            pages = list(_pages(document))
            outline = list(_outline(document))
            metadata = _metadata(document)
    title = metadata.pop("title", "")
    if not any(page.has_text for page in pages):
        count = "its one page holds" if len(pages) == 1 else f"its {len(pages)} pages hold"
        return Text("", "text", metadata=metadata, remarks=(f"{count} no text, perhaps images of it; it needs OCR",))
    return _text(pages, outline, title, metadata)


def _not_opened(error: pypdfium2.PdfiumError) -> Text:
    if error.err_code == pdfium.FPDF_ERR_PASSWORD:
        return Text("", "text", remarks=("it is a PDF file protected by a password; save it without one",))
    raise IngestError("the PDF is damaged or cut short", way_out=_WAY_OUT) from None


def _text(pages: Sequence[Page], outline: Sequence[Entry], title: str, metadata: dict[str, str]) -> Text:
    text, starts = assembled(pages)
    headings = by_outline(text, starts, outline) if outline else by_size(text, starts, pages)
    places = tuple((start, Locator(page=number)) for number, start in enumerate(starts, start=1))
    title = title or largest_line(pages[0])
    return Text(text, "text", title=title or None, metadata=metadata, places=places, headings=headings)


def _pages(document: pypdfium2.PdfDocument) -> Iterator[Page]:
    count = len(document)
    if count > _MOST_PAGES:
        raise IngestError(f"it has {count:,} pages, more than {_MOST_PAGES:,}", way_out="Split it into several files.")
    characters = 0
    deadline = time.monotonic() + _LONGEST
    for index in range(count):
        if time.monotonic() > deadline:
            raise IngestError(
                f"its first {index:,} pages took longer than {_LONGEST:.0f} seconds",
                way_out="Print it into a new file.",
            )
        page = page_of(*_lines(document, index))
        characters += len(page.body)
        if characters > _MOST_CHARACTERS:
            raise IngestError(
                f"it holds more than {_MOST_CHARACTERS:,} characters", way_out="Split it into several files."
            )
        yield page


def _lines(document: pypdfium2.PdfDocument, index: int) -> tuple[list[Line], float]:
    """The lines of a page with where they stand, and the page's height; a page that is damaged has none."""
    try:
        page = document[index]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return [], 0.0
    with closing(page), closing(text_page):
        text, measured = _characters(text_page)
        height = page.get_height()
        lines: list[Line] = []
        start = 0
        for raw in text.split("\n"):
            lines += _line(text_page, raw, start if measured else None, height)
            start += len(raw) + 1
        return lines, height


def _characters(text_page: pypdfium2.PdfTextPage) -> tuple[str, bool]:
    """The text of a page, and whether its characters can be counted like the library's."""
    count = text_page.count_chars()
    whole = text_page.get_text_bounded()
    if len(whole) == count:
        return whole, True
    plain = text_page.get_text_range()
    return (plain, True) if len(plain) == count else (whole, False)


def _line(text_page: pypdfium2.PdfTextPage, raw: str, start: int | None, height: float) -> Iterator[Line]:
    text = clean(raw.replace("\r", " ").replace("\x02", "\xad").replace("\ufffe", "\xad")).strip()
    text = _LEADER.sub(" … ", text)
    if not text:
        return
    if start is None:
        yield Line(text)
        return
    first = start + len(raw) - len(raw.lstrip())
    last = start + len(raw.rstrip()) - 1
    # A bullet may be of another size than its text.
    letter = next((index for index, character in enumerate(raw[:_LONGEST_MARK]) if character.isalnum()), first - start)
    left, _, _, _ = _box(text_page, first)
    _, low, _, high = _box(text_page, start + letter)
    _, last_low, right, last_high = _box(text_page, last)
    yield Line(text, left, right, height - max(high, last_high), height - min(low, last_low), max(high - low, 0.0))


def _box(text_page: pypdfium2.PdfTextPage, index: int) -> tuple[float, float, float, float]:
    """(left, bottom, right, top) of a character, in points from the page's lower left corner."""
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDFText_GetLooseCharBox(text_page.raw, index, rectangle):
        return 0.0, 0.0, 0.0, 0.0
    return rectangle.left, rectangle.bottom, rectangle.right, rectangle.top


def _outline(document: pypdfium2.PdfDocument) -> Iterator[Entry]:
    for number, bookmark in enumerate(document.get_toc(max_depth=_DEEPEST_ENTRY)):
        if number >= _MOST_ENTRIES:
            return
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        title = " ".join(clean(bookmark.get_title()).split())
        if page is not None and title:
            yield Entry(title, bookmark.level, page)


def _metadata(document: pypdfium2.PdfDocument) -> dict[str, str]:
    raw = {key: " ".join(clean(value).split()) for key, value in document.get_metadata_dict(skip_empty=True).items()}
    found: dict[str, str] = {}
    if (title := raw.get("Title", "")) and not _NO_TITLE.fullmatch(title):
        found["title"] = title
    if author := raw.get("Author"):
        found["author"] = author
    if date := _DATE.match(raw.get("CreationDate", "")):
        found["date"] = "-".join(part for part in date.groups() if part)
    return found
