"""The figures of a chart -> a table, whatever kind of chart it is: categories down, series across. Knows its markup."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from citewell.adapters.readers import blocks
from citewell.adapters.readers.blocks import Block
from citewell.adapters.readers.tables import markdown_table

_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MOST_POINTS = 100_000

Points = dict[int, str]


def chart_blocks(markup: bytes) -> Iterator[Block]:
    """The chart's title and a table of its figures, plot by plot."""
    space = etree.fromstring(markup, etree.XMLParser(resolve_entities=False, no_network=True))
    title = space.find(f"{_CHART}chart/{_CHART}title")
    if title is not None and (text := _said(title)):
        yield blocks.paragraph(text)
    for plot in space.iter(f"{_CHART}plotArea"):
        for kind in plot:
            series = kind.findall(f"{_CHART}ser")
            if table := markdown_table(_rows(series)) if series else "":
                yield Block(table)


def _said(element: etree._Element) -> str:
    nodes = element.iter(f"{_DRAWING}t", f"{_CHART}v")
    return " ".join(" ".join(node.text or "" for node in nodes).split())


def _rows(series: list[etree._Element]) -> list[list[str]]:
    names = [_said(tx) if (tx := each.find(f"{_CHART}tx")) is not None else "" for each in series]
    figures = [_points(each, "val", "yVal") for each in series]
    categories: Points = {}
    for each in series:
        categories = {**_points(each, "cat", "xVal"), **categories}
    places = sorted({*categories, *(place for points in figures for place in points)})
    rows = [[categories.get(place, str(place + 1)), *(points.get(place, "") for points in figures)] for place in places]
    return [["", *names], *rows]


def _points(series: etree._Element, *names: str) -> Points:
    """Values by their place; of categories in several levels the innermost, which comes first."""
    points: Points = {}
    for name in names:
        for point in series.iterfind(f"{_CHART}{name}//{_CHART}pt"):
            place = point.get("idx", "")
            if place.isascii() and place.isdigit() and int(place) < _MOST_POINTS:
                points.setdefault(int(place), _figure(point.findtext(f"{_CHART}v") or ""))
    return points


def _figure(text: str) -> str:
    """A number without what binary fractions add to it; other texts as they are."""
    try:
        return f"{float(text):.15g}" if "." in text else text
    except ValueError:
        return text
