"""A page becomes the Markdown of its text: no navigation, code with its language, tables whole (INGEST-1)."""

from __future__ import annotations

import pytest

from citewell.adapters.readers import html_writer
from citewell.adapters.readers.blocks import joined
from citewell.adapters.readers.html import convert, read_html
from citewell.errors import IngestError
from citewell.model import Locator


def text_of(markup: str) -> str:
    return joined(convert(markup).blocks)


PAGE = """<!doctype html><html lang="en"><head><title>Pools | Shop docs</title>
<meta name="Description" content="All about pools"><meta property="article:published_time" content="2024-05-01">
<link rel="canonical" href="https://docs.shop.example/pools">
<script>var nav = "menu"</script><style>p { color: red }</style></head>
<body><header><a href="/">Shop docs</a></header><nav><ul><li>Home</li></ul></nav>
<div id="cookie-banner">We use cookies</div><main><h1>Pools <a class="headerlink" href="#p">¶</a></h1>
<p>When the pool is <b>empty</b>, run <code>poolctl grow</code>.</p></main>
<aside>Advertisement</aside><footer>Imprint</footer></body></html>"""


@pytest.mark.requirement("INGEST-1")
def test_navigation_banners_and_scripts_are_left_out() -> None:
    assert text_of(PAGE) == "# Pools\n\nWhen the pool is empty, run `poolctl grow`."


@pytest.mark.requirement("INGEST-1")
def test_title_metadata_and_address_are_taken() -> None:
    text = read_html(PAGE.encode(), "pools.html")
    assert text.title == "Pools"
    assert text.metadata == {"date": "2024-05-01", "description": "All about pools", "language": "en"}
    assert text.places == ((0, Locator(url="https://docs.shop.example/pools")),)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        ("A - Site", "<h2>A</h2>", "A"),
        ("A - Site", "<h1>Other</h1>", "A - Site"),
        ("", "<h1>Heading</h1>", "Heading"),
        ("", "<p>none", ""),
    ],
)
def test_the_title_is_the_part_that_a_heading_repeats(title: str, body: str, expected: str) -> None:
    assert convert(f"<title>{title}</title><body>{body}").title == expected


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("markup", "language"),
    [
        ('<pre><code class="language-bash">ls</code></pre>', "bash"),
        ('<pre class="lang-py">ls</pre>', "py"),
        ('<div class="highlight-python notranslate"><div class="highlight"><pre>ls</pre></div></div>', "python"),
        (
            '<div class="language-yaml"><div><pre class="highlight"><code>ls</code></pre></div></div>',
            "yaml",
        ),
        ('<pre data-lang="go">ls</pre>', "go"),
        ('<pre class="highlight-default">ls</pre>', ""),
        ("<pre>ls</pre>", ""),
    ],
)
def test_code_keeps_its_language(markup: str, language: str) -> None:
    assert text_of(markup) == f"```{language}\nls\n```"


@pytest.mark.requirement("INGEST-1")
def test_code_keeps_its_lines_and_loses_line_numbers() -> None:
    assert text_of("<pre><span class=lineno>1</span>a = 1\n\n<span class=lineno>3</span>  b &lt; 2\n</pre>") == (
        "```\na = 1\n\n  b < 2\n```"
    )


@pytest.mark.requirement("INGEST-1")
def test_a_fence_in_code_makes_the_marks_longer() -> None:
    assert text_of("<pre>```\nx\n```</pre>") == "````\n```\nx\n```\n````"


@pytest.mark.requirement("INGEST-1")
def test_a_table_repeats_what_covers_several_cells() -> None:
    markup = """<table><thead><tr><th rowspan=2>Region<th colspan=2>Sales<tr><th>Q1<th>Q2</thead>
    <tr><td rowspan=2>North<td>1|2<td>3<tr><td>4<td>5</table>"""
    assert text_of(markup).split("\n") == [
        "| Region | Sales / Q1 | Sales / Q2 |",
        "| --- | --- | --- |",
        "| North | 1\\|2 | 3 |",
        "| North | 4 | 5 |",
    ]


@pytest.mark.requirement("INGEST-1")
def test_a_table_that_lays_out_the_page_is_no_table() -> None:
    assert text_of("<table><tr><td><h2>Left</h2><p>one<td>two</table>") == "## Left\n\none\n\ntwo"
    assert text_of("<table><tr><td><table><tr><th>a<th>b<tr><td>1<td>2</table></table>") == (
        "| a | b |\n| --- | --- |\n| 1 | 2 |"
    )


