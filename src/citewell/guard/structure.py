"""What Markdown makes of an answer: code, links with their targets, footnotes and reference definitions.

It reads a text of which what is escaped and what is an id has been made neutral, so that neither can open a block.
Only what matters to citations is read; indented code is not: in answers it is a list far more often than code.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from citewell.guard.brackets import Pair
from citewell.guard.view import lines

_FENCE = re.compile(r"[ \t>]{0,32}(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_ELEMENT = re.compile(r"<(code|pre)\b[^<>\n]{0,200}>|</(code|pre)>", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+|\n[ \t>]*\n")
_TARGET = re.compile(
    r"\([ \t]{0,9}(?:<([^<>\n]{1,1000})>|((?:(?!\]\()[^\s()<>]|\([^\s()<>]{0,200}\)){1,1000}))"
    r"(?:[ \t\n]{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|\([^()\n]{0,300}\)))?[ \t]{0,9}\)"
)
_DEFINITION = re.compile(r"[ ]{0,3}(?:[-*+>][ \t]{1,3})?\[(\^?[^\[\]\n\x1a]{1,200})\](:)?[ \t]*(?=\S)")
_NUMBER = re.compile(r"\d{1,3}")
_CONTINUED = re.compile(r"(?:[ ]{2,}|\t)[ \t]*(?=\S)")


@dataclass(frozen=True, slots=True)
class Link:
    """`[text](target)`: the pair around its text, where its target stands, where it begins and ends."""

    text: Pair
    target: tuple[int, int]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Definition:
    """`[^label]: body`, `[label]: target` or a numbered source `[3] body`: its whole lines, and its body."""

    label: str
    start: int
    body: int
    end: int
    numbered: bool

    @property
    def is_footnote(self) -> bool:
        """Whether readers see its body."""
        return self.numbered or self.label.startswith("^")


@dataclass(frozen=True, slots=True)
class Structure:
    """What Markdown makes of an answer.

    Attributes:
        code: spans of blocks and of inline code with their marks, sorted.
        inline: those of inline code.
        links: in reading order.
        definitions: by label.
        uses: where `[label]` refers to a definition; with the text before it for `[text][label]`.
    """

    code: Sequence[tuple[int, int]] = ()
    inline: frozenset[tuple[int, int]] = frozenset()
    links: Sequence[Link] = ()
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    uses: Mapping[str, Sequence[tuple[Pair | None, Pair]]] = field(default_factory=dict)


def code_spans(text: str) -> tuple[list[tuple[int, int]], frozenset[tuple[int, int]]]:
    """All code, sorted, and which of it is inline."""
    blocks = _fences(text)
    blocks += _elements(text, blocks)
    blocks.sort()
    inline = [span for start, end in _between(blocks, len(text)) for span in _inline(text, start, end)]
    return sorted([*blocks, *inline]), frozenset(inline)


def blanked(text: str, spans: Sequence[tuple[int, int]], filler: str = "x") -> str:
    """The text with what these sorted spans cover made neutral, as long as before."""
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], filler * (end - start))
        done = end
    return "".join([*pieces, text[done:]])


def structure_of(text: str, found: Sequence[Pair]) -> Structure:
    """What Markdown makes of a text in which ids and escapes are neutral; `found` = its pairs of brackets."""
    code, inline = code_spans(text)
    bare = blanked(text, code)
    plain = [pair for pair in found if pair.square and bare[pair.start] == "[" and bare[pair.end - 1] == "]"]
    definitions = _definitions(bare)
    return Structure(code, inline, _links(bare, plain), definitions, _uses(bare, plain, definitions))


def _fences(text: str) -> list[tuple[int, int]]:
    """Fenced blocks with their marks; one that isn't closed reaches to the end."""
    found: list[tuple[int, int]] = []
    opened, mark = -1, ""
    for start, end in lines(text):
        match = _FENCE.match(text[start:end])
        if match is None:
            continue
        if opened < 0:
            opened, mark = start, match[1]
        elif match[1][0] == mark[0] and len(match[1]) >= len(mark) and not text[start + match.end() : end].strip():
            found.append((opened, end))
            opened = -1
    return [*found, (opened, len(text))] if opened >= 0 else found


def _elements(text: str, blocks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """`<code>` and `<pre>` elements outside the blocks."""
    found = []
    for start, end in _between(blocks, len(text)):
        opened, name = -1, ""
        for match in _ELEMENT.finditer(text, start, end):
            if match[1] and opened < 0:
                opened, name = match.start(), match[1].lower()
            elif match[2] and opened >= 0 and match[2].lower() == name:
                found.append((opened, match.end()))
                opened = -1
    return found


def _between(spans: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    done = 0
    for start, end in spans:
        yield done, start
        done = end
    yield done, length


def _inline(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Inline code: from a run of backticks to the next run of the same length in the same paragraph."""
    for runs in _paragraphs(text, start, end):
        by_length: dict[int, list[int]] = defaultdict(list)
        for begins, ends in runs:
            by_length[ends - begins].append(begins)
        done = start
        for begins, ends in runs:
            same = by_length[ends - begins]
            after = bisect_right(same, begins)
            if begins >= done and after < len(same):
                done = same[after] + ends - begins
                yield begins, done


def _paragraphs(text: str, start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """The runs of backticks of each paragraph."""
    runs: list[tuple[int, int]] = []
    for match in _BACKTICKS.finditer(text, start, end):
        if match[0][0] == "`":
            runs.append(match.span())
        else:
            yield runs
            runs = []
    yield runs


def _links(text: str, plain: Sequence[Pair]) -> list[Link]:
    found = []
    for pair in plain:
        match = _TARGET.match(text, pair.end) if text.startswith("(", pair.end) else None
        if match is not None:
            start = pair.start - text.startswith("!", pair.start - 1) if pair.start else 0
            found.append(Link(pair, match.span(1 if match[1] else 2), start, match.end()))
    return found


def _definitions(text: str) -> dict[str, Definition]:
    """By label, the first of each; a line that goes on, indented, belongs to it."""
    found: dict[str, Definition] = {}
    current: Definition | None = None
    for start, end in lines(text):
        match = _DEFINITION.match(text, start, end)
        if match is not None and (match[2] or _NUMBER.fullmatch(match[1])):
            label = _label(match[1])
            current = Definition(label, start, match.end(), end, numbered=not match[2])
            found.setdefault(label, current)
        elif current is not None and _CONTINUED.match(text, start, end) and found[current.label] == current:
            current = found[current.label] = Definition(
                current.label, current.start, current.body, end, current.numbered
            )
        else:
            current = None
    return found


def _uses(
    text: str, plain: Sequence[Pair], definitions: Mapping[str, Definition]
) -> dict[str, list[tuple[Pair | None, Pair]]]:
    """Where the labels are used: not where they are defined, nor as the text of a link."""
    ends = {pair.end: pair for pair in plain}
    found: dict[str, list[tuple[Pair | None, Pair]]] = defaultdict(list)
    for pair in plain:
        label = _label(text[pair.start + 1 : pair.end - 1]) if pair.end - pair.start <= 210 else ""
        definition = definitions.get(label)
        if definition is not None and not definition.start <= pair.start < definition.body:
            found[label].append((ends.get(pair.start), pair))
    return dict(found)


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()
