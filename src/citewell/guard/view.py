"""A text as it is read: what is escaped, addressed or unseen is resolved, each character knowing where it stood.

Escapes are those of Markdown, HTML and JSON; addresses are Citewell's own, such as `citewell:///docA%23chunk-2`.

It knows characters alone, nothing of ids or Markdown. A key goes through the same treatment before it is looked for,
so that a key that itself holds an escape is found where it is written out.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import regex

_PASSES = 2  # a reference may stand behind an escape, or the other way round; deeper nesting is no copying fault
_SPECIAL = regex.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<units>(?:\\u[0-9a-fA-F]{4})+)"
    r"|&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
    r"|\p{Default_Ignorable_Code_Point}+",
)
_ADDRESS = regex.compile(r"citewell:///(?P<id>[A-Za-z0-9_.~/%-]*[A-Za-z0-9_~/])")
UNSEEN = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
"""What is in a text and can't be seen."""

_COMPOSABLE = r"\P{M}\p{M}+|[\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff]+"
_NO_LITERAL = "\x1a"  # a character that Markdown gives no meaning


@dataclass(frozen=True, slots=True)
class View:
    """A text as it is read.

    Attributes:
        text: NFC, without escapes, references, addresses and invisible characters.
        structure: as long as `text`; what was escaped there is neutral, so that it makes no Markdown.
        raw: the text as written.
        starts, ends: for each character of `text`, where what it stands for begins and ends in `raw`.
    """

    text: str
    structure: str
    raw: str
    starts: range | list[int]
    ends: range | list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, not empty, stands in `raw`."""
        return self.starts[start], self.ends[end - 1]

    def written(self, start: int, end: int) -> str:
        """`text[start:end]` as written."""
        begins, ends = self.span(start, end)
        return self.raw[begins:ends]

    def around(self, start: int, end: int) -> str:
        """`text[start:end]` as written, with the invisible characters around it."""
        begins = self.ends[start - 1] if start else 0
        ends = self.starts[end] if end < len(self.text) else len(self.raw)
        return self.raw[begins:ends]


def view_of(raw: str, whole: Iterable[str] = ()) -> View:
    """The text as it is read; in linear time. A backslash that ends one of the words in `whole` escapes nothing."""
    view = View(raw, raw, raw, range(len(raw)), range(1, len(raw) + 1))
    plain = frozenset(at for word in whole for at in _last_places(raw, word))
    view = _replaced(view, _ADDRESS, lambda address: unquote(address["id"]), literal=True)
    for _ in range(_PASSES):
        view = _replaced(view, _SPECIAL, _seen, literal=True, plain=plain)
        if not unicodedata.is_normalized("NFC", view.text):
            view = _replaced(view, _composing(view.text), lambda match: unicodedata.normalize("NFC", match[0]))
    return view


def squash(key: str) -> str:
    """A key as a view has it; an address in it is part of it."""
    text = key
    for _ in range(_PASSES):
        text = _SPECIAL.sub(_seen, text)
        text = unicodedata.normalize("NFC", text)
    return text


def _seen(special: regex.Match[str]) -> str:
    """What an escape, a reference or invisible characters stand for; JSON escapes come in pairs beyond U+FFFF."""
    if special["escaped"] is not None:
        return special["escaped"]
    if special["units"] is not None:
        units = bytes.fromhex(special["units"].replace("\\u", ""))
        return UNSEEN.sub("", units.decode("utf-16-be", "surrogatepass"))
    return UNSEEN.sub("", html.unescape(special[0])) if special[0][0] == "&" else ""


def _composing(text: str) -> regex.Pattern[str]:
    """What normalisation may change: marks with what they stand on, syllables, and characters with another form."""
    singles = "".join(sorted(char for char in set(text) if unicodedata.normalize("NFC", char) != char))
    return regex.compile(f"{_COMPOSABLE}|[{regex.escape(singles)}]" if singles else _COMPOSABLE)


def _last_places(text: str, word: str) -> Iterator[int]:
    """Where the last character of a word stands, wherever the word does."""
    at = text.find(word)
    while at >= 0:
        yield at + len(word) - 1
        at = text.find(word, at + 1)


def _replaced(
    view: View,
    pattern: regex.Pattern[str],
    new: Callable[[regex.Match[str]], str],
    *,
    literal: bool = False,
    plain: frozenset[int] = frozenset(),
) -> View:
    """The view with each match of the pattern replaced but those that begin at `plain` places of the raw text."""
    pieces: list[str] = []
    structure: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in pattern.finditer(view.text):
        start, end = match.span()
        if plain and view.ends[start] - 1 in plain:
            continue
        text = new(match)
        pieces += (view.text[done:start], text)
        structure += (view.structure[done:start], _NO_LITERAL * len(text) if literal else text)
        starts += view.starts[done:start]
        ends += view.ends[done:start]
        starts += [view.starts[start]] * len(text)
        ends += [view.ends[end - 1]] * len(text)
        done = end
    if not done:
        return view
    pieces.append(view.text[done:])
    structure.append(view.structure[done:])
    starts += view.starts[done:]
    ends += view.ends[done:]
    return View("".join(pieces), "".join(structure), view.raw, starts, ends)


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, its line feed left out."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1
