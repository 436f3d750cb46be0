"""What Office documents hold where their libraries don't look, or trip, is read all the same (INGEST-1)."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest
from office_files import docx_file, pptx_file, with_part
from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from citewell.adapters.readers import FileReader
from citewell.adapters.readers.docx import read_docx
from citewell.adapters.readers.pptx import read_pptx
from citewell.errors import IngestError

NAMES = " ".join(
    f'xmlns:{prefix}="{name}"'
    for prefix, name in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "v": "urn:schemas-microsoft-com:vml",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    }.items()
)


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def word(body: str) -> str:
    document = f"<w:document {NAMES}><w:body>{body}</w:body></w:document>"
    return read_docx(with_part(docx_file(["x"]), "word/document.xml", document.encode()), "a.docx").text


def drawing(content: str) -> str:
    graphic = f"<a:graphic><a:graphicData>{content}</a:graphicData></a:graphic>"
    return f"<w:drawing><wp:inline>{graphic}</wp:inline></w:drawing>"


def shape(text: str) -> str:
    box = f"<wps:txbx><w:txbxContent><w:p>{run(text)}</w:p></w:txbxContent></wps:txbx>"
    return drawing(f"<wps:wsp>{box}</wps:wsp>")


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p>{run(text)}</w:p></w:tc>"


PICTURE = drawing("<pic:pic><pic:blipFill><a:blip r:embed='r9'/></pic:blipFill></pic:pic>")
FORMULAS = "<m:oMath><m:r><m:t>E=m</m:t></m:r><m:r><m:t>c</m:t></m:r></m:oMath>"
SPAN = "<w:gridSpan w:val='x'/>"
ROWS = f"<w:tr>{cell('a', SPAN)}{cell('b')}</w:tr><w:tr>{cell('1')}{cell('2')}</w:tr>"
RUBY = f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('above')}</w:rt><w:rubyBase>{run('base')}</w:rubyBase></w:ruby></w:r>"
BOTH = "<mc:AlternateContent><mc:Choice Requires='wps'>{}</mc:Choice>{}</mc:AlternateContent>"
OLD = f"<w:pict><v:textbox><w:txbxContent><w:p>{run('boxed')}</w:p></w:txbxContent></v:textbox></w:pict>"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<w:p>{run('Energy: ')}{FORMULAS}{run('.')}</w:p>", "Energy: E=mc."),
        ("<w:p><m:oMathPara><m:oMath><m:r><m:t>x+1</m:t></m:r></m:oMath></m:oMathPara></w:p>", "x+1"),
        (f"<w:p><w:fldSimple w:instr='REF a'>{run('Table 1')}</w:fldSimple></w:p>", "Table 1"),
        (f"<w:p><w:bdo w:val='rtl'>{run('a')}</w:bdo><w:dir w:val='rtl'>{run('b')}</w:dir></w:p>", "ab"),
        (f"<w:p>{run('a ')}{RUBY}{run(' b')}</w:p>", "a base b"),
        (f"<w:p><w:r>{BOTH.format(shape('boxed'), f'<mc:Fallback>{OLD}</mc:Fallback>')}</w:r></w:p>", "boxed"),
        (f"<w:p><w:r>{BOTH.format(shape('boxed'), '')}</w:r></w:p>", "boxed"),
        (f"<w:p><w:r>{shape('boxed')}</w:r></w:p>", "boxed"),
        (f"<w:tbl>{ROWS}</w:tbl>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        (f"<w:p>{run('noted')}<w:r><w:footnoteReference w:id='99'/></w:r></w:p>", "noted"),
        (f"<w:p>{run('noted')}<w:r><w:endnoteReference/></w:r></w:p>", "noted"),
        (f"<w:p><w:hyperlink r:id='r99'>{run('linked')}</w:hyperlink></w:p>", "linked"),
        (f"<w:p>{run('drawn')}<w:r>{PICTURE}</w:r></w:p>", "drawn"),
    ],
    ids=[
        "formula",
        "formula alone",
        "field",
        "direction",
        "ruby",
        "two versions",
        "new version",
        "shape",
        "span",
        "footnote",
        "endnote",
        "link",
        "picture",
    ],
)
def test_text_of_a_word_document_is_kept_wherever_it_is(body: str, text: str) -> None:
    """References to what isn't there used to end the reading of the whole document."""
    assert word(body) == text


