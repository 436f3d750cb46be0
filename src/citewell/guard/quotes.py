"""Words that an answer quotes beside a citation, and whether the cited chunk says them (GUARD-3).

A quote is text in quotation marks within a paragraph, or a block of lines that begin with `>`. It belongs to a citation
if it directly precedes it, or follows it and doesn't directly precede another, or is the whole text of its link.
Between them stand at most white space, emphasis, , . ; : – — ( ) | and words such as `see` and `says`.

Two texts are the same if they are after NFKC, without invisible characters and with white space made one; an ellipsis
in a quote stands for anything.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.guard.borders import after_labels
from citewell.guard.brackets import Pair
from citewell.guard.occurrences import Span
from citewell.guard.view import UNSEEN
from citewell.model import Quote

_NEAR = 0.9
_PIECE = 500
_ALMOST = 0.999  # 1 is for what is exact
_SHORTEST_NEAR = 12  # characters; of shorter quotes a near match says nothing
_DRESS = " \t\n*_~"
_MARKS = {"“": "”", "「": "」", "『": "』", "«": "»", "„": "“", "‹": "›", "＂": "＂", '"': '"', "‘": "’"}
_CLOSERS = frozenset(_MARKS.values())
_GAP = " \t\n*_~,.;:–—，。；：、(|"
_SAYING = "according to|says?|said|states?|reads?|notes?|writes?|说|说明|指出|写道|提到|称|中说"
_SAYS = re.compile(_SAYING, re.IGNORECASE)
_AHEAD = re.compile(rf"[{re.escape(_GAP)})）]*(?:(?:{_SAYING})(?: that)?[{re.escape(_GAP)}]*(?=[^\w]))?", re.IGNORECASE)
_WINDOW = 40
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:…|\.{3})\s*\]|…+|\.{3,})\s*")
_EDGES = " \t\n,.;:!?，。；：！？、"
_NUMBER = re.compile(r"(?:(?<!\w)[-\u2212\u2013])?\d+")
_NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|none|nothing|cannot|without)\b|n['’]t\b|[不未无無没沒别別勿非]", re.IGNORECASE
)
_QUOTED_LINE = re.compile(r"[ \t]*>[ \t>]*")


@dataclass(frozen=True, slots=True)
class Group:
    """Citations that stand side by side, such as `[a][b]` or `[a, b]`, with their brackets: they share a quote.

    Attributes:
        start, end: from the first bracket to the last.
        members: numbers of the citations.
        quoted: whether an id itself stands in quotation marks; then what stands before it is no quote.
        words: where the quote stands that is the text of its link; None if there is none.
    """

    start: int
    end: int
    members: tuple[int, ...]
    quoted: bool = False
    words: Span | None = None


def groups(text: str, anchors: Sequence[Group]) -> list[Group]:
    """Anchors of single citations, sorted, put together where they stand side by side."""
    found: list[list[Group]] = []
    reached = 0
    for single in anchors:
        alone = single.words or (found and found[-1][-1].words)
        if found and not alone and not text[reached : max(single.start, reached)].strip(" \t,;、，；&"):
            found[-1].append(single)
        else:
            found.append([single])
        reached = max(reached, single.end)
    return [_together(group) for group in found]


def _together(group: Sequence[Group]) -> Group:
    members = tuple(member for single in group for member in single.members)
    end = max(single.end for single in group)
    return Group(group[0].start, end, members, any(single.quoted for single in group), group[0].words)


def anchor(text: str, start: int, end: int, pair: Pair | None, members: tuple[int, ...]) -> Group:
    """A citation with the brackets and the emphasis around it."""
    quoted = start > 0 and end < len(text) and _MARKS.get(text[start - 1]) == text[end]
    if pair is not None and after_labels(text, pair.start + 1, start) == start:
        start, end = min(start, pair.start), max(end, pair.end)
    while start > 0 and end < len(text) and text[start - 1] == text[end] and text[end] in "*_`~":
        start, end = start - 1, end + 1
    return Group(start, end, members, quoted)


def quotation(text: str, start: int, end: int) -> Span | None:
    """The words in quotation marks that this stretch of the text is as a whole; None if it is anything else."""
    while start < end and text[start] in _DRESS:
        start += 1
    while end > start and text[end - 1] in _DRESS:
        end -= 1
    whole = end - start > 2 and _MARKS.get(text[start]) == text[end - 1]
    return (start + 1, end - 1) if whole and text[start + 1 : end - 1].strip() else None


def quotes_of(text: str, found: Sequence[Group]) -> dict[int, Span]:
    """Where the quote of each citation stands, by the citation's number; those without one are left out."""
    quotes: dict[int, Span] = {}
    for at, group in enumerate(found):
        floor = found[at - 1].end if at else 0
        further = found[at + 1].start if at + 1 < len(found) else None
        beside = None if group.quoted else _before(text, floor, group) or _after(text, group.end, further)
        span = group.words or beside
        if span is not None:
            quotes |= dict.fromkeys(group.members, span)
    return quotes


