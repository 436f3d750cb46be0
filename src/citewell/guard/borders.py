"""Where an id may begin and end in running text: letters that touch it belong to it, punctuation and labels don't.

    [docA#chunk-1].   **docA#chunk-1**   evidence:docA#chunk-1   参见docA#chunk-1所述      its own border
    xdocA#chunk-1     old/docA#chunk-1   docA#chunk-1x           docA#chunk-1.5           another id

It knows characters and a few words that introduce a source; it knows nothing of what was shown.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import regex

# Scripts that are written without spaces, or whose endings are attached: in them an id is wedged between letters.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_SPACED_WORD = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]"
_TOUCH = (
    rf"(?:{_SPACED_WORD}|_+(?={_SPACED_WORD})|[*_~`^]++(?=\p{{N}})|[-‐‑](?={_SPACED_WORD})|\.(?=[\p{{Ll}}\p{{N}}])"
    rf"|[–−~～/](?=\p{{N}})|[@\#＃](?={_SPACED_WORD})|%(?=[0-9A-Fa-f]{{2}}))"
)
_TOUCHED = regex.compile(_TOUCH, regex.V1)
_TAIL = regex.compile(f"{_TOUCH}+", regex.V1)

_LATIN_LABELS = (
    r"evidence(?:[ _-]?(?:id|key)s?)?|documents?(?:[ _-]?ids?)?|doc[ _-]?ids?|sources?|refs?"
    r"|references?|citations?|cited?|cf|see(?: also)?|from|via|per|ids?|keys?|chunks?"
)
_HAN_LABELS = (
    "详见|参见|请见|另见|可见|请看|查看|参考|参照|根据|依据|按照|遵照|来源|来自|源自|出处|出自|引自|引用|摘自|证据|文档"
    "|資料|资料|詳見|參見|參考|根據|依據|來源|來自|出處|證據|文檔|文件"
)
_HAN_WORDS = "见據据按如由从從在和与與及或对對以是为為的即于於到至中因而也并並像跟依見了说說"
_LABEL_BEFORE = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}_])(?:{_LATIN_LABELS})[ \t]{{0,3}}[:=]$|(?:{_HAN_LABELS})[ \t]{{0,3}}:?$",
    regex.IGNORECASE,
)
_LABELS_FIRST = regex.compile(
    rf"[\s*_`~]*(?:(?:{_LATIN_LABELS}|and|or)(?=[\s*_`~:：=])|{_HAN_LABELS}|(?:&|[和与及或見见])(?=\s))"
    r"[\s*_`~]*[:：=]?[\s*_`~]*",
    regex.IGNORECASE,
)
_WINDOW = 24
_BETWEEN_IDS = frozenset("/+&:")
_JOINTS = frozenset("/\\.-‐‑:@#＃%+~&$")

_Kind = Literal["space", "word", "unspaced", "joint", "underscore", "other"]
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_IS_HIRAGANA = regex.compile(r"\p{Hiragana}")
_IS_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]")


@lru_cache(maxsize=1 << 12)
def _kind(char: str) -> _Kind:
    if char.isspace():
        return "space"
    if char == "_":
        return "underscore"
    if char in _JOINTS:
        return "joint"
    if _IS_UNSPACED.match(char):
        return "unspaced"
    return "word" if _IS_WORD.match(char) else "other"


def is_touched(text: str, end: int) -> bool:
    """Whether something touches an id that ends at `end`, so that it is another id."""
    return _TOUCHED.match(text, end) is not None


def touching(text: str, end: int) -> int:
    """Where what touches an id that ends at `end` ends; `end` itself if nothing does."""
    found = _TAIL.match(text, end)
    return found.end() if found else end


def may_begin(text: str, at: int, floor: int = 0) -> bool:
    """Whether an id may begin at `at`: nothing that touches it stands before it. At `floor` another id has ended."""
    if at == 0:
        return True
    before = _kind(text[at - 1])
    if before in ("space", "other"):
        return True
    if before == "joint":
        return _joint_ends(text, at, floor)
    if before == "underscore":
        return _emphasis_begins(text, at)
    return _introduced(text, at, before)


def _emphasis_begins(text: str, at: int) -> bool:
    """Whether the underscores before it are no part of a word."""
    place = _run_begins(text, at, "underscore", 0)
    return place == 0 or _kind(text[place - 1]) in ("space", "other")


def _joint_ends(text: str, at: int, floor: int) -> bool:
    """Whether what stands before it, such as `-`, `:` or `/`, joins it to nothing."""
    place = _run_begins(text, at, "joint", floor)
    run = text[place:at]
    if place == floor and run in _BETWEEN_IDS:
        return True
    if "/" in run or "\\" in run:
        return False
    attached = place > 0 and _kind(text[place - 1]) in ("word", "unspaced", "underscore")
    return not attached or (run == ":" and _labelled(text, at))


def _run_begins(text: str, at: int, kind: _Kind, floor: int) -> int:
    """Where the signs of one kind before a place begin, as far as it is worth looking."""
    place, lowest = at - 1, max(floor, at - _WINDOW)
    while place > lowest and _kind(text[place - 1]) == kind:
        place -= 1
    return place


def _labelled(text: str, at: int) -> bool:
    return _LABEL_BEFORE.search(text, max(0, at - _WINDOW), at) is not None


def _introduced(text: str, at: int, before: _Kind) -> bool:
    """Whether the letter before it ends a word that introduces a source, in a script that needs no space between."""
    if before != "unspaced":
        return False
    if _labelled(text, at):
        return True
    free = at < 2 or _kind(text[at - 2]) in ("space", "other")
    if _kind(text[at]) == "unspaced":
        return text[at - 1] in _HAN_WORDS and free
    return text[at - 1] in _HAN_WORDS or _IS_HIRAGANA.match(text[at - 1]) is not None


def after_labels(text: str, start: int, end: int) -> int:
    """Where a piece of text begins once white space, emphasis and words that introduce a source are left aside."""
    while start < end:
        found = _LABELS_FIRST.match(text, start, end)
        if found is None or found.end() == start:
            break
        start = found.end()
    while start < end and (text[start].isspace() or text[start] in "*_`~"):
        start += 1
    return start


def introduction_ends(text: str, start: int, end: int) -> int:
    """Where a word begins after letters that introduce a source, such as 根据 before a Latin id; else `start`."""
    for at in range(end - 1, start, -1):
        before = _kind(text[at - 1])
        if before == "unspaced" and _kind(text[at]) != "unspaced" and _introduced(text, at, before):
            return at
    return start
