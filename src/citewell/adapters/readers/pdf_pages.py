"""Pages of a PDF -> one text without running headers, footers and page numbers, and where each page starts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from citewell.adapters.readers.pdf_layout import Page

_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"\W*(?:page|seite|página|стр\.?|第)?\s*(\d{1,5}|[ivxlc]{1,7})\s*(?:(?:of|/|von|de|из|页|頁|ページ)\W*\d{0,5})?\W*",
    re.IGNORECASE,
)
_FEWEST_PAGES = 3
_SHARE = 0.3
_LONGEST = 200
_ENDED = re.compile(r"[.!?:;。！？：；…\"”’)\]]$")


def assembled(pages: Sequence[Page]) -> tuple[str, list[int]]:
    """The text of all pages, and the position at which each begins, ascending."""
    running = _running(pages)
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for number, page in enumerate(pages, start=1):
        text = _page_text(page, number, running)
        joint = _joint(parts[-1], text) if parts and text else ""
        starts.append(length + len(joint))
        if text:
            parts += [joint, text]
            length += len(joint) + len(text)
    return "".join(parts), starts


def _running(pages: Sequence[Page]) -> set[str]:
    """Lines that many pages share in their margins, numbers aside."""
    counts = Counter(key for page in pages for key in {_key(line) for line in (*page.top, *page.bottom)})
    least = max(_FEWEST_PAGES, _SHARE * len(pages))
    return {key for key, count in counts.items() if count >= least and len(key) <= _LONGEST}


def _key(line: str) -> str:
    return " ".join(_DIGITS.sub("#", line.casefold()).split())


def _page_text(page: Page, number: int, running: set[str]) -> str:
    top = [line for line in page.top if not _is_furniture(line, number, running)]
    bottom = [line for line in page.bottom if not _is_furniture(line, number, running)]
    return "\n".join(part for part in (*top, page.body, *bottom) if part)


def _is_furniture(line: str, number: int, running: set[str]) -> bool:
    if _key(line) in running:
        return True
    match = _NUMBER.fullmatch(line)
    return match is not None and (match.group(1) == str(number) or not match.group(1).isdigit() or len(line) <= 6)


def _joint(before: str, text: str) -> str:
    """A sentence may go on over the page."""
    return "\n\n" if _ENDED.search(before) or not text[:1].islower() else "\n"
