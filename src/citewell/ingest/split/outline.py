"""Text -> Outline: which lines are headings, fences, tables and prose, and how good a place each border is to cut.

Markdown is read by its block rules alone; plain text has paragraphs. An outline knows positions, not sizes: what fits
into a chunk is decided elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from citewell.ingest.split.block_state import BlockState
from citewell.ingest.split.headings import heading_title
from citewell.ingest.split.paragraph_rule import with_paragraphs
from citewell.ingest.split.table_rule import with_tables
from citewell.model import Heading

Kind = Literal["heading", "prose", "lines", "fence", "table"]

_LEAVES: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph": "prose",
    "fence": "fence",
    "code_block": "lines",
    "html_block": "lines",
    "table_open": "table",
    "hr": "lines",
}
_CONTAINERS = {"bullet_list_open", "ordered_list_open", "blockquote_open"}
_CONTAINER_ENDS = {"bullet_list_close", "ordered_list_close", "blockquote_close"}
_MARKER = re.compile(r"[^\s>]")
_MARKERS = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])))*[ \t]*")
# Bound to the starts of lines, and without a way back: a line of a million spaces would be tried from each of them.
_PARAGRAPH = re.compile(r"^[^\S\n]*+\S.*(?:\n[^\S\n]*+\S.*)*", re.MULTILINE)

# How good a place a border is to cut, from 0 to 1.
_BETWEEN_BLOCKS = 1.0
_PER_CONTAINER = 0.15
_AFTER_COLON = 0.4
_COLONS = frozenset(":：")


class Block(NamedTuple):
    """A run of whole lines; a tuple, because a text has tens of thousands of them.

    Attributes:
        kind: `lines` is text whose line breaks mean something, such as HTML or indented code.
        start, end: in characters of the text; blocks follow one another without gaps, so that blank lines belong to
            the block before them.
        stop: where its last visible character ends.
        border: how good a place its start is to cut, 0..1.
        level: of a heading, 1..6; 0 = no heading that opens a section.
        title: of such a heading, as plain text.
        inner: what lies between a table's header rows and its end, or between a fence's marks, without blank lines at
            the end; only there it may be cut.
        opening: what each later part repeats before itself; the header rows or the fence's opening line.
        closing: what each earlier part repeats after itself; the fence's closing line.
        indent: what stands before each line of a fence inside a list or a quote.
        closed: False for a fence whose closing line is missing.
    """

    kind: Kind
    start: int
    end: int
    stop: int = 0
    border: float = _BETWEEN_BLOCKS
    level: int = 0
    title: str = ""
    inner: tuple[int, int] = (0, 0)
    opening: str = ""
    closing: str = ""
    indent: str = ""
    closed: bool = True


class Outline:
    """The blocks of a text from `start` on, and the headings in force at any place."""

    def __init__(self, text: str, blocks: Sequence[Block]) -> None:
        self.text = text
        self.blocks = tuple(blocks)
        self.starts = [block.start for block in self.blocks]
        self.headings = tuple(block for block in self.blocks if block.level)
        self._heading_starts = [heading.start for heading in self.headings]
        self._paths = list(_paths(self.headings))

    def index_at(self, position: int) -> int:
        """The index of the block in which a position lies."""
        return max(bisect_right(self.starts, position) - 1, 0)

    def block_at(self, position: int) -> Block:
        """The block in which a position lies."""
        return self.blocks[self.index_at(position)]

    def path_at(self, position: int) -> tuple[str, ...]:
        """The headings in force at a position, outermost first; a heading is in force from its own line on."""
        index = bisect_right(self._heading_starts, position) - 1
        return self._paths[index] if index >= 0 else ()


def _paths(headings: Sequence[Block]) -> Iterator[tuple[str, ...]]:
    open_headings: list[Block] = []
    for heading in headings:
        while open_headings and open_headings[-1].level >= heading.level:
            open_headings.pop()
        open_headings.append(heading)
        yield tuple(each.title for each in open_headings if each.title)


def outline_text(text: str, start: int = 0, headings: Sequence[Heading] = (), *, kind: Kind = "prose") -> Outline:
    """Text without markup: paragraphs between blank lines, and headings where they are said to be."""
    by_start = {heading.start: heading for heading in headings if start <= heading.start < len(text)}
    places = {match.start() for match in _PARAGRAPH.finditer(text, start)}
    places |= by_start.keys() | {text.find("\n", place) + 1 or len(text) for place in by_start}
    found = [
        _headed(by_start[place], end) if place in by_start else Block(kind, place, end, inner=(place, end))
        for place, end in _stretch(sorted(places), start, len(text))
    ]
    return Outline(text, _joined_up(found, text, start))


def _headed(heading: Heading, end: int) -> Block:
    """The line that a heading stands at."""
    return Block("heading", heading.start, end, level=heading.level, title=heading.title, inner=(end, end))


def _stretch(places: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Neighbouring ranges that cover start..end, one per place; the first begins at `start`."""
    inner = [place for place in places if start < place < end]
    return pairwise([start, *inner, end])


