"""What holds for the passages of any text: bounds, spans, order, balance (INGEST-4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from citewell.ingest.split import split
from citewell.ingest.split.outline import outline_markdown
from citewell.ingest.split.paragraph_rule import with_paragraphs
from citewell.ingest.split.table_rule import with_tables

LINES = st.sampled_from(
    [
        "# A",
        "## B\n",
        "### C",
        "text here. And more! Yes?",
        "中文句子。还有；一个！",
        "```sh",
        "```",
        "~~~",
        "````",
        "- item",
        "  - nested",
        "1. one",
        "> quote",
        "| a | b |",
        "|---|---|",
        "| 1 | 2 |",
        "    code",
        "<div>",
        "</div>",
        "---",
        "===",
        "",
        "\t",
        "intro:",
        "  ```",
        "   - ```py",
        "     x = 1",
        "> ```",
        "+++",
        "<!-- c",
        "-->",
        "\u3000",
        "[x]: /y",
        "#",
        "\x0c",
        "\u200b",
        "x" * 50,
        "word " * 40,
        "é" * 10,
        "👨‍👩‍👧‍👦" * 4,
    ]
)
TEXTS = st.lists(LINES | st.text(max_size=30), max_size=40).map("\n".join)
SIZES = st.sampled_from([(1, 1), (2, 4), (20, 20), (50, 100), (100, 300), (300, 600)])
COUNTERS: list[Callable[[str], int] | None] = [None, len, lambda text: len(text.encode("utf-8", "surrogatepass"))]


@pytest.mark.requirement("INGEST-4")
@given(
    TEXTS, SIZES, st.sampled_from([1, 5, 50, 1_000]), st.sampled_from(COUNTERS), st.sampled_from(["markdown", "text"])
)
def test_passages_are_bounded_and_their_spans_ascend_and_hold_everything_but_white_space(
    text: str, sizes: tuple[int, int], max_tokens: int, count: Callable[[str], int] | None, form: str
) -> None:
    target, maximum = sizes
    done = split(
        text,
        format=form,  # type: ignore[arg-type]  # one of both
        target=target,
        maximum=maximum,
        small=target // 4,
        max_tokens=max_tokens,
        count_tokens=count,
    )
    last = 0
    for passage in done.passages:
        start, end = passage.span
        assert last <= start < end
        assert not text[last:start].strip()
        assert text[start:end] in passage.text
        assert text[start:end].strip()
        assert text[start:end] == text[start:end].rstrip()
        assert passage.line == text.count("\n", 0, start) + 1
        single = end - start == 1
        assert single or len(passage.text) <= maximum
        assert single or count is None or count(passage.text) <= max_tokens
        last = end
    assert not text[last:].strip()


@pytest.mark.requirement("INGEST-4")
@given(TEXTS, SIZES)
def test_the_same_text_is_split_the_same_way_again(text: str, sizes: tuple[int, int]) -> None:
    target, maximum = sizes
    one, two = (split(text, target=target, maximum=maximum, max_tokens=300) for _ in range(2))
    assert one == two


WORDS = st.lists(
    st.sampled_from(["alpha", "数据库", "x=1", "foo(bar)", '{"a":1}', "# no heading"]), min_size=1, max_size=12
)
SENTENCES = WORDS.map(" ".join)


@st.composite
def fences(draw: st.DrawFn) -> str:
    mark = draw(st.sampled_from(["```", "~~~", "````"]))
    body = draw(st.lists(SENTENCES | st.just(""), max_size=15))
    if len(mark) > 3:
        body += ["```", "inner", "```"]
    return "\n".join([mark + draw(st.sampled_from(["", "sh", 'python title="x"'])), *body, mark])


@st.composite
def tables(draw: st.DrawFn) -> str:
    rows = draw(st.lists(WORDS.map("-".join), min_size=1, max_size=20))
    return "\n".join(["| name | value |", "|------|:-----:|", *(f"| row | {row} |" for row in rows)])


def indented(text: str, first: str, rest: str) -> str:
    head, *tail = text.split("\n")
    return "\n".join([first + head, *((rest + line) if line or rest.startswith(">") else line for line in tail)])


CODE = fences() | tables()
BLOCKS = (
    CODE
    | CODE.map(lambda text: indented(text, "- ", "  "))
    | CODE.map(lambda text: indented(text, "> ", "> "))
    | WORDS.map(lambda words: "## " + words[0])
    | st.lists(SENTENCES, min_size=1, max_size=10).map(". ".join)
)


@pytest.mark.requirement("INGEST-4")
@given(st.lists(BLOCKS, min_size=1, max_size=5).map("\n\n".join), st.sampled_from([(90, 90), (150, 300), (300, 900)]))
def test_every_passage_has_balanced_fences_and_every_part_of_a_table_its_header(
    text: str, sizes: tuple[int, int]
) -> None:
    """Trial I110: read as Markdown again, no passage of a document with closed fences has an open one."""
    whole = outline_markdown(text)
    if not all(block.closed for block in whole.blocks):
        return
    for passage in split(text, target=sizes[0], maximum=sizes[1], max_tokens=100_000).passages:
        assert all(block.closed for block in outline_markdown(passage.text).blocks)
        block = whole.block_at(passage.span[0])
        repeated = block.kind == "table" and 3 * len(block.opening) <= sizes[1]
        if repeated and block.inner[0] <= passage.span[0] < block.inner[1]:
            assert passage.text.startswith(block.opening)


ROWS = st.sampled_from(
    [
        "|a|b|",
        "| --- | --- |",
        "|-|-|",
        "a|b",
        "-|-",
        ":-:|--:",
        "- | -",
        "-",
        "|",
        "||",
        "|-",
        "| 1 | 2 |",
        "",
        "> |a|b|",
        "> |-|-|",
        "- |a|b|",
        "  |-|-|",
        "    |x|y|",
        "x",
        "# h",
        "***",
        "```",
        "<div>",
        "|a\\|b|",
        "|a|b|c|",
        "   |a|b|",
        "\t|a|",
        "1. x",
        "--",
        "| -- |",
        "| a",
        "a |",
        "|:|:|",
        "-||-",
        "|a||b|",
        "|-||-|",
        "|---|",
    ]
)


@pytest.mark.requirement("INGEST-4")
@settings(max_examples=400)
@given(st.lists(ROWS, min_size=1, max_size=9).map("\n".join))
def test_tables_begin_and_end_where_the_parsers_own_rule_says(text: str) -> None:
    """Ours makes one token of a table, not three of each cell; but for that the rules agree."""
    parser = MarkdownIt("commonmark").enable("table").disable(["reference"])
    theirs = [tuple(token.map) for token in parser.parse(text) if token.type == "table_open" and token.map]
    ours = [tuple(token.map) for token in with_tables(parser).parse(text) if token.type == "table_open" and token.map]
    assert ours == theirs


STARTS = st.sampled_from(
    ["", " ", "   ", "    ", "\t", "> ", ">", "> > ", "- ", "  - ", "1. ", "2) ", "* - ", "\u00a0"]
)
INNERS = (
    LINES
    | ROWS
    | st.sampled_from(["-  ", "=", "== =", "=\t", "2. two", "*", "+ x", "1.", "<b>", "a\\", "`x`", "\x0b|-|"])
)
NESTED = st.lists(st.tuples(STARTS, INNERS).map("".join), min_size=1, max_size=9).map("\n".join)


@pytest.mark.requirement("INGEST-4")
@settings(max_examples=400)
@given(NESTED)
def test_paragraphs_and_headings_begin_and_end_where_the_parsers_own_rules_say(text: str) -> None:
    """Ours makes one token of a paragraph, and asks the other rules about few of its lines; but for that they agree."""
    theirs = with_tables(MarkdownIt("commonmark").enable("table").disable(["reference"]))
    ours = with_paragraphs(with_tables(MarkdownIt("commonmark").enable("table").disable(["reference"])))
    expected = [
        (token.type.replace("paragraph_open", "paragraph"), token.tag, token.map, token.level)
        for token in theirs.parse(text)
        if token.map and token.type != "inline"
    ]
    found = [(token.type, token.tag, token.map, token.level) for token in ours.parse(text) if token.map]
    assert [each for each in found if each[0] != "inline"] == expected


@pytest.mark.requirement("INGEST-4")
def test_a_table_of_many_short_rows_stays_one_table() -> None:
    """The parser's own rule gives up after 65,536 cells that a row lacks."""
    text = f"|{'a|' * 500}\n|{'-|' * 500}\n" + "| x |\n" * 500
    assert [block.kind for block in outline_markdown(text).blocks] == ["table"]
