"""reStructuredText and AsciiDoc become Markdown whose lines remember where they came from (INGEST-1)."""

from __future__ import annotations

import pytest

from citewell.adapters.readers import lines
from citewell.adapters.readers.asciidoc import read_asciidoc
from citewell.adapters.readers.rst import read_rst
from citewell.model import Text


def rst(text: str) -> str:
    return read_rst(text.encode(), "a.rst").text


def adoc(text: str) -> str:
    return read_asciidoc(text.encode(), "a.adoc").text


def line_of(text: Text, words: str) -> int | None:
    """The line of the original at which the words stand."""
    position = text.text.index(words)
    return [place.line for start, place in text.places if start <= position][-1]


@pytest.mark.requirement("INGEST-1")
def test_sections_take_their_level_from_the_order_of_their_adornments() -> None:
    assert rst("=====\nTitle\n=====\n\nOne\n===\n\nSub\n---\n\nTwo\n===\n\ntext\n") == (
        "# Title\n\n## One\n\n### Sub\n\n## Two\n\ntext"
    )


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (".. code-block:: python\n   :linenos:\n\n   # no heading\n   pass\n", "```python\n# no heading\npass\n```"),
        ("Example::\n\n   a\n     b\n", "Example:\n\n```\na\n  b\n```"),
        ("::\n\n   a\n", "```\na\n```"),
        (".. highlight:: bash\n\nSo::\n\n   ls\n", "So:\n\n```bash\nls\n```"),
        (".. note:: Be careful\n   indeed.\n\n   More.\n", "**Note:** Be careful indeed.\n\nMore."),
        (".. versionadded:: 3.2\n   The pool.\n", "**Added in version 3.2:** The pool."),
        (".. py:function:: grow(p)\n\n   Grows.\n\n   :param p: which\n", "`grow(p)`\n\nGrows.\n\n- param p: which"),
        (".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\ntext\n", "text"),
        (".. a comment\n   on two lines\n\ntext\n", "text"),
        (".. unknown:: argument\n\n   *content*\n", "argument\n\n*content*"),
        (".. image:: a.png\n   :alt: The pool\n", "The pool"),
        ("* one\n* two\n\n  * inner\n", "- one\n- two\n\n  - inner"),
        ("#. one\n#. two\n", "1. one\n1. two"),
        ("Term\n   Its meaning.\n", "**Term**\n\nIts meaning."),
        (">>> 1 + 1\n2\n", "```python\n>>> 1 + 1\n2\n```"),
        (".. [1] A note.\n", "[1] A note."),
        ("# no heading\n", "\\# no heading"),
        ("One\n===\ntext\n\n----\n\nmore\n", "# One\n\ntext\n\nmore"),
        ("===\nOne\n===\ntext\n", "# One\n\ntext"),
    ],
)  # fmt: skip
def test_blocks_of_restructured_text(source: str, expected: str) -> None:
    assert rst(source) == expected


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("See :ref:`the pools <pools>`.", "See the pools."),
        ("Call :func:`~shop.grow`.", "Call `shop.grow`."),
        ("``code_a``", "`code_a`"),
        ("`Docs <https://e.org>`_", "[Docs](https://e.org)"),
        ("Docs_\n\n.. _Docs: https://e.org\n", "[Docs](https://e.org)"),
        ("|x| grows\n\n.. |x| replace:: The pool\n", "The pool grows"),
        ("as said [1]_.", "as said [1]."),
        ("snake_case_name and __init__", "snake_case_name and __init__"),
        (":pep:`8`", "PEP 8"),
    ],
)
def test_inline_markup_of_restructured_text(source: str, expected: str) -> None:
    assert rst(source) == expected


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    "source",
    [
        "+---+-----+\n| a | b   |\n+===+=====+\n| 1 | two |\n+---+-----+\n",
        "===  ====\na    b\n===  ====\n1    two\n===  ====\n",
        ".. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n   * - 1\n     - two\n",
        ".. csv-table::\n   :header: a, b\n\n   1, two\n",
    ],
)
def test_every_table_of_restructured_text_becomes_one_of_markdown(source: str) -> None:
    assert rst(source) == "| a | b |\n| --- | --- |\n| 1 | two |"


@pytest.mark.requirement("INGEST-1")
def test_a_grid_cell_over_two_columns_says_its_text_in_both() -> None:
    grid = "+---+---+\n| a | b |\n+===+===+\n| both  |\n+---+---+\n| 1 | 2 |\n+---+---+\n"
    assert rst(grid).split("\n")[2:] == ["| both | both |", "| 1 | 2 |"]


@pytest.mark.requirement("INGEST-1")
def test_leading_fields_become_metadata() -> None:
    text = read_rst(b":author: Ada\n:orphan:\n\nTitle\n=====\n", "a.rst")
    assert (text.text, text.metadata) == ("# Title", {"author": "Ada"})


