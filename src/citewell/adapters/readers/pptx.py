"""PowerPoint presentations -> Markdown: slides in order, each with its number as page, titles as headings (INGEST-1).

Text, tables, the figures of charts, texts of diagrams and the speaker's notes are taken; pictures are left out.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.slide import Slide
from pptx.table import Table
from pptx.text.text import TextFrame

from citewell.adapters.readers import blocks
from citewell.adapters.readers.blocks import BREAK, Block, joined
from citewell.adapters.readers.decode import clean
from citewell.adapters.readers.office import office_properties
from citewell.adapters.readers.pptx_charts import chart_blocks
from citewell.adapters.readers.pptx_parts import mended
from citewell.adapters.readers.tables import Allowance, Spans, markdown_table
from citewell.model import Locator, Text

_TITLES = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE)
_FURNITURE = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER)
_DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"


def read_pptx(data: bytes, name: str) -> Text:
    """A presentation of PowerPoint 2007 or later.

    Raises:
        IngestError: its archive is damaged or unsafe.
    """
    properties = office_properties(data)
    data, remarks = mended(data)
    parts: list[str] = []
    places: list[tuple[int, Locator]] = []
    allowance = Allowance()
    length = 0
    first_title = ""
    for number, slide in enumerate(Presentation(io.BytesIO(data)).slides, start=1):
        title, content, lost = _slide(slide, allowance)
        remarks += (f"{lost} of slide {number} can't be read",) if lost else ()
        if not content and not title:
            continue
        first_title = first_title or title
        text = clean(joined([blocks.heading(2, title or f"Slide {number}"), *content])) + "\n\n"
        places.append((length, Locator(page=number)))
        parts.append(text)
        length += len(text)
    title = properties.pop("title", "")
    if title in _NO_TITLES:
        title = first_title
    text = "".join(parts).rstrip("\n")
    return Text(text, title=title or None, metadata=properties, remarks=remarks, places=tuple(places))


_NO_TITLES = frozenset(
    {"", "PowerPoint Presentation", "PowerPoint-Präsentation", "Présentation PowerPoint", "PowerPoint 演示文稿"}
)


def _slide(slide: Slide, allowance: Allowance) -> tuple[str, list[Block], str]:
    """The slide's title, what else is on it, the notes last, and what of it can't be read."""
    title = ""
    content: list[Block] = []
    lost = 0
    for shape in _shapes(slide.shapes):
        role = _role(shape)
        if role in _FURNITURE:
            continue
        if role in _TITLES and not title and isinstance(shape, Shape):
            title = " ".join(shape.text_frame.text.split())
            continue
        try:
            content += list(_shape(shape, slide, allowance))
        except (KeyError, ValueError, AttributeError, TypeError, etree.LxmlError):  # the rest of the slide is sound
            lost += 1
    content += _notes(slide)
    return title, content, f"{lost} shape{'s' if lost > 1 else ''}" if lost else ""


def _role(shape: BaseShape) -> object:
    """What a shape is there for, if its layout says so."""
    try:
        return shape.placeholder_format.type if shape.is_placeholder else None
    except (KeyError, ValueError):
        return None


def _notes(slide: Slide) -> list[Block]:
    try:
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    except (KeyError, ValueError):
        return []
    notes = list(_paragraphs(frame)) if frame is not None else []
    return [blocks.paragraph("Notes:"), *notes] if notes else []


def _shapes(shapes: Iterable[BaseShape]) -> Iterator[BaseShape]:
    """All shapes in order, those inside groups too; nothing recurses."""
    waiting = list(reversed(list(shapes)))
    while waiting:
        shape = waiting.pop()
        inner = getattr(shape, "shapes", None)
        if inner is not None:
            waiting += reversed(list(inner))
        else:
            yield shape


def _shape(shape: BaseShape, slide: Slide, allowance: Allowance) -> Iterator[Block]:
    if isinstance(shape, GraphicFrame) and shape.has_table:
        yield from _table(shape.table, allowance)
    elif isinstance(shape, GraphicFrame) and shape.has_chart:
        yield from chart_blocks(shape.chart_part.blob)
    elif isinstance(shape, Shape):
        yield from _paragraphs(shape.text_frame)
    else:
        yield from _diagram(shape, slide)


def _paragraphs(frame: TextFrame) -> Iterator[Block]:
    """Paragraphs; deeper ones as items of a list."""
    after_item = False
    for paragraph in frame.paragraphs:
        text = blocks.inline(paragraph.text.replace("\v", BREAK))
        if not text:
            continue
        if paragraph.level:
            indent = "  " * (paragraph.level - 1)
            yield Block(f"{indent}- {text.replace(chr(10), ' ')}", tight=after_item)
        else:
            yield blocks.paragraph(text)
        after_item = bool(paragraph.level)


def _table(table: Table, allowance: Allowance) -> Iterator[Block]:
    spans = Spans(allowance)
    for row in table.rows:
        cells = [cell for cell in row.cells if not cell.is_spanned]
        spans.add_row(
            (
                cell.text_frame.text,
                cell.span_width if cell.is_merge_origin else 1,
                cell.span_height if cell.is_merge_origin else 1,
            )
            for cell in cells
        )
    text = markdown_table(spans.rows())
    if text:
        yield Block(text)


def _diagram(shape: BaseShape, slide: Slide) -> Iterator[Block]:
    """The texts of a diagram, which lie in a part of their own."""
    for element in shape.element.iter(f"{{{_DIAGRAM}}}relIds"):
        part = slide.part.related_part(element.get(_RELATION))
        root = etree.fromstring(part.blob, etree.XMLParser(resolve_entities=False, no_network=True))
        for node in root.iter(_TEXT):
            if text := blocks.inline(node.text or ""):
                yield Block(f"- {text}", tight=True)
