"""The questions that a floor is calibrated with: everyday ones, and ones made of a store's own sentences; no store.

A sentence asked as it stands would find its passage too easily, so two of five words are left out, by chance from the
seed; in scripts without spaces two of five characters. What is no prose (code, lists, tables, headings) makes no
question. Held beside people's questions on five public sets, what is left is harder to find than theirs, or about as
hard (docs/tuning.md).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np

_ENDS: Final = re.compile(r"(?<=[.!?؟।])\s+|(?<=[。！？；])|\n+")
_PROSE: Final = re.compile(r"[.!?؟।。！？；]\Z")
_LETTERS: Final = 0.85
_KEPT: Final = 0.6
_WORDS, _CHARACTERS = 8, 16
"""Fewer words, or characters where there are no spaces, are no sentence to ask."""

_LONGEST: Final = 300
_LONG_WORD: Final = 12
"""Pieces between spaces that are longer than this on the average are no words."""


@cache
def everyday() -> Mapping[str, tuple[str, ...]]:
    """Questions that few stores answer, by ISO 639-1 code of their language."""
    text = resources.files("citewell.evaluation").joinpath("offtopic.toml").read_text("utf-8")
    return {language: tuple(questions) for language, questions in tomllib.loads(text).items()}


def question_of(passage: str, draw: np.random.Generator) -> str | None:
    """Three of five words (or characters) of one of its sentences, in their order; None if it has no fit sentence."""
    sentences = [parts for piece in _ENDS.split(passage) if (parts := _parts(piece.strip()))]
    if not sentences:
        return None
    words, joint = sentences[int(draw.integers(0, len(sentences)))]
    kept = sorted(draw.permutation(len(words))[: ceil(len(words) * _KEPT)].tolist())
    return joint.join(words[place] for place in kept)


def _parts(sentence: str) -> tuple[Sequence[str], str] | None:
    """Words and the space between them, or characters and nothing; None for what is no sentence."""
    if not _PROSE.search(sentence) or _letters(sentence) < _LETTERS:
        return None
    words = sentence[:_LONGEST].split()
    characters = "".join(words)
    if len(words) > 1 and len(characters) / len(words) <= _LONG_WORD:
        return (words, " ") if len(words) >= _WORDS else None
    return (characters, "") if len(characters) >= _CHARACTERS else None


def _letters(sentence: str) -> float:
    """The share of letters and spaces."""
    return sum(character.isalpha() or character.isspace() for character in sentence) / len(sentence)