def outline_markdown(text: str, start: int = 0, markdown_from: int | None = None) -> Outline:
    """Markdown by CommonMark's block rules, with tables; headings inside lists and quotes open no section.

    What lies between `start` and `markdown_from` is one block of lines: front matter that could not be read.
    """
    begin = start if markdown_from is None else markdown_from
    body = text[begin:] if begin else text
    lines = [begin, *(match.end() + begin for match in re.finditer("\n", body))]
    found = list(_leaves(_tokens(body), _Source(text, lines, len(text))))
    if start < begin:
        found.insert(0, Block("lines", start, begin, inner=(start, begin)))
    return Outline(text, _joined_up(found, text, start))


def _tokens(body: str) -> Sequence[Token]:
    if "\r" in body or "\x00" in body:
        return _parser().parse(body)
    state = BlockState(body, _parser())  # what else the parser does is for such characters alone
    _parser().block.tokenize(state, 0, state.lineMax)
    return state.tokens


@cache
def _parser() -> MarkdownIt:
    # Inline rules cost two thirds of the time and decide nothing here. Reference definitions are text like any other.
    parser = MarkdownIt("commonmark").enable("table").disable(["reference"]).disable(["inline", "text_join"], True)
    return with_paragraphs(with_tables(parser))


@dataclass(frozen=True, slots=True)
class _Source:
    text: str
    lines: list[int]
    end: int

    def at(self, line: int) -> int:
        """Where a line starts; the end of the text for the line after the last one."""
        return self.lines[line] if line < len(self.lines) else self.end

    def line(self, number: int) -> str:
        return self.text[self.at(number) : self.at(number + 1)].rstrip("\n")


def _leaves(tokens: Sequence[Token], source: _Source) -> Iterator[Block]:
    depth = 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        kind = _LEAVES.get(token.type)
        if token.type in _CONTAINERS:
            depth += 1
        elif token.type in _CONTAINER_ENDS:
            depth -= 1
        elif kind is not None and token.map is not None:
            title = following.content if kind == "heading" and following is not None else ""
            yield _leaf(kind, token, title, depth, source)


def _leaf(kind: Kind, token: Token, title: str, depth: int, source: _Source) -> Block:
    first, last = token.map or (0, 0)
    start, end = source.at(first), source.at(last)
    border = max(_BETWEEN_BLOCKS - _PER_CONTAINER * depth, _PER_CONTAINER)
    if kind == "heading" and not depth:
        level, shown = int(token.tag[1:]), heading_title(title)
        return Block(kind, start, end, border=border, level=level, title=shown, inner=(end, end))
    block = Block("prose" if kind == "heading" else kind, start, end, border=border, inner=(start, end))
    if kind == "fence":
        return _fence(block, token, source, (first, last))
    return _table(block, source, (first, last), depth) if kind == "table" else block


def _fence(block: Block, token: Token, source: _Source, rows: tuple[int, int]) -> Block:
    first, last = rows
    before, marks, info = source.line(first).partition(token.markup)
    indent = _MARKER.sub(" ", before)
    content_lines = token.content.count("\n") + (token.content[-1:] not in {"", "\n"})
    closed = last - first - content_lines == 2
    low = source.at(first + 1)
    return block._replace(
        inner=(low, low + len(source.text[low : source.at(last - closed)].rstrip())),
        opening=f"{indent}{marks}{info}\n",
        closing=f"{indent}{marks}",
        indent=indent,
        closed=closed,
    )


def _table(block: Block, source: _Source, rows: tuple[int, int], depth: int) -> Block:
    first, last = rows
    header = source.line(first)
    markers = _MARKERS.match(header) if depth else None
    indent = markers.group() if markers else ""
    opening = f"{_MARKER.sub(' ', indent)}{header[len(indent) :]}\n{source.line(first + 1)}\n"
    return block._replace(inner=(source.at(min(first + 2, last)), block.end), opening=opening)


def _joined_up(found: Sequence[Block], text: str, start: int) -> list[Block]:
    """The same blocks without gaps between them, each border after a line that ends in a colon made weaker."""
    blocks: list[Block] = []
    ends = [*(block.start for block in found[1:]), len(text)]
    if not found:
        found, ends = [Block("prose", start, len(text), inner=(start, len(text)))], [len(text)]
    weakened = False
    for block, end in zip(found, ends, strict=True):
        begin = block.start if blocks else start
        stop = begin + len(text[begin:end].rstrip())
        border = max(block.border - _AFTER_COLON, 0.0) if weakened else block.border
        blocks.append(Block(block.kind, begin, end, stop, border, *block[5:]))
        weakened = text[stop - 1 : stop] in _COLONS
    return blocks