def _before(text: str, floor: int, group: Group) -> Span | None:
    """The quote that ends before a citation."""
    closer = _closer(text, floor, group.start)
    return _opened(text, floor, closer) if closer >= 0 else _block_before(text, floor, group)


def _closer(text: str, floor: int, end: int) -> int:
    """Where the closing mark stands that nothing but words which introduce a source parts from `end`; -1 if nowhere."""
    bare = floor + len(text[floor:end].rstrip(_GAP))
    if bare > floor and text[bare - 1] in _CLOSERS:
        return bare - 1
    closer = max(text.rfind(mark, max(floor, end - _WINDOW), end) for mark in _CLOSERS)
    begins = end - len(text[closer + 1 : end].lstrip(_GAP))
    introduced = after_labels(text, begins, end) == end or _SAYS.fullmatch(text[begins:end].rstrip(_GAP))
    return closer if introduced else -1


def _opened(text: str, lowest: int, closer: int) -> Span | None:
    """The quotation whose closing mark stands at `closer`."""
    lowest = max(lowest, text.rfind("\n\n", lowest, closer) + 1)
    openers = [opener for opener, closes in _MARKS.items() if closes == text[closer]]
    at = max(text.rfind(opener, lowest, closer) for opener in openers)
    return (at + 1, closer) if at >= 0 and text[at + 1 : closer].strip() else None


def _after(text: str, start: int, further: int | None) -> Span | None:
    """The quote that begins after `start`, unless it directly precedes the next citation, at `further`."""
    ceiling = len(text) if further is None else further
    ahead = _AHEAD.match(text, start, ceiling)
    begins = ahead.end() if ahead else start
    if begins >= ceiling:
        return None
    if text[begins] not in _MARKS:
        return _block_after(text, start, begins, ceiling)
    stop = text.find(_MARKS[text[begins]], begins + 1, ceiling)
    if stop < 0 or "\n\n" in text[begins:stop] or not text[begins + 1 : stop].strip():
        return None
    is_next_ones = further is not None and _closer(text, begins, further) == stop
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
    """The quote with its verdict; `said` = the chunk's text, None if it isn't known.

    No near match changes a number or drops a `not`.
    """
    words = "\n".join(_QUOTED_LINE.sub("", line, count=1) for line in written.split("\n")).strip()
    if said is None:
        return Quote(words, "unchecked")
    chunk = plain(said)
    parts = [part for piece in _ELLIPSIS.split(words) if (part := plain(piece).strip(_EDGES))]
    if _in_order(parts, chunk):
        return Quote(words, "exact", 1.0)
    ratio, is_near = _nearness(parts, chunk)
    return Quote(words, "near" if is_near else "not_found", round(ratio, 3))


def _nearness(parts: Sequence[str], chunk: str) -> tuple[float, bool]:
    """The least likeness of the parts, piece by piece as far as they are near, and whether all are."""
    ratio = 1.0 if parts else 0.0
    for part in parts:
        pieces = _pieces(part) if len(part) <= len(chunk) else [part]
        for piece in pieces:
            likeness, same_facts = _likeness(piece, chunk)
            ratio = min(ratio, likeness)
            if ratio < _NEAR or not same_facts:
                return ratio, False
    return ratio, bool(parts)


def _pieces(part: str) -> list[str]:
    """The part in equal pieces, cut at spaces, none long: the time of a near match grows with the square of length."""
    count = -(-len(part) // _PIECE)
    return textwrap.wrap(part, -(-len(part) // count), break_on_hyphens=False)


def plain(text: str) -> str:
    """A text as texts are compared: NFKC, without invisible characters, white space made one space."""
    return " ".join(UNSEEN.sub("", unicodedata.normalize("NFKC", text)).split())


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
    """How like the part is to what in the chunk is most like it, below 1; whether that has its numbers and `not`."""
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
    (numbers, denials), (said, denied) = _facts(part), _facts(chunk[start:end])
    return min(best.score / 100, _ALMOST), numbers <= said and denials == denied


def _facts(text: str) -> tuple[set[str], int]:
    """What turns a sentence into another with few letters: its numbers, and how often it says `not`."""
    numbers = {number.replace("\u2212", "-").replace("\u2013", "-") for number in _NUMBER.findall(text)}
    return numbers, len(_NEGATION.findall(text))
