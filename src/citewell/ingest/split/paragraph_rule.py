"""Where a paragraph ends, as a block rule of markdown-it; what it says is nobody's business here.

The parser's own rules read each paragraph twice, once for the underline of a heading, and ask seven other rules about
every line of it; nearly all lines begin with a letter, which is no rule's mark. Here a paragraph is one token.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, lheading

from citewell.ingest.split.table_rule import may_begin_table

_MARKS = frozenset("`~>*+-_<#0123456789")
"""What fences, quotes, rules, lists, HTML and headings begin with."""
_UNDERLINE = re.compile(r"(?:-++|=++)[ \t]*+")
_CODE_INDENT = 4


def with_paragraphs(parser: MarkdownIt) -> MarkdownIt:
    """The same parser, which now knows paragraphs by this rule, and asks it first where no other can apply."""
    first = parser.block.ruler.get_all_rules()[0]
    parser.block.ruler.before(first, "plain", _plain)
    parser.block.ruler.at("paragraph", _paragraph)
    return parser.disable("lheading")


def _plain(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """A paragraph, if its first line can be the beginning of nothing else."""
    if state.sCount[first] - state.blkIndent >= _CODE_INDENT or _first(state, first) in _MARKS:
        return False
    return not may_begin_table(state, first, end) and _paragraph(state, first, end, silent)


def _paragraph(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    outer, state.parentType = state.parentType, "paragraph"  # some blocks end no paragraph, but others of their kind
    last = first + 1
    while last < state.lineMax and not state.isEmpty(last):
        if state.sCount[last] - state.blkIndent < _CODE_INDENT:
            if last < end and _is_underline(state, last):
                state.parentType = outer
                return lheading(state, first, end, silent)
            if _ends_paragraph(state, last):
                break
        last += 1
    state.parentType = outer
    state.push("paragraph", "p", 0).map = [first, last]
    state.line = last
    return True


def _is_underline(state: StateBlock, line: int) -> bool:
    if state.sCount[line] < state.blkIndent:
        return False
    return bool(_UNDERLINE.fullmatch(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line]))


def _ends_paragraph(state: StateBlock, line: int) -> bool:
    """Whether another block begins at this line, which is not blank; a quotation has decided on a negative indent."""
    if state.sCount[line] < 0:
        return False
    if _first(state, line) not in _MARKS and not may_begin_table(state, line, state.lineMax):
        return False
    return any(rule(state, line, state.lineMax, True) for rule in state.md.block.ruler.getRules("paragraph"))


def _first(state: StateBlock, line: int) -> str:
    """The first visible character of a line; a line feed or nothing if it is blank."""
    start = state.bMarks[line] + state.tShift[line]
    return state.src[start : start + 1]