@pytest.mark.requirement("INGEST-1")
def test_lists_nest_and_keep_what_they_hold() -> None:
    assert text_of("<ol start=3><li>three<ul><li>a<li>b</ul><li><p>four<pre>x</pre></ol>") == (
        "3. three\n\n   - a\n   - b\n4. four\n\n   ```\n   x\n   ```"
    )


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p># five", "\\# five"),
        ("<p>- minus", "\\- minus"),
        ("<p>1. one", "1\\. one"),
        ("<p>&lt;script>", "\\<script>"),
        ("<p>```", "\\```"),
        ("<p>a<br># b", "a\n\\# b"),
        ("<p>#1 of 3 - fine", "#1 of 3 - fine"),
    ],
)
def test_text_is_never_taken_for_markup(markup: str, expected: str) -> None:
    assert text_of(markup) == expected


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<a href="https://e.org/x">here</a>', "[here](https://e.org/x)"),
        ('<a href="/x">here</a>', "here"),
        ('<a href="https://e.org">https://e.org</a>', "https://e.org"),
        ("10<sup>6</sup>", "10^6"),
        ("the 5<sup>th</sup>", "the 5th"),
        ('so<sup><a href="#f1">1</a></sup>.', "so[1]."),
        ("H<sub>2</sub>O", "H2O"),
        ("Donau&shy;dampf", "Donaudampf"),
        ("a&nbsp;&nbsp;b", "a b"),
        ('<img alt="A diagram">', "A diagram"),
        ("<kbd>Ctrl</kbd>", "`Ctrl`"),
        ("<code>a`b</code>", "`` a`b ``"),
    ],
)
def test_inline_markup(markup: str, expected: str) -> None:
    assert text_of(f"<p>{markup}") == expected


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    "markup",
    [
        '<div class="cookie-consent">gone</div>',
        '<div id="onetrust-banner-sdk">gone</div>',
        '<div role="navigation">gone</div>',
        "<noscript>gone</noscript>",
        "<button>gone</button>",
        "<p hidden>gone</p>",
        '<p style="display: none">gone</p>',
        '<span aria-hidden="true">gone</span>',
        "<template><p>gone</template>",
        '<div class="breadcrumbs">gone</div>',
        "<svg><text>gone</text></svg>",
    ],
)
def test_furniture_is_gone(markup: str) -> None:
    assert text_of(f"<p>kept</p>{markup}<p>too") == "kept\n\ntoo"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    "markup",
    [
        '<aside class="note">kept</aside>',
        '<div role="tabpanel" hidden>kept</div>',
        "<details><summary>kept</summary></details>",
        '<section id="cookies">kept</section>',
        "<article><header><p>kept</header></article>",
        "<form><p>kept</form>",
    ],
)
def test_what_looks_like_furniture_and_is_text_stays(markup: str) -> None:
    assert text_of(markup) == "kept"


@pytest.mark.requirement("INGEST-1")
def test_articles_are_the_text_where_no_main_part_is_marked() -> None:
    articles = "<article><h2>One</h2><p>first story</article><article><h2>Two</h2><p>second story</article>"
    assert text_of(f"<div>Menu</div>{articles}") == "## One\n\nfirst story\n\n## Two\n\nsecond story"
    long = "<p>" + "the page's own text " * 20
    assert text_of(f"{long}<article>teaser</article>").startswith("the page's own text")


@pytest.mark.requirement("INGEST-2")
def test_a_declared_charset_is_honoured() -> None:
    markup = '<html><head><meta charset="gb2312"><title>连接池</title><body><p>数据库连接池耗尽'
    text = read_html(markup.encode("gbk"), "a.html")
    assert (text.title, text.text, text.remarks) == ("连接池", "数据库连接池耗尽", ("read as gb18030",))
    latin = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><p>caf\xe9 \x93q\x94'
    assert read_html(latin.encode("latin-1"), "a.html").text == "café “q”"


@pytest.mark.requirement("INGEST-3")
def test_front_matter_before_a_page_becomes_metadata() -> None:
    text = read_html(b"---\r\ntitle: T\r\ncategory: ops\r\n---\r\n<!doctype html><p>body", "a.html")
    assert (text.text, text.title, text.category) == ("body", "T", "ops")


@pytest.mark.requirement("INGEST-1")
def test_elements_nested_too_deep_are_refused_at_once() -> None:
    with pytest.raises(IngestError, match="nest deeper than 1000"):
        convert("<div>" * 200_000 + "x")


@pytest.mark.requirement("INGEST-1")
def test_a_cell_that_claims_to_cover_millions_is_bounded() -> None:
    cell = "<td colspan=1000 rowspan=65534>" + "y" * 500
    assert len(text_of("<table>" + f"<tr>{cell}" * 200 + "</table>")) < 5_000_000


@pytest.mark.requirement("INGEST-1")
def test_a_page_of_endless_tables_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_writer, "_MOST_CELLS", 3)
    assert text_of("<table><tr><td>a<td>b<tr><td>c</table>").endswith("| c |  |")
    with pytest.raises(IngestError, match="its tables hold more than 3 cells"):
        convert("<table><tr><td>a<td>b<tr><td>c<td>d</table>")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.timeout(20)
def test_a_large_page_takes_linear_time() -> None:
    text = text_of("<ul>" + "<li>x <b>y</b>" * 50_000)
    assert text.count("\n") == 49_999


@pytest.mark.requirement("INGEST-1")
def test_a_heading_is_one_line_whatever_elements_it_is_made_of() -> None:
    page = "<h2><div>Grow</div><div><span>the pool</span></div></h2><p>Text"
    assert read_html(page.encode(), "a.html").text == "## Grow the pool\n\nText"
