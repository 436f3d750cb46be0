"""How far to the left an id reaches that is no shown one: as it is written, and as it may be read.

An id may hold spaces and brackets, so that its beginning can only be told by what exists. `as_written` gives the
likeliest beginning, `other_beginnings` all that are worth asking about.
"""

from __future__ import annotations

from citewell.guard.borders import after_labels, introduction_ends, may_begin
from citewell.guard.brackets import Pair
from citewell.guard.ledger import Ledger
from citewell.guard.occurrences import Other
from citewell.guard.tries import starts_to

_STOPS = frozenset("\"'`<>[]{}()【】［］〔〕〖〗（）「」『』《》〈〉“”‘’«»,;，；、。！？：|=*!?…—")
_EDGE = frozenset("-_~#@'–.+&")
_SEPARATORS = ",;，；、|"
_LONGEST = 400
_MOST = 12


def as_written(text: str, other: Other, ledger: Ledger, around: Pair | None) -> int:
    """Where the id begins: with a shown document's id, else with the item in square brackets, else with the word."""
    lowest = max(other.floor, other.mark - _LONGEST)
    named = [at for at in starts_to(ledger.names, text, other.mark) if at >= lowest and may_begin(text, at, lowest)]
    if named:
        return named[-1]
    if around is not None and around.square:
        return _item(text, max(lowest, around.start + 1), other.mark)
    return _word(text, lowest, other.mark)


def other_beginnings(text: str, floor: int, start: int, mark: int, around: Pair | None) -> list[int]:
    """Where else the id may begin before `mark`, in the same line and the same brackets; the first is the farthest."""
    lowest = max(floor, mark - _LONGEST, text.rfind("\n", floor, mark) + 1, around.start + 1 if around else 0)
    found = [
        at
        for at in range(mark - 1, lowest - 1, -1)
        if at != start and not text[at].isspace() and _breaks(text, at) and may_begin(text, at, floor)
    ]
    return sorted({*found[:_MOST], *found[-1:]})


def _breaks(text: str, at: int) -> bool:
    """Whether a word or a sign begins here; what no letter or space precedes is looked at too."""
    return at == 0 or not (text[at - 1].isalnum() and text[at - 1].isascii())


def _item(text: str, lowest: int, mark: int) -> int:
    last = max(text.rfind(separator, lowest, mark) for separator in _SEPARATORS + "\n")
    return after_labels(text, max(lowest, last + 1), mark)


def _word(text: str, lowest: int, mark: int) -> int:
    start = mark
    while start > lowest and not text[start - 1].isspace() and text[start - 1] not in _STOPS:
        start -= 1
    start = after_labels(text, start, mark)
    while start < mark and text[start] in _EDGE:
        start += 1
    return introduction_ends(text, start, mark)