@pytest.mark.requirement("INGEST-1")
def test_lines_remember_their_numbers() -> None:
    text = read_rst(b"Title\n=====\n\n.. note::\n\n   Careful.\n\nEnd::\n\n   code\n", "a.rst")
    assert [line_of(text, words) for words in ("# Title", "Careful", "End", "code")] == [1, 6, 8, 10]
    text = read_asciidoc(b"= Title\n:a: b\n\n[NOTE]\n====\nCareful.\n====\n\n----\ncode\n----\n", "a.adoc")
    assert [line_of(text, words) for words in ("# Title", "Careful", "code")] == [1, 6, 10]


@pytest.mark.requirement("INGEST-1")
def test_beyond_some_lines_every_twentieth_has_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_EVERY_LINE", 3)
    places = read_rst(b"text\n\n" * 40, "a.rst").places
    assert [place.line for _, place in places] == [1, 3, 5]
    places = read_rst(b"text\n\n\n" * 40, "a.rst").places
    assert [place.line for _, place in places] == [1, 4, 7, 40, 100]


ADOC = """= Pool manual
:author: Ada
:ver: 2.1

Version {ver} of the manual.

== Growing

[source,bash,subs="+attributes"]
----
poolctl grow {ver}
# no heading
----

NOTE: Be careful.

[WARNING]
====
It costs money.
====

.Prices
[cols="1,1",options="header"]
|===
|Size |Price

|small
|1
2+|on demand
|===

* one
** inner
+
attached
* two

Pool:: A set of connections.

////
not shown
////
"""


@pytest.mark.requirement("INGEST-1")
def test_a_page_of_asciidoc() -> None:
    text = read_asciidoc(ADOC.encode(), "a.adoc")
    assert text.text == (
        "# Pool manual\n\nVersion 2.1 of the manual.\n\n## Growing\n\n```bash\npoolctl grow 2.1\n# no heading\n```\n\n"
        "**Note:** Be careful.\n\n**Warning:** It costs money.\n\n**Prices**\n\n"
        "| Size | Price |\n| --- | --- |\n| small | 1 |\n| on demand | on demand |\n\n"
        "- one\n  - inner\n\n    attached\n\n- two\n\n**Pool**\n\nA set of connections."
    )
    assert text.metadata == {"author": "Ada"}


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("link:https://e.org[Docs^]", "[Docs](https://e.org)"),
        ("https://e.org[Docs]", "[Docs](https://e.org)"),
        ("link:other.html[Docs]", "Docs"),
        ("xref:pools.adoc#grow[growing]", "growing"),
        ("https://e.org[https://e.org]", "https://e.org"),
        ("https://e.org[]", "https://e.org"),
        ("<<grow,growing>>", "growing"),
        ("<<grow>>", "grow"),
        ("*bold* and _it_", "**bold** and _it_"),
        ("`code *x*`", "`code *x*`"),
        ("`+{raw}+`", "`{raw}`"),
        ("{unknown} stays", "{unknown} stays"),
        ("note footnote:[aside]", "note  (aside)"),
        ("press kbd:[Ctrl]", "press Ctrl"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("two lines\nstd:: vector", "two lines\nstd:: vector"),
        ('[source,"bash"]\n----\nls\n----', "```bash\nls\n```"),
    ],
)
def test_inline_markup_of_asciidoc(source: str, expected: str) -> None:
    assert adoc(source) == expected


@pytest.mark.requirement("INGEST-3")
def test_front_matter_before_asciidoc_is_metadata_or_reported() -> None:
    text = read_asciidoc(b"---\ntitle: T\ncategory: ops\n---\n= Other\n\ntext\n", "a.adoc")
    assert (text.text, text.title, text.category, text.remarks) == ("# Other\n\ntext", "T", "ops", ())
    assert line_of(text, "text") == 7
    broken = read_asciidoc(b"---\ntitle: [\n---\ntext\n", "a.adoc")
    assert broken.remarks[0].startswith("front matter kept as text: ")


@pytest.mark.requirement("INGEST-1")
def test_a_block_that_is_never_closed_ends_with_the_file() -> None:
    assert adoc("----\ncode\n") == "```\ncode\n```"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece",
    [
        "link:",
        "xref:a[",
        "<<",
        "image:",
        '["',
        "{a}",
        "*a ",
        "`",
        "|",
        ":a:`",
        "`<",
        "a_ ",
        "[1",
        "====\n",
        "x\n====\n",
        ".. a::\n",
    ],
)
def test_repeated_beginnings_take_linear_time(piece: str) -> None:
    rst(piece * 20_000)
    adoc(piece * 20_000)
