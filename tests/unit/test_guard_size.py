"""Answers of a megabyte, the worst that can be thought of: checked in steps of their length, however they are made.

The limit of each test is far above what linear time needs and far below what quadratic time would take (hours).
"""

from __future__ import annotations

import pytest

from citewell.guard import check
from citewell.model import KnownChunk

KEY, FORGED = "docs/runbook 7.md#chunk-3", "docs/runbook 7.md#chunk-9"
SHOWN = {f"docs/runbook {number}.md#chunk-{index}": "d" for number in range(50) for index in range(5)}
KNOWN = {key: KnownChunk("d", "The disk is slow because of fsync. Restart within 5 minutes.") for key in SHOWN}
SIZE = 1_000_000

UNITS = {
    "prose": "The disk is slow and nobody knows why. ",
    "citations": f"The disk is slow [{KEY}]. ",
    "forged citations": f"The disk is slow [{FORGED}]. ",
    "marks": "#chunk-1",
    "marks and spaces": "#chunk-1 ",
    "glued ids": "docA#chunk-1docB#chunk-",
    "ids that appear when others go": "docA#chunk-[docB#chunk-9]",
    "vector ids": "vector:7 ",
    "heads without ids": "vector:",
    "documents": "[docs/runbook 7.md] ",
    "other documents": "[docs/runbook 99.md] ",
    "numbers beside an id": f"[{KEY}, 1, 2, 3 and 4] ",
    "numbers beside ids": ", 1 and 2",
    "percent-encoded marks": "a%23chunk-1 ",
    "addresses": "citewell:///",
    "emphasis": "**",
    "nested documents": "[" * 200 + "docs/runbook 7.md" + "]" * 200,
    "opening brackets": "[",
    "pairs of brackets": "[](",
    "nested parentheses": "(" * 5_000 + ")" * 5_000,
    "links": "[a](b",
    "link targets": "](a",
    "backticks": "` ",
    "fences": "~~~\n",
    "elements": "<pre>",
    "escapes": "\\_",
    "JSON escapes": "\\u005b",
    "references": "&amp;",
    "decomposed": "e\u0301",
    "invisible": "\u200b",
    "quotation marks": "“",
    "straight quotes": '" ',
    "quotes with citations": f"“The disk was slow” [{KEY}] ",
    "block quotes": f"> The disk\n[{KEY}]\n",
    "definitions": f"[^1]: {FORGED}\n",
    "uses": "[^1] ",
    "Chinese": f"磁盘很慢根据{KEY}所述，",
    "paths": "a/",
    "labels": "see ",
    "hyphens": "-",
    "spaces": " ",
    "letters": "a",
    "digits": "1",
}


@pytest.mark.slow
@pytest.mark.requirement("GUARD-1")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", UNITS)
def test_a_megabyte_of_anything_is_checked_in_linear_time(name: str) -> None:
    unit = UNITS[name]
    answer = f"Forged: {FORGED}\n\ndocA#chunk-{unit * (SIZE // len(unit))}#chunk-1 [{KEY}]\n"
    report = check(answer, SHOWN, known=KNOWN)
    assert not report.ok  # the first citation was not shown
    assert FORGED not in report.cleaned


@pytest.mark.requirement("GUARD-1")
@pytest.mark.parametrize("name", UNITS)
def test_twenty_kilobytes_of_anything_are_checked_at_once(name: str) -> None:
    """The same at a size for every run: what is quadratic shows here as minutes, too."""
    unit = UNITS[name]
    answer = f"[{KEY}] {unit * (20_000 // len(unit))}#chunk-1"
    report = check(answer, SHOWN, known=KNOWN)
    assert report.citations[0].verdict == "shown"


@pytest.mark.requirement("GUARD-1")
def test_a_footnote_of_a_hundred_kilobytes_is_checked_at_once() -> None:
    """With an id in every place tried against every document it took minutes."""
    report = check(f"Slow [{KEY}].[^1]\n\n[^1]: {'a ' * 50_000}\n", SHOWN, known=KNOWN)
    assert report.ok
