"""A presentation's archive -> one that its library reads whole: without what it trips over or passes over.

Properties and charts that are damaged become empty ones, shapes that are written in two versions are written in one,
and formulas become text. What needs none of this stays as it is.
"""

from __future__ import annotations

import io
import zipfile

from lxml import etree

from citewell.adapters.readers import archive
from citewell.errors import IngestError

_CORE = "docProps/core.xml"
_NO_PROPERTIES = (
    b'<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"/>'
)
_CHARTS = "ppt/charts/chart"
_NO_CHART = b'<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"/>'
_SLIDES = ("ppt/slides/slide", "ppt/notesSlides/notesSlide")
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"


def mended(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The archive, and a remark for each part whose content is lost.

    Raises:
        IngestError: it is damaged or unsafe.
    """
    changed: dict[str, bytes] = {}
    with archive.open_package(data) as package:
        names = package.namelist()
        for name in names:
            if name == _CORE and not _is_xml(package, name):
                changed[name] = _NO_PROPERTIES
            elif name.startswith(_CHARTS) and name.endswith(".xml") and not _is_xml(package, name):
                changed[name] = _NO_CHART
            elif name.startswith(_SLIDES) and name.endswith(".xml"):
                markup = archive.part(package, name)
                if b"AlternateContent" in markup or b"oMath" in markup:
                    changed[name] = _plain(markup)
        remarks = tuple(f"its part {name!r} is damaged" for name in changed if name.startswith(_CHARTS))
        return (_replaced(package, changed) if changed else data), remarks


def _is_xml(package: zipfile.ZipFile, name: str) -> bool:
    try:
        _parsed(archive.part(package, name))
    except (IngestError, etree.XMLSyntaxError):
        return False
    return True


def _parsed(markup: bytes) -> etree._Element:
    return etree.fromstring(markup, etree.XMLParser(resolve_entities=False, no_network=True))


def _plain(markup: bytes) -> bytes:
    root = _parsed(markup)
    for both in list(root.iter(f"{_COMPATIBILITY}AlternateContent")):
        new, old = both.find(f"{_COMPATIBILITY}Choice"), both.find(f"{_COMPATIBILITY}Fallback")
        says_more = old is not None and (new is None or (_says_nothing(new) and not _says_nothing(old)))
        dropped = new if says_more else old
        if dropped is not None:
            both.remove(dropped)
    etree.strip_tags(root, *(f"{_COMPATIBILITY}{name}" for name in ("AlternateContent", "Choice", "Fallback")))
    for formula in list(root.iter(_FORMULA)):
        text = "".join(node.text or "" for node in formula.iter(f"{_MATH}t"))
        formula.clear()
        formula.tag = f"{_DRAWING}r"
        etree.SubElement(formula, f"{_DRAWING}t").text = text
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def _says_nothing(element: etree._Element) -> bool:
    return not any(node.text for node in element.iter(f"{_DRAWING}t", f"{_MATH}t"))


def _replaced(package: zipfile.ZipFile, changed: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as mended_package:
        for name in dict.fromkeys(package.namelist()):
            mended_package.writestr(name, changed[name] if name in changed else archive.part(package, name))
    return out.getvalue()