def deck() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    figures: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    figures.categories = ["May", "June"]
    figures.add_series("sales", (1.5, None))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, Inches(3), Inches(2), figures)
    slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "Restart"
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def changed(name: str, old: str, new: str) -> bytes:
    """The deck with a change in one of its parts."""
    with zipfile.ZipFile(io.BytesIO(deck())) as package:
        part = next(each for each in package.namelist() if each.startswith(name) and each.endswith((".xml", ".rels")))
        markup = package.read(part).decode()
    assert re.search(old, markup, re.DOTALL)
    return with_part(deck(), part, re.sub(old, lambda _: new, markup, flags=re.DOTALL).encode())


TABLE = "|  | sales |\n| --- | --- |\n| May | 1.5 |\n| June |  |"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("kind", ["pieChart", "ofPieChart", "stockChart", "surface3DChart", "chartOfTomorrow"])
def test_a_chart_shows_its_figures_whatever_its_kind(kind: str) -> None:
    text = read_pptx(changed("ppt/charts/chart", "pieChart", kind), "a.pptx")
    assert (text.text, text.remarks) == (f"## Slide 1\n\n{TABLE}\n\nRestart", ())


@pytest.mark.requirement("INGEST-1")
def test_a_chart_of_points_shows_both_figures() -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    figures: Any = XyChartData()  # type: ignore[no-untyped-call]
    series = figures.add_series("load")
    series.add_data_point(1, 0.25)
    series.add_data_point(2, 0.5)
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, 0, Inches(3), Inches(2), figures)
    out = io.BytesIO()
    presentation.save(out)
    table = "|  | load |\n| --- | --- |\n| 1 | 0.25 |\n| 2 | 0.5 |"
    assert read_pptx(out.getvalue(), "a.pptx").text == f"## Slide 1\n\n{table}"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("part", "old", "new", "remark"),
    [
        ("ppt/charts/chart", ".*", "<broken", "its part 'ppt/charts/chart"),
        ("ppt/slides/_rels/slide1", "charts/chart", "charts/nothing", "1 shape of slide 1 can't be read"),
    ],
    ids=["damaged", "missing"],
)
def test_a_chart_that_is_damaged_costs_nothing_but_the_chart(part: str, old: str, new: str, remark: str) -> None:
    text = read_pptx(changed(part, old, new), "a.pptx")
    assert text.text == "## Slide 1\n\nRestart"
    assert text.remarks[0].startswith(remark)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("core", [b"<broken", b"", b"\xff\xfe\x00"])
def test_a_presentation_whose_properties_are_damaged_is_read(core: bytes) -> None:
    data = with_part(pptx_file([("Pools", [(0, "Grow them")], "")]), "docProps/core.xml", core)
    text = read_pptx(data, "a.pptx")
    assert (text.title, text.text) == ("Pools", "## Pools\n\nGrow them")


SHAPE = r"<p:sp>.*</p:sp>"
NEW = (
    "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>"
    "<mc:Choice Requires='a14'>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>"
)
FORMULA = (
    "<a14:m xmlns:a14='http://schemas.microsoft.com/office/drawing/2010/main'>"
    "<m:oMath xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'>"
    "<m:r><m:t>x</m:t></m:r><m:r><m:t>+1</m:t></m:r></m:oMath></a14:m>"
)


def box(content: str) -> str:
    properties = "<p:nvSpPr><p:cNvPr id='9' name='b'/><p:cNvSpPr txBox='1'/><p:nvPr/></p:nvSpPr><p:spPr/>"
    return f"<p:sp>{properties}<p:txBody><a:bodyPr/><a:p>{content}</a:p></p:txBody></p:sp>"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("new", "old"),
    [
        (box(f"<a:r><a:t>so </a:t></a:r>{FORMULA}"), box("<a:r><a:t> </a:t></a:r>")),
        (box(""), box("<a:r><a:t>so x+1</a:t></a:r>")),
    ],
    ids=["new", "old"],
)
def test_a_shape_in_two_versions_is_read_once_with_its_formula(new: str, old: str) -> None:
    """As PowerPoint writes every shape with a formula in it."""
    text = read_pptx(changed("ppt/slides/slide", SHAPE, NEW.format(new, old)), "a.pptx").text
    assert text == f"## Slide 1\n\n{TABLE}\n\nso x+1"


@pytest.mark.requirement("INGEST-1")
def test_a_slide_that_is_damaged_is_refused_by_name() -> None:
    with pytest.raises(IngestError, match="it can't be read as a PowerPoint presentation"):
        FileReader().read(changed("ppt/slides/slide", ".*", "<broken"), "a.pptx")
