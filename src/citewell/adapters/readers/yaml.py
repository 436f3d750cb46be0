"""YAML -> its own text, comments and all, with its keys as headings (INGEST-1).

Only the parser's events are read: no tag makes an object, no alias is followed, so that nothing can unfold. What is no
valid YAML, such as a template, stays plain text and is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import yaml
from yaml.events import Event

from citewell.adapters.readers.decode import decode
from citewell.model import Heading, Text

_MOST_HEADINGS = 1_000
_LEVELS = 6
_DOCUMENTS = 1
_LONGEST_TITLE = 120
_FEWEST_LINES = 2
_NAMES = frozenset({"name", "id", "alert", "title", "record", "key", "job_name", "operationId", "uses"})
_NAMED_WITHIN = 3


def read_yaml(data: bytes, name: str) -> Text:
    """A YAML file of one or more documents.

    Raises:
        IngestError: it is no text, or its encoding can't be told.
    """
    decoded = decode(data)
    text = decoded.text
    try:
        outline = _outlined(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = " ".join(str(getattr(error, "problem", None) or "it can't be parsed").split())
        return Text(text, "lines", remarks=(*decoded.remarks, f"kept as text: it is no valid YAML ({where}{problem})"))
    return Text(text, "lines", remarks=decoded.remarks, headings=_at_lines(text, outline))


def _outlined(text: str) -> _Outline:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    outline = _Outline()
    for event in yaml.parse(text, Loader=loader):
        outline.take(event)
    return outline


@dataclass(slots=True)
class _Found:
    """A key with something below it, a named item, or a document; lines count from 0."""

    title: str
    level: int
    first: int
    last: int


@dataclass(slots=True)
class _Node:
    """An open mapping or sequence.

    Attributes:
        level: of a heading in it.
        key: of a mapping, the one whose value comes next, with its line.
        names_left: how many scalars of an item may still give it a name.
    """

    is_mapping: bool
    level: int
    line: int
    heading: _Found | None = None
    key: tuple[str, int] | None = None
    names_left: int = 0


class _Outline:
    """Collects headings from the events of a parser, in the order in which they begin."""

    def __init__(self) -> None:
        self.found: list[_Found] = []
        self.documents = 0
        self._stack: list[_Node] = []

    def take(self, event: Event) -> None:
        """The next event."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._start_document(_line(event.start_mark))
        elif isinstance(event, yaml.DocumentEndEvent):
            self._close(self._stack.pop(), _line(event.end_mark))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(self._stack[-1], event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close(self._stack.pop(), _line(event.end_mark))
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(self._stack[-1], event)
        elif isinstance(event, yaml.AliasEvent):
            self._stack[-1].key = None

    def _start_document(self, line: int) -> None:
        self.documents += 1
        first = line if self.documents > 1 else 0
        document = _Found(f"Document {self.documents}", _DOCUMENTS, first, line)
        self.found.append(document)
        self._stack = [_Node(is_mapping=False, level=_DOCUMENTS + 1, line=line, heading=document)]

    def _open(self, parent: _Node, event: yaml.CollectionStartEvent) -> None:
        line = _line(event.start_mark)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        node = _Node(is_mapping, parent.level, line)
        if parent.key is not None and not event.flow_style and parent.level <= _LEVELS:
            self._heading(node, parent.key[0], parent.key[1])
        elif is_mapping and not parent.is_mapping and len(self._stack) > 1:
            node.names_left = _NAMED_WITHIN
        parent.key, parent.names_left = None, 0
        self._stack.append(node)

    def _heading(self, node: _Node, title: str, line: int) -> None:
        node.heading = _Found(title, node.level, line, line)
        node.level += 1
        self.found.append(node.heading)

    def _close(self, node: _Node, line: int) -> None:
        if node.heading is not None:
            node.heading.last = line

    def _scalar(self, node: _Node, event: yaml.ScalarEvent) -> None:
        if not node.is_mapping:
            return
        value = " ".join(str(event.value).split())[:_LONGEST_TITLE]
        if node.key is None:
            node.key = (value, _line(event.start_mark))
            return
        key, node.key = node.key[0], None
        if node.names_left and key in _NAMES and value and node.level <= _LEVELS:
            self._heading(node, value, node.line)
            node.names_left = 0
        node.names_left = max(node.names_left - 1, 0)
        self._name_document(key, value)

    def _name_document(self, key: str, value: str) -> None:
        """Of a manifest: `Deployment web`, by its kind and the name in its metadata."""
        document = self._stack[0].heading
        depth = len(self._stack)
        above = self._stack[-1].heading
        if document is None or not value:
            return
        if depth == 2 and key == "kind":
            document.title = value
        elif depth == 3 and key == "name" and above is not None and above.title == "metadata":
            document.title = f"{document.title} {value}"


def _line(mark: object) -> int:
    """Of a mark of either parser, the C one or the Python one."""
    return int(getattr(mark, "line", 0))


def _at_lines(text: str, outline: _Outline) -> tuple[Heading, ...]:
    """Headings at the starts of their lines, one per line; the deepest levels go where there are too many."""
    several = outline.documents > 1
    kept = [
        each for each in outline.found if each.last - each.first >= _FEWEST_LINES and each.level + several <= _LEVELS
    ]
    if not several:
        kept = [each for each in kept if each.level > _DOCUMENTS]
    levels = sorted(each.level for each in kept)
    deepest = levels[_MOST_HEADINGS] - 1 if len(levels) > _MOST_HEADINGS else _LEVELS
    lines = text.split("\n")
    by_line = {_with_comment(lines, each.first): each for each in reversed(kept) if each.level <= deepest}
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return tuple(Heading(starts[line], by_line[line].level + several, by_line[line].title) for line in sorted(by_line))


def _with_comment(lines: Sequence[str], line: int) -> int:
    """Where the comment right above a line begins; the line itself without one."""
    while line and lines[line - 1].lstrip().startswith("#"):
        line -= 1
    return line
