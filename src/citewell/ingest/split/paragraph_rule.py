"""Where a paragraph ends, as a block rule of markdown-it; what it says is nobody's business here.

The parser's own rules read each paragraph twice, once for the underline of a heading, and ask seven other rules about
every line of it; nearly all lines begin with a letter, which is no rule's mark. Here a paragraph is one token, and of
the other rules those are asked that the first character can belong to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, fence, heading, hr, html_block, lheading, list_block

from citewell.ingest.split.table_rule import may_begin_table

Rule = Callable[[StateBlock, int, int, bool], bool]

_BEGUN_BY: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys("`~", (fence,)),
    ">": (blockquote,),
    **dict.fromkeys("*-", (hr, list_block)),
    "_": (hr,),
    **dict.fromkeys("+0123456789", (list_block,)),
    "<": (html_block,),
    "#": (heading,),
}
"""Which rules can apply where a line begins with a character, in the parser's order; tables and indented code aside."""
_UNDERLINE = re.compile(r"(?:-++|=++)[ \t]*+")
_CODE_INDENT = 4


def with_paragraphs(parser: MarkdownIt) -> MarkdownIt:
    """The same parser, which now knows paragraphs by this rule, and asks it first where no other can apply."""
    first = parser.block.ruler.get_all_rules()[0]
    parser.block.ruler.before(first, "plain", _plain)
    parser.block.ruler.at("paragraph", _paragraph)
    return parser.disable("lheading")


def _plain(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Whatever begins here, unless it may be a table or indented code."""
    if state.sCount[first] - state.blkIndent >= _CODE_INDENT or may_begin_table(state, first, end):
        return False
    rules = _BEGUN_BY.get(_first(state, first), ())
    return any(rule(state, first, end, silent) for rule in rules) or _paragraph(state, first, end, silent)


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
    rules: Sequence[Rule] = _BEGUN_BY.get(_first(state, line), ())
    if may_begin_table(state, line, state.lineMax):
        rules = state.md.block.ruler.getRules("paragraph")
    return any(rule(state, line, state.lineMax, True) for rule in rules)


def _first(state: StateBlock, line: int) -> str:
    """The first visible character of a line; a line feed or nothing if it is blank."""
    start = state.bMarks[line] + state.tShift[line]
    return state.src[start : start + 1]
