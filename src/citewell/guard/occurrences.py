"""Where an answer names what was shown, letter by letter, and where it names something else in the form of a key.

Of several readings the longest holds, so that `docA#chunk-1` is never found in `docA#chunk-12` or in `old/docA#chunk-1`
(GUARD-2); one that stands alone in brackets goes before all others. It knows no Markdown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.guard.borders import is_touched, may_begin, touching
from citewell.guard.brackets import is_wrapped
from citewell.guard.ledger import Ledger
from citewell.guard.tries import ends_from, starts_to
from citewell.identity import find_fallbacks, find_marks

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Other:
    """Something in the form of a key that is no shown one.

    Attributes:
        floor: its id begins here or later: another one ends here.
        mark: where the mark between document and index begins; for other kinds of keys where the key begins.
        end: where it ends, with what touches it.
        clean: whether nothing touches it at its end.
    """

    floor: int
    mark: int
    end: int
    clean: bool


def occurrences(text: str, ledger: Ledger) -> tuple[list[Span], list[Other]]:
    """Where shown keys stand, and where others do; both in reading order, without overlap, in linear time."""
    marks = list(find_marks(text))
    heads = list(find_fallbacks(text))
    shown = _without_overlap([*_shown_marks(text, marks, ledger), *_shown_heads(text, heads, ledger)])
    return shown, sorted(_others(text, marks, shown), key=lambda other: other.mark)


def other_heads(text: str, taken: list[Span]) -> Iterator[int]:
    """Where keys of other kinds begin that none of these sorted spans covers."""
    for head in find_fallbacks(text):
        at = bisect_left(taken, (head + 1, 0)) - 1
        if (at < 0 or taken[at][1] <= head) and may_begin(text, head, taken[at][1] if at >= 0 else 0):
            yield head


def _shown_marks(text: str, marks: list[Span], ledger: Ledger) -> Iterator[tuple[bool, Span]]:
    floor = 0
    for _, end in marks:
        if not is_touched(text, end):
            yield from _best(text, [(start, end) for start in starts_to(ledger.ends, text, end)], floor)
        floor = end


def _shown_heads(text: str, heads: list[int], ledger: Ledger) -> Iterator[tuple[bool, Span]]:
    for start in heads:
        spans = [(start, end) for end in ends_from(ledger.heads, text, start)]
        yield from _best(text, spans, 0)


def _best(text: str, spans: list[Span], floor: int) -> Iterator[tuple[bool, Span]]:
    """The longest of these readings that stands alone in brackets, else the longest that nothing touches."""
    wrapped = [span for span in spans if is_wrapped(text, *span)]
    if wrapped:
        yield True, wrapped[-1]
        return
    for start, end in reversed(spans):
        if may_begin(text, start, floor) and not is_touched(text, end):
            yield False, (start, end)
            return


def _without_overlap(found: list[tuple[bool, Span]]) -> list[Span]:
    """The spans, sorted; of those that overlap, the one in brackets, then the longest, then the first."""
    kept: list[Span] = []
    group: list[tuple[bool, Span]] = []
    reached = 0
    for item in sorted(found, key=lambda item: item[1]):
        if item[1][0] >= reached:
            kept += _strongest(group)
            group = []
        group.append(item)
        reached = max(reached, item[1][1])
    return kept + _strongest(group)


def _strongest(group: list[tuple[bool, Span]]) -> list[Span]:
    """Of spans of which each overlaps another; sorted."""
    kept: list[Span] = []
    for _, span in sorted(group, key=lambda item: (not item[0], item[1][0] - item[1][1], item[1])):
        at = bisect_left(kept, span)
        if (at == 0 or kept[at - 1][1] <= span[0]) and (at == len(kept) or span[1] <= kept[at][0]):
            kept.insert(at, span)
    return kept


def _others(text: str, marks: list[Span], shown: list[Span]) -> Iterator[Other]:
    """What no shown key covers; marks that touch one another are one."""
    floor = 0
    shown_ahead = iter([*shown, None])
    nearest = next(shown_ahead)
    at = 0
    while at < len(marks):
        start, end = marks[at]
        while nearest is not None and nearest[1] <= start:
            floor = max(floor, nearest[1])
            nearest = next(shown_ahead)
        at += 1
        if nearest is not None and nearest[0] < end:
            continue
        last = touching(text, end)
        while at < len(marks) and marks[at][0] <= last:
            end = marks[at][1]
            last = touching(text, end) if end > last else last
            at += 1
        yield Other(floor, start, last, last == end)
        floor = last
