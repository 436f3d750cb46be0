"""Lines of source code -> its classes and functions as headings, by keywords and indentation (INGEST-1).

One pass; what stands in block comments and long strings is passed over. A symbol begins where its own comment or its
decorators begin. Functions inside functions open no section. Knows no grammar: it may miss a symbol, never text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.adapters.readers.symbol_rules import HASH_COMMENTS, RULES, UNMARKED, Kind, Rule
from citewell.model import Heading

_FIRST_LEVEL = 2
_LEVELS = 5
_MOST_SYMBOLS = 2_000
_LONGEST_LINE = 300
_LONGEST_TITLE = 120
_CALLED = re.compile(r"(?P<before>[\w\s:<>,.\[\]*&?~@]*?)(?P<name>[A-Za-z_~$][\w:~$]*)\s*\((?P<after>[^;]*)\{\s*$")
_STATEMENTS = re.compile(
    r"\s*(?:\}|if|for|while|switch|catch|return|else|do|new|throw|using|lock|foreach|when|match|try|with|assert|delete|await|case)\b"
)
_LEADING = re.compile(r"\s*(?:@|#\[|//|/\*|\*|--|template\s*<|\[[A-Z])")
_HASH = re.compile(r"\s*#(?!!)")
_LONG_STRINGS = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class _Symbol:
    start: int
    indent: int
    kind: Kind
    title: str


@dataclass(frozen=True, slots=True)
class _Open:
    indent: int
    kind: Kind
    level: int


def symbols(text: str, language: str) -> tuple[Heading, ...]:
    """The symbols of a source file in reading order; none for languages that have none."""
    rules = RULES.get(language, ())
    if not rules:
        return ()
    found = list(_levelled(_symbols(text, language, rules)))
    deepest = _LEVELS
    while len(found) > _MOST_SYMBOLS and deepest > _FIRST_LEVEL:
        deepest -= 1
        found = [heading for heading in found if heading.level <= deepest]
    return tuple(found[:_MOST_SYMBOLS])


def _levelled(found: Iterator[_Symbol]) -> Iterator[Heading]:
    path: list[_Open] = []
    for symbol in found:
        while path and path[-1].indent >= symbol.indent:
            path.pop()
        if path and path[-1].kind == "function":
            continue
        level = path[-1].level + 1 if path else _FIRST_LEVEL
        path.append(_Open(symbol.indent, symbol.kind, level))
        if level <= _LEVELS:
            yield Heading(symbol.start, level, symbol.title)


def _symbols(text: str, language: str, rules: Sequence[Rule]) -> Iterator[_Symbol]:
    position = 0
    begun: int | None = None
    quote = ""
    for line in text.split("\n"):
        quote, inside = _after(line, quote, language)
        named = None if inside or len(line) > _LONGEST_LINE else _named(line, language, rules)
        if named is not None:
            yield _Symbol(position if begun is None else begun, _indent(line), *named)
        leads = named is None and (_LEADING.match(line) or (language in HASH_COMMENTS and _HASH.match(line)))
        begun = (position if begun is None else begun) if leads else None
        position += len(line) + 1


def _indent(line: str) -> int:
    spaces = line[: len(line) - len(line.lstrip())]
    return len(spaces.expandtabs(4))


def _after(line: str, quote: str, language: str) -> tuple[str, bool]:
    """(the long string or block comment that is open after a line, whether the line is inside one or a comment)."""
    if quote:
        closes = quote in line
        return ("" if closes else quote), True
    if language == "python":
        opened = next((mark for mark in _LONG_STRINGS if line.count(mark) % 2), "")
        return opened, False
    if language not in HASH_COMMENTS and "/*" in line:
        return ("" if "*/" in line.rpartition("/*")[2] else "*/"), line.lstrip().startswith("/*")
    return "", line.lstrip()[:2] in {"//", "--"}


def _named(line: str, language: str, rules: Sequence[Rule]) -> tuple[Kind, str] | None:
    for kind, pattern in rules:
        if match := pattern.match(line):
            groups = match.groupdict()
            owner = groups.get("owner")
            title = " ".join(str(groups["name"]).split())[:_LONGEST_TITLE]
            return kind, f"{owner}.{title}" if owner else title
    if language in UNMARKED and line.rstrip().endswith("{") and not _STATEMENTS.match(line):
        match = _CALLED.match(line)
        if match and "=" not in match.group("before") and "=>" not in match.group("after"):
            return "function", match.group("name")[:_LONGEST_TITLE]
    return None
