r"""Takes a run apart: `fetchTableRow`, `max_conn`, `CVE-2031-0042`, `kube-system/etcd-0`, or just a plain word.

    run     kube-system/etcd-0        what stands between spaces
    step    kube-system, etcd-0       what stands between / \ : @
    part    kube, system, etcd        what stands between - . _ ' and at changes of case

It works on one run at a time, in its original case, and knows nothing of stems, stop words or how runs are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

import regex

from citewell.patterns import late

LONGEST = 128
"""The most characters of a token; of a longer one the first are kept, in texts and queries alike."""

_UPPER = r"\p{Lu}"
_LOWER = r"[[\p{L}\p{M}]--\p{Lu}]"
_DIGIT = r"\p{N}"

_STEP_END = regex.compile(r"[/\\:@]+")
_PART_END = regex.compile(r"[-._'’‐]+")
_CASE_PART = late(
    lambda: regex.compile(
        rf"(?V1){_UPPER}{{2,}}s(?!{_LOWER})"  # PVCs
        rf"|(?:{_UPPER}+(?={_UPPER}{_LOWER})|{_UPPER}?{_LOWER}+|{_UPPER}+)(?:{_DIGIT}{{1,2}}(?!{_DIGIT}))?"  # HTTP, R2
        rf"|{_DIGIT}+(?:{_LOWER}+(?!{_DIGIT})|{_UPPER}+(?!{_LOWER}))?"  # 4471, 10kb, the 404 of 404Error
    )
)
_PLAIN = late(lambda: regex.compile(rf"(?V1){_UPPER}?{_LOWER}+|{_UPPER}+s?"))
_NEGATION = late(lambda: regex.compile(r"\p{L}+n['’]t", regex.IGNORECASE))
_APOSTROPHE = late(lambda: regex.compile(r"['’]"))
_ENDING = late(lambda: regex.compile(r"['’](?:s|re|ll|ve|d|m)$", regex.IGNORECASE))
_PLURAL = late(lambda: regex.compile(rf"{_UPPER}{{2,}}s"))
_VERSION = late(lambda: regex.compile(r"([vV]?)(\d+\.\d+)(?:\.\d+(?!\.?\d).*)?"))
_NAME = late(lambda: regex.compile(rf"(?V1){_DIGIT}|_|[^-‐][-‐][^-‐]|{_LOWER}{_UPPER}|{_UPPER}{{2}}{_LOWER}{{2}}"))
_SIGNED = late(lambda: regex.compile(r"(?<![^/\\:@])[A-Za-z](?:\+\+|#)$"))
_WRITTEN_TOGETHER = late(lambda: regex.compile(r"\p{L}(?:\.\p{L})+|\p{L}[-‐'’]\p{L}+"))
_SHORTEST = 2
_SHORTEST_NUMBER = 3
_SHORTEST_MEAN = 2


class Kind(Enum):
    """What a piece is to its run."""

    WORD = auto()
    """A plain word, or a part of something longer; may be stemmed."""
    WHOLE = auto()
    """An identifier as written."""
    STEP = auto()
    """An identifier as written, inside a longer run and with parts in letters that can stand in for it."""


class Piece(NamedTuple):
    """One piece of a run, case-folded and at most LONGEST characters."""

    text: str
    kind: Kind


def take_apart(run: str) -> list[Piece]:
    """The pieces of a run, the whole before its parts; a plain word is one piece.

    Steps of one letter, and parts of one letter or of less than three digits, are left out: they match everywhere and
    say nothing. What falls into parts of less than two characters on average (`k8s`, `7c9d5b6f4`, base64) has none.
    """
    if _is_plain(run):
        return [_word(run)]
    run = _without_sign(run)
    steps = [step for step in _STEP_END.split(run) if step]
    if len(steps) == 1:
        return list(_pieces(steps[0], Kind.WHOLE))
    pieces = [Piece(_fold(run), Kind.WHOLE)]
    for step in steps:
        if len(step) >= _SHORTEST or _NAME.search(step):
            pieces += _pieces(step, Kind.STEP)
    return pieces


def names(run: str) -> list[str]:
    """The steps of a run that are identifiers (SCORE-6): a digit, an underscore, an inner hyphen or camel case."""
    steps = map(_without_ending, _STEP_END.split(_without_sign(run)))
    return [_fold(step) for step in steps if _NAME.search(step) and _PART_END.sub("", step)]


def _pieces(step: str, kind: Kind) -> Iterator[Piece]:
    step = _without_ending(step)
    if _is_plain(step) or (_APOSTROPHE.search(step) and _NEGATION.fullmatch(step)):
        yield _word(step)
        return
    words = [word for word in _PART_END.split(step) if word]
    if words:
        parts = [part for word in words for part in _parts(word, step)]
        replaceable = kind is Kind.STEP and any(map(str.isalpha, "".join(parts)))
        yield Piece(_fold(step), Kind.STEP if replaceable else Kind.WHOLE)
        yield from _variants(step, words)
        yield from map(_word, parts)


def _variants(step: str, words: list[str]) -> Iterator[Piece]:
    """Other ways to write a step: `1.24.3` and `1.24` for `v1.24.3`, `email` for `e-mail`, `us` for `u.s`."""
    if version := _VERSION.fullmatch(step):
        bare, release = step[len(version[1]) :], version[2]
        yield from (Piece(_fold(text), Kind.WHOLE) for text in dict.fromkeys((bare, release)) if text != step)
    elif len(words) > 1 and _WRITTEN_TOGETHER.fullmatch(step):
        yield _word("".join(words))


def _parts(word: str, step: str) -> list[str]:
    """The parts of one word of a step, none if it is the step itself and can't be divided."""
    parts: list[str] = [word] if _is_small(word) else _CASE_PART.findall(word) if len(word) <= LONGEST else []
    if len(word) < _SHORTEST_MEAN * len(parts) or not parts:
        parts = [word]
    return [part for part in parts if len(part) >= (_SHORTEST_NUMBER if part.isdigit() else _SHORTEST) and part != step]


def _without_sign(run: str) -> str:
    """Without `++` or `#` at its end, unless it is `C++` or `C#`."""
    return run if run[-1] not in "+#" or _SIGNED.search(run) else run.rstrip("+#")


def _without_ending(step: str) -> str:
    return _ENDING.sub("", step) if _APOSTROPHE.search(step) else step


def _is_plain(run: str) -> bool:
    return _is_small(run) or bool(_PLAIN.fullmatch(run))


def _is_small(run: str) -> bool:
    """Whether these are small letters of ASCII alone, as most are; told without a pattern."""
    return run.isascii() and run.isalpha() and run.islower()


def _word(text: str) -> Piece:
    return Piece(_fold(text[:-1] if text[-1:] == "s" and _PLURAL.fullmatch(text) else text), Kind.WORD)


def _fold(text: str) -> str:
    if text.isascii():
        return text[:LONGEST].lower()
    return text[:LONGEST].casefold().replace("’", "'").replace("‐", "-")[:LONGEST]
