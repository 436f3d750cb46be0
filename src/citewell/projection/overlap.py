"""Two chunks of which one follows the other -> what the later one repeats of the earlier (CONTEXT-2).

Citewell's own splitter makes no chunks that overlap: what they repeat, the header row of a table or the marks of a
fence, restores the later one and stays. Other splitters let chunks overlap, and foreign stores hold such.
It knows neither budgets nor what is shown.
"""

from __future__ import annotations

from citewell.model import EvidenceBlock

_SURE = 20
"""Where nothing says which characters a chunk covers, fewer equal ones than this are chance, not overlap."""

_LONGEST = 4_000


def follows(earlier: EvidenceBlock, later: EvidenceBlock) -> bool:
    """Whether the later one is the next chunk of the same document."""
    return (
        earlier.doc_id is not None
        and earlier.doc_id == later.doc_id
        and earlier.chunk_index is not None
        and later.chunk_index == earlier.chunk_index + 1
    )


def without_overlap(earlier: EvidenceBlock, later: EvidenceBlock) -> str:
    """The later one's text without what it repeats of the end of the earlier; all of it if it repeats nothing.

    Where both spans are known, they say how much: those characters are cut if they are the same in both texts, and
    what stands before them in the later text (a header row) stays. Else it is the longest end of the earlier text that
    is a beginning of the later, if it has at least 20 characters. What has no letter and no digit is never cut, and a
    text of which nothing would be left stays whole.
    """
    if earlier.span is not None and later.span is not None:
        start, end = _by_spans(earlier.text, earlier.span, later.text, later.span)
    else:
        start, end = 0, _by_texts(earlier.text, later.text)
    rest = later.text[:start] + later.text[end:]
    return rest if later.text[end:].strip() else later.text


def _by_spans(before: str, span: tuple[int, int], after: str, next_span: tuple[int, int]) -> tuple[int, int]:
    """Where the common characters stand in the later text; (0, 0) if nowhere."""
    common = span[1] - next_span[0]
    closing, opening = len(before) - (span[1] - span[0]), len(after) - (next_span[1] - next_span[0])
    if not 0 < common <= min(len(before), len(after)):
        return 0, 0
    ends = {before[len(before) - cut - common : len(before) - cut] for cut in range(max(closing, 0) + 1)}
    for start in range(max(opening, 0) + 1):
        shared = after[start : start + common]
        if shared in ends and _says_something(shared):
            return start, start + common
    return 0, 0


def _by_texts(before: str, after: str) -> int:
    """How many characters of the later text's beginning are the earlier one's end."""
    for length in range(min(len(before), len(after), _LONGEST), _SURE - 1, -1):
        if before.endswith(after[:length]):
            return length if _says_something(after[:length]) else 0
    return 0


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)
