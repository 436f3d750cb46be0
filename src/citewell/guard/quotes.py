"""Words that an answer quotes beside a citation, and whether the cited chunk says them (GUARD-3).

A quote belongs to a citation if it directly precedes it, or follows it and isn't directly followed by another: text in
quotation marks of the same paragraph, or a block of lines that begin with `>`. Between them stand at most white space,
emphasis and , . ; : – — ( ). Two texts are the same if they are after NFKC, without invisible characters and with white
space made one; an ellipsis in a quote stands for anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from citewell.guard.borders import after_labels
from citewell.guard.brackets import Pair
from citewell.guard.occurrences import Span
from citewell.model import Quote

_NEAR = 0.9
_LONGEST = 4_000
_ALMOST = 0.999  # 1 is for what is exact
_SHORTEST_NEAR = 12  # characters; of shorter quotes a near match says nothing
_MARKS = {"“": "”", "「": "」", "『": "』", "«": "»", "„": "“", "‹": "›", "＂": "＂", '"': '"', "‘": "’"}
_CLOSERS = frozenset(_MARKS.values())
_GAP = " \t\n*_~,.;:–—，。；：、("
_UNSEEN = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:…|\.{3})\s*\]|…+|\.{3,})\s*")
_EDGES = " \t\n,.;:!?，。；：！？、"
_NUMBER = re.compile(r"\d+")
_QUOTED_LINE = re.compile(r"[ \t]*>[ \t>]*")


@dataclass(frozen=True, slots=True)
class Group:
    """Citations that stand side by side, such as `[a][b]` or `[a, b]`, with their brackets: they share a quote.

    Attributes:
        start, end: from the first bracket to the last.
        members: numbers of the citations.
        quoted: whether an id itself stands in quotation marks; then what stands before it is no quote.
    """

    start: int
    end: int
    members: tuple[int, ...]
    quoted: bool = False


def groups(text: str, anchors: Sequence[Group]) -> list[Group]:
    """Anchors of single citations, sorted, put together where they stand side by side."""
    found: list[list[Group]] = []
    reached = 0
    for single in anchors:
        if found and not text[reached : max(single.start, reached)].strip(" \t,;、，；&"):
            found[-1].append(single)
        else:
            found.append([single])
        reached = max(reached, single.end)
    return [_together(group) for group in found]


def _together(group: Sequence[Group]) -> Group:
    members = tuple(member for single in group for member in single.members)
    end = max(single.end for single in group)
    return Group(group[0].start, end, members, any(single.quoted for single in group))


def anchor(text: str, start: int, end: int, pair: Pair | None, members: tuple[int, ...]) -> Group:
    """A citation with the brackets and the emphasis around it."""
    quoted = start > 0 and end < len(text) and _MARKS.get(text[start - 1]) == text[end]
    if pair is not None and after_labels(text, pair.start + 1, start) == start:
        start, end = min(start, pair.start), max(end, pair.end)
    while start > 0 and end < len(text) and text[start - 1] == text[end] and text[end] in "*_`~":
        start, end = start - 1, end + 1
    return Group(start, end, members, quoted)


def quotes_of(text: str, found: Sequence[Group]) -> dict[int, Span]:
    """Where the quote of each citation stands, by the citation's number; those without one are left out."""
    quotes: dict[int, Span] = {}
    for at, group in enumerate(found):
        floor = found[at - 1].end if at else 0
        further = found[at + 1].start if at + 1 < len(found) else None
        span = None if group.quoted else _before(text, floor, group) or _after(text, group.end, further)
        if span is not None:
            quotes |= dict.fromkeys(group.members, span)
    return quotes


def _before(text: str, floor: int, group: Group) -> Span | None:
    """The quote that ends before a citation."""
    lowest = max(floor, group.start - _LONGEST)
    stop = lowest + len(text[lowest : group.start].rstrip(_GAP))
    if stop > lowest and text[stop - 1] in _CLOSERS:
        return _opened(text, lowest, stop - 1)
    return _block_before(text, lowest, group)


def _opened(text: str, lowest: int, closer: int) -> Span | None:
    """The quotation whose closing mark stands at `closer`."""
    lowest = max(lowest, text.rfind("\n\n", lowest, closer) + 1)
    openers = [opener for opener, closes in _MARKS.items() if closes == text[closer]]
    at = max(text.rfind(opener, lowest, closer) for opener in openers)
    return (at + 1, closer) if at >= 0 and text[at + 1 : closer].strip() else None


