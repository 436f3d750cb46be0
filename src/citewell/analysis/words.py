"""Finds the runs of a text: words with what joins them, and stretches of scripts without spaces.

It knows nothing of the insides of a run. One pass of one pattern, in which no text can be divided in two ways.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from citewell.analysis.cjk import SCRIPTS

_DOT = r"\.(?<![\w.)\]]\.)(?=[A-Za-z])"  # .NET, .env
_JOINT = r"(?:[-‐./@:'’\\]|::?[/\\]{0,3}|\\\\)"  # max-conn, a.example, C:\new, https://x, std::vector
_SIGN = r"(?:\+\+|#(?!\w))?+"  # C++, C#
_EMOJI = "[\u2600-\u27bf\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff]|[\U0001f1e6-\U0001f1ff]{1,2}"
_ASCII = "[A-Za-z0-9_]++"
_NOTHING = r"\s!-\-/:-@\[-\^`{-~"
"""What most runs end with and none begins with, as the inside of a character class."""


def runs(text: str) -> list[str]:
    """Every run of a normalised text, in order: `why is kube-system/etcd-0 slow` -> 4 runs. Linear in the text."""
    return (_of_ascii() if text.isascii() else _of_any()).findall(text)


@cache
def _of_ascii() -> re.Pattern[str]:
    # Says the same as the other pattern about such text, in less time.
    return re.compile(_joined(_ASCII))


@cache
def _of_any() -> re.Pattern[str]:
    letters = rf"[^\W{''.join(SCRIPTS)}]"
    word = rf"{letters}+(?:[{_marks()}]+{letters}*+)*+"
    # Most words are of ASCII in such text too, and found as fast there if no other letter can go on with them.
    small = rf"{_rest(_ASCII)}(?![^\x00-\x7f]|{_JOINT}[^\x00-\x7f])"
    kinds = "|".join([small, *(f"[{script}]+" for script in SCRIPTS), _joined(word), _EMOJI])
    return re.compile(rf"(?![{_NOTHING}])(?:{kinds})")


def _joined(word: str) -> str:
    # Twice the rest: a pattern that begins with a character class skips what is none of it.
    return rf"{_rest(word)}|{_DOT}{_rest(word)}"


def _rest(word: str) -> str:
    return rf"{word}(?:{_JOINT}{word})*+{_SIGN}"


def _marks() -> str:
    """The combining marks, as the inside of a character class: `re` has no name for them, and they belong to words.

    Those beyond U+FFFF (scripts of old inscriptions, musical signs) are left out: with them the class is slow.
    """
    return "".join(mark for mark in map(chr, range(0x300, 0x10000)) if unicodedata.category(mark)[0] == "M")
