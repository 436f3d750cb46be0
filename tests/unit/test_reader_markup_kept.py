"""Text in odd places of reStructuredText and AsciiDoc is kept (INGEST-1)."""

from __future__ import annotations

import pytest

from citewell.adapters.readers.asciidoc import read_asciidoc
from citewell.adapters.readers.rst import read_rst

SPANNING = """\
+-----+-----+
| a   | b   |
| a2  +-----+
| a3  | c   |
+-----+-----+
"""
WIDE = """\
+------+------+
| 名称 | 值   |
+======+======+
| 连接 | e\u0301 |  |
+------+------+
""".replace(" |  |", "    |")
WHOLE = """\
+---+---+
| a | b |
+---+---+
"""
DRAWN = """\
+---+---+
| a | b
+---+---+
"""


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("source", "text"),
    [
        (".. note::\n   :class: x\n   directly below", "**Note:**\n\ndirectly below"),
        (".. note::\n   - one\n   - two", "**Note:**\n\n- one\n- two"),
        (".. note:: goes\n   on", "**Note:** goes on"),
        (".. image:: a.png\n   :alt: a pool\n      of connections", "a pool of connections"),
        (".. figure:: a.png\n   its caption", "its caption"),
        (".. code-block:: python\n   x = 1\n   y = 2", "```python\nx = 1\ny = 2\n```"),
        (".. code-block:: python\n   :linenos:\n   x = 1", "```python\nx = 1\n```"),
        (".. math:: a\n\n   b", "```math\na\nb\n```"),
        (".. container::\n   inside", "inside"),
        ("`foo ``bar`` baz`", "`` foo `bar` baz ``"),
        (":func:`a ``b`` c`", "`` a `b` c ``"),
        ("See t_.\n\n.. _t: https://x.example", "See [t](https://x.example)."),
        (SPANNING, "| a a2 a3 | b |\n| --- | --- |\n| a a2 a3 | c |"),
        (WIDE, "| 名称 | 值 |\n| --- | --- |\n| 连接 | e\u0301 |"),
        (DRAWN, f"```\n{DRAWN}```"),
        (f"+---+---+\n| c\n{WHOLE}", f"```\n+---+---+\n| c\n{WHOLE}```"),
        ("===  ===\na    b\nno table\n\nbehind", "```\n===  ===\na    b\nno table\n```\n\nbehind"),
        (".. list-table::\n\n   Before\n\n   * - a\n     - b", "| Before |  |\n| --- | --- |\n| a | b |"),
        ("====  ==\n名称  b\n====  ==\n连接  d\n====  ==", "| 名称 | b |\n| --- | --- |\n| 连接 | d |"),
    ],
)
def test_text_of_restructured_text_is_kept_wherever_it_is(source: str, text: str) -> None:
    assert read_rst(source.encode(), "a.rst").text == text


@pytest.mark.requirement("INGEST-1")
def test_a_table_drawn_without_end_is_shown_as_it_is_drawn() -> None:
    """Looking for its frames would take the third power of its size."""
    drawn = "\n".join(["+-" * 1_500 + "+", *["|" + "+" * 2_999 + "|"] * 300])
    assert read_rst(drawn.encode(), "a.rst").text == f"```\n{drawn}\n```"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[quote, Ada, Notes]\n____\nGrow it.\n____", "Grow it.\n\n— Ada, Notes"),
        ('[quote, attribution="Ada"]\n____\nGrow it.\n____', "Grow it.\n\n— Ada"),
        (",===\na,b\n1,2\n,===", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        (":===\na:b\n1:2\n:===", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("!===\n!a !b\n\n!1 !2\n!===", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("[separator=¦]\n|===\n¦a ¦b\n\n¦1|x ¦2\n|===", "| a | b |\n| --- | --- |\n| 1\\|x | 2 |"),
        ("[format=csv,separator=;]\n|===\na;b\n1;2\n|===", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("|===\nbefore |a\n|===", "| before | a |\n| --- | --- |"),
        (".Before you begin\n* a\n* b", "**Before you begin**\n\n- a\n- b"),
        (".Steps\n. a\n. b", "**Steps**\n\n1. a\n1. b"),
        (".Terms\na:: b", "**Terms**\n\n**a**\n\nb"),
        ("[quote, Ada]\nGrow it.", "Grow it.\n\n— Ada"),
        ("ifdef::ci[Text in it.]", "Text in it."),
        ("before\n\n////\nbehind", "before\n\nbehind"),
        ("before\n\n////\nsilent\n////\n\nbehind", "before\n\nbehind"),
        ("++++\n<b>bold</b>\n++++", "<b>bold</b>"),
        ("https://x.example[see `{a}` and `+b+`]", "[see `{a}` and `b`](https://x.example)"),
    ],
)
def test_text_of_asciidoc_is_kept_wherever_it_is(source: str, text: str) -> None:
    assert read_asciidoc(source.encode(), "a.adoc").text == text
