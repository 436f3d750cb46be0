"""Where a table of Markdown begins and ends, as a block rule of markdown-it; its cells are nobody's business here.

The parser's own rule makes three tokens of each cell, half a kilobyte for a digit, and gives a table up whose rows are
much shorter than its header. Here a table is one token.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

_BAR = re.compile(r"(?<!\\)\|")
_RULE_BEGINS = frozenset("|-:")
_RULE = re.compile(r"\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+[ \t]*+")


def with_tables(parser: MarkdownIt) -> MarkdownIt:
    """The same parser, which now knows tables by this rule."""
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    return parser


def _table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    if first + 2 > end or not _begins(state, first):
        return False
    if silent:
        return True
    last = first + 2
    outer, state.parentType = state.parentType, "table"  # an empty item of a list ends no paragraph, but a table
    while last < end and _goes_on(state, last, end):
        last += 1
    state.parentType = outer
    state.push("table_open", "table", 0).map = [first, last]
    state.line = last
    return True


def may_begin_table(state: StateBlock, first: int, end: int) -> bool:
    """Whether what stands below this line begins like the rule of a table; cheap, and never wrong when it says no."""
    if first + 2 > end:
        return False
    start = state.bMarks[first + 1] + state.tShift[first + 1]
    character = state.src[start : start + 1]
    return character in _RULE_BEGINS or (character.isspace() and character != "\n")


def _begins(state: StateBlock, first: int) -> bool:
    """Whether a header stands here, above a rule of as many columns."""
    if state.sCount[first + 1] < state.blkIndent or state.is_code_block(first + 1) or state.is_code_block(first):
        return False
    rule = _line(state, first + 1)
    if len(rule) < 2 or rule[0] not in "|-:" or (rule[0] == "-" and rule[1].isspace()):  # an item of a list
        return False
    header = _line(state, first)
    return "|" in header and bool(_RULE.fullmatch(rule)) and _columns(header) == _columns(rule)


def _columns(line: str) -> int:
    """How many cells a row has; bars around it divide nothing."""
    bars = [match.start() for match in _BAR.finditer(line)]
    return len(bars) + 1 - (bars[:1] == [0]) - (bars[-1:] == [len(line) - 1])


def _goes_on(state: StateBlock, line: int, end: int) -> bool:
    if state.sCount[line] < state.blkIndent or state.is_code_block(line):
        return False
    text = _line(state, line)
    if not text or text[0] == "|":  # no other block begins with a bar
        return bool(text)
    others = state.md.block.ruler.getRules("blockquote")  # whatever ends a quotation ends a table
    return not any(rule(state, line, end, True) for rule in others)


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
