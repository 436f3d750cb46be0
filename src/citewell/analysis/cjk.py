"""Cuts runs of scripts that are written without spaces; knows nothing of words between spaces, stems or stop words.

Chinese gets the words of a dictionary (search mode: the parts of long words too), and besides them every pair of
neighbours that is no such word: the dictionary cuts a phrase one way in a sentence and another way in a query, pairs
meet in both. Kana, Hangul and the scripts of South-East Asia get pairs alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from operator import add
from typing import Protocol

import regex

from citewell.patterns import late

HAN = "\u2e80-\u2fdf\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d-\u309f\u30fc"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"
SOUTH_EAST = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
"""Thai, Lao, Burmese and Khmer letters and vowel signs, without their digits."""

SCRIPTS = (HAN, HIRAGANA, KATAKANA, HANGUL, SOUTH_EAST)
"""Each as the inside of a character class. A run holds one of them: a particle doesn't stick to the word before it."""


class _Segmenter(Protocol):
    def cut_for_search(self, text: str, hmm: bool) -> list[str]: ...


_HAN = late(lambda: re.compile(f"[{HAN}]"))
_UNSPACED = late(lambda: re.compile(f"[{''.join(SCRIPTS)}]"))
_SOUTH_EAST = late(lambda: re.compile(f"[{SOUTH_EAST}]"))
_CLUSTER = late(lambda: regex.compile(r"\P{M}\p{M}*|\p{M}+"))


def is_unspaced(run: str) -> bool:
    """Whether a run is one of these scripts, by its first character."""
    return not run.isascii() and _UNSPACED.match(run) is not None


def cut(run: str) -> list[str]:
    """The tokens of one run: words, then the other pairs, for Chinese; pairs for the rest; one character is itself."""
    if _HAN.match(run):
        return _chinese(run)
    units = _CLUSTER.findall(run) if _SOUTH_EAST.match(run) else run
    return _pairs(units) or [run]


def _chinese(run: str) -> list[str]:
    # Without guessing at unknown words: a guess depends on what stands around it, and measured worse.
    words = _segmenter().cut_for_search(run, hmm=False)
    known = set(words)
    return words + [pair for pair in _pairs(run) if pair not in known]


def _pairs(units: Sequence[str]) -> list[str]:
    return list(map(add, units, units[1:]))


@cache
def _segmenter() -> _Segmenter:
    # An instance of our own: the library's shared one can be given other words by whoever else uses it.
    import rjieba  # noqa: PLC0415 - loading its dictionary takes a quarter of a second

    segmenter: _Segmenter = rjieba.Jieba()
    return segmenter