def _after(text: str, start: int, further: int | None) -> Span | None:
    """The quote that begins after `start`, unless it directly precedes the next citation, at `further`."""
    ceiling = len(text) if further is None else further
    ahead = text[start : min(ceiling, start + _LONGEST)]
    begins = start + len(ahead) - len(ahead.lstrip(_GAP + ")）"))
    if begins >= ceiling:
        return None
    if text[begins] not in _MARKS:
        return _block_after(text, start, begins, ceiling)
    stop = text.find(_MARKS[text[begins]], begins + 1, min(ceiling, begins + _LONGEST))
    if stop < 0 or "\n\n" in text[begins:stop] or not text[begins + 1 : stop].strip():
        return None
    is_next_ones = further is not None and not text[stop + 1 : further].strip(_GAP)
    return None if is_next_ones else (begins + 1, stop)


def _block_before(text: str, lowest: int, group: Group) -> Span | None:
    """The block quote before a citation: in the lines above it, or the citation ends its last line."""
    stop = lowest + len(text[lowest : group.start].rstrip(_GAP.replace(".", "") + ">"))
    start = text.rfind("\n", lowest, stop) + 1
    if start < lowest or not _QUOTED_LINE.match(text, start, stop):
        return None
    rest = text[group.end : group.end + 80].split("\n", 1)[0]
    if "\n" not in text[stop : group.start] and rest.strip(_GAP + ")）"):
        return None
    while start > lowest:
        above = text.rfind("\n", lowest, start - 1) + 1
        if above < lowest or not _QUOTED_LINE.match(text, above, start):
            break
        start = above
    return start, stop


def _block_after(text: str, start: int, begins: int, ceiling: int) -> Span | None:
    """The block quote that begins in a line after `start`."""
    line = text.rfind("\n", start, begins + 1) + 1
    if not line or text[begins] != ">":
        return None
    stop = begins
    while stop < ceiling and _QUOTED_LINE.match(text, stop, ceiling):
        stop = text.find("\n", stop, ceiling) + 1 or ceiling
    return line, stop


def checked(written: str, said: str | None) -> Quote:
    """The quote with its verdict; `said` = the chunk's text, None if it isn't known. No near match changes a number."""
    words = "\n".join(_QUOTED_LINE.sub("", line, count=1) for line in written.split("\n")).strip()
    if said is None:
        return Quote(words, "unchecked")
    chunk = plain(said)
    parts = [part for piece in _ELLIPSIS.split(words) if (part := plain(piece).strip(_EDGES))]
    if _in_order(parts, chunk):
        return Quote(words, "exact", 1.0)
    ratio, is_near = 1.0 if parts else 0.0, bool(parts)
    for part in parts:
        likeness, same_numbers = _likeness(part, chunk)
        ratio, is_near = min(ratio, likeness), is_near and same_numbers
    return Quote(words, "near" if is_near and ratio >= _NEAR else "not_found", round(ratio, 3))


def plain(text: str) -> str:
    """A text as texts are compared: NFKC, without invisible characters, white space made one space."""
    return " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", text)).split())


def _in_order(parts: Sequence[str], chunk: str) -> bool:
    """Whether the chunk has all parts, one after the other, and none of them begins or ends within a word."""
    at = 0
    for part in parts:
        found = _whole(part, chunk, at)
        if found < 0:
            return False
        at = found + len(part)
    return bool(parts)


def _whole(part: str, chunk: str, at: int) -> int:
    """Where the part stands as whole words, from `at` on; -1 if nowhere."""
    found = chunk.find(part, at)
    while found >= 0 and (_is_inside(chunk, found) or _is_inside(chunk, found + len(part))):
        found = chunk.find(part, found + 1)
    return found


def _is_inside(text: str, at: int) -> bool:
    """Whether a place is within a word or a number; Chinese, Japanese and Korean words have no such borders."""
    return 0 < at < len(text) and all(char.isalnum() and char < "\u2e80" for char in text[at - 1 : at + 1])


def _likeness(part: str, chunk: str) -> tuple[float, bool]:
    """How like the part is to what in the chunk is most like it, below 1, and whether all its numbers stand there."""
    if _whole(part, chunk, 0) >= 0:
        return _ALMOST, True
    if len(part) < _SHORTEST_NEAR or len(part) > len(chunk):
        return 0.0, False
    from rapidfuzz import fuzz  # noqa: PLC0415 - only quotes that aren't exact need it

    best = fuzz.partial_ratio_alignment(part, chunk)
    if best is None:
        return 0.0, False
    start, end = best.dest_start, best.dest_end
    while _is_inside(chunk, start):
        start -= 1
    while _is_inside(chunk, end):
        end += 1
    numbers = [set(_NUMBER.findall(text)) for text in (part, chunk[start:end])]
    return min(best.score / 100, _ALMOST), numbers[0] <= numbers[1]
