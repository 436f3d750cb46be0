"""Lines for the rules of Markdown, against those that the parser itself makes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from citewell.ingest.split.block_state import BlockState

_PARSER = MarkdownIt("commonmark")


@pytest.mark.requirement("INGEST-4")
@given(st.text("a #>\t\n\v\u3000", max_size=40))
def test_lines_and_indents_are_those_of_the_parser(text: str) -> None:
    own, parsers = BlockState(text, _PARSER), StateBlock(text, _PARSER, {}, [])
    for name in ("src", "bMarks", "eMarks", "tShift", "sCount", "bsCount", "line", "lineMax", "level"):
        assert getattr(own, name) == getattr(parsers, name), name


@pytest.mark.requirement("INGEST-4")
def test_tokens_are_those_of_the_parser_in_all_that_is_read() -> None:
    text = "# a\n\n- b\n  1. c\n\n> d\n\n```sh\ne\n```\n\n    f\n\n<p>\n\n***\n"
    own, parsers = BlockState(text, _PARSER), StateBlock(text, _PARSER, {}, [])
    for state in (own, parsers):
        _PARSER.block.tokenize(state, 0, state.lineMax)
    read = ("type", "tag", "nesting", "level", "map", "content", "markup", "info", "hidden")
    assert [[getattr(token, name) for name in read] for token in own.tokens] == [
        [getattr(token, name) for name in read] for token in parsers.tokens
    ]
