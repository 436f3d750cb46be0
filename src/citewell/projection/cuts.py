"""A text -> a beginning of it that ends well: between grapheme clusters, preferably after a sentence or a word.

It knows limits in characters, and asks whoever counts tokens; what is cut, and why, it does not know.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, takewhile

import regex

from citewell.patterns import late

_GRAPHEME = late(lambda: regex.compile(r"\X"))
_CLUSTERS_BY_THEMSELVES = late(
    lambda: re.compile(
        "[\n -~\u00a1-\u00ac\u00ae-\u02ff\u0400-\u0482\u2010-\u2027\u3001-\u3029\u3041-\u3096\u30a1-\u30ff"
        "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e]*"
    )
)
_SENTENCE_END = late(lambda: regex.compile(r"""[。！？；｡]["'”’」』）)\]]*|[.!?]["”'’)\]]*(?=\s)|(?<=\S)(?=\r?\n)"""))
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_IN_WORD = rf"[[\w.:/@\-]--[{_UNSPACED}]]"
_WORD_END = late(lambda: regex.compile(rf"(?<=\S)(?:(?<!{_IN_WORD})|(?!{_IN_WORD}))", regex.V1))


def grapheme_ends(text: str, most: int) -> Sequence[int]:
    """Where the grapheme clusters of a text end, ascending, as far as `most` characters."""
    # Whether a cluster ends somewhere depends on what is before, and on the one character that follows.
    if _CLUSTERS_BY_THEMSELVES.fullmatch(text, 0, most + 1):
        return range(1, min(len(text), most) + 1)
    clusters = _GRAPHEME.findall(text, 0, most + 1)
    return list(takewhile(lambda end: end <= most, accumulate(map(len, clusters))))


def good_end(text: str, ends: Sequence[int]) -> int:
    """The best of these ends: after the last sentence in the last third, else after the last word in it, else the last.

    0 if there is none.
    """
    longest = ends[-1] if ends else 0
    third = longest - longest // 3
    allowed = set(ends[bisect_left(ends, third) :])
    for pattern in (_SENTENCE_END, _WORD_END):
        # The mark that ends a sentence may stand a few quotes and brackets before the last third.
        found = pattern.finditer(text, max(third - 4, 0), longest + 2)
        good = max((match.end() for match in found if match.end() in allowed), default=0)
        if good:
            return good
    return longest
