"""A Word document's archive -> a smaller one with the same text: without pictures, fonts, themes and how text looks.

What reads the document afterwards builds an object for each element, and most elements only say how text looks.
Knows the names of elements, not what they mean to a reader.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

from lxml import etree

from citewell.adapters.readers import archive
from citewell.adapters.readers.words import words
from citewell.errors import IngestError

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_PACKAGE = "{http://schemas.openxmlformats.org/package/2006/relationships}"
_PICTURES = (
    "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic",
    "{urn:schemas-microsoft-com:vml}imagedata",
)
_TRANSPARENT = words("fldSimple bdo dir ruby rubyBase customXml smartTag moveTo")
_NOTES = ("footnote", "endnote")
_LOOKS_OF_STYLES = words(
    """
    docDefaults latentStyles rPr tblPr trPr tcPr tblStylePr rsid uiPriority qFormat semiHidden unhideWhenUsed
    """
)
_LOOKS_OF_TEXT = words(
    """
    proofErr lastRenderedPageBreak sectPr bookmarkEnd tblBorders tcBorders rFonts color sz szCs lang spacing ind jc shd
    b bCs i iCs u kern tabs tcW tblGrid
    """
)
_LEFT_OUT = (
    "theme/", "media/", "embeddings/", "fonts/", "glossary/", "webSettings", "fontTable", "stylesWithEffects",
    "settings",
)  # fmt: skip
_KEPT = (".xml", ".rels")


def slimmed(data: bytes) -> bytes:
    """The archive with what its text needs.

    Raises:
        IngestError: it is damaged or unsafe.
    """
    out = io.BytesIO()
    with archive.open_package(data) as package, zipfile.ZipFile(out, "w") as slim:
        known = _Known(package)
        for name in dict.fromkeys(package.namelist()):
            inner = name.removeprefix("word/")
            if name.endswith(_KEPT) and not inner.startswith(_LEFT_OUT):
                slim.writestr(name, _plain(inner, archive.part(package, name), known))
    return out.getvalue()


def _plain(name: str, markup: bytes, known: _Known) -> bytes:
    if not name.startswith(("styles", "document", "footnotes", "endnotes")) or not name.endswith(".xml"):
        return markup
    # A definition of entities is lost on the way, and with it whatever they would unfold to.
    root = etree.fromstring(markup, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    if name.startswith("styles"):
        etree.strip_elements(root, *_elements(_LOOKS_OF_STYLES), with_tail=False)
    else:
        _keep_text(root)
        known.drop_others(root, name)
        etree.strip_elements(root, *_elements(_LOOKS_OF_TEXT), *_PICTURES, with_tail=False)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def _elements(names: Iterable[str]) -> list[str]:
    return [f"{_WORD}{name}" for name in sorted(names)]


def _keep_text(root: etree._Element) -> None:
    """Bring text to where it is looked for: out of fields, formulas, ruby, and shapes that have no older version."""
    for formula in list(root.iter(f"{_MATH}oMath")):
        text = "".join(node.text or "" for node in formula.iter(f"{_MATH}t"))
        tail = formula.tail
        formula.clear()
        formula.tag, formula.tail = f"{_WORD}r", tail
        etree.SubElement(formula, f"{_WORD}t").text = text
    for both in root.iter(f"{_COMPATIBILITY}AlternateContent"):
        new = both.find(f"{_COMPATIBILITY}Choice")
        if new is not None and both.find(f"{_COMPATIBILITY}Fallback") is None:
            new.tag = f"{_COMPATIBILITY}Fallback"
    for drawing in list(root.iter(f"{_WORD}drawing")):
        boxes = list(drawing.iter(f"{_WORD}txbxContent"))
        if boxes:
            tail = drawing.tail
            drawing.clear()
            drawing.tag, drawing.tail = f"{_WORD}pict", tail
            drawing.extend(boxes)
    etree.strip_elements(root, f"{_WORD}rt", f"{_WORD}rubyPr", with_tail=False)
    etree.strip_tags(root, *_elements(_TRANSPARENT), f"{_MATH}oMathPara")
    for span in root.iter(f"{_WORD}gridSpan"):
        if not span.get(f"{_WORD}val", "").isdecimal():
            span.set(f"{_WORD}val", "1")


class _Known:
    """What a text may refer to in an archive. Other references would end the reading; their text stays."""

    def __init__(self, package: zipfile.ZipFile) -> None:
        self._package = package
        self._names = frozenset(package.namelist())
        self._notes = {kind: self._of(f"word/{kind}s.xml", f"{_WORD}{kind}", f"{_WORD}id") for kind in _NOTES}

    def _of(self, part: str, element: str, attribute: str) -> frozenset[str]:
        """The values of an attribute in a part; none if the part isn't there or is damaged."""
        try:
            markup = archive.part(self._package, part) if part in self._names else b"<none/>"
            root = etree.fromstring(markup, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
        except (IngestError, etree.XMLSyntaxError):
            return frozenset()
        return frozenset(node.get(attribute, "") for node in root.iter(element))

    def drop_others(self, root: etree._Element, name: str) -> None:
        """Take what refers to nothing out of a part."""
        for kind, notes in self._notes.items():
            for node in list(root.iter(f"{_WORD}{kind}Reference")):
                parent = node.getparent()
                if node.get(f"{_WORD}id", "") not in notes and parent is not None:
                    parent.remove(node)
        relations = self._of(f"word/_rels/{name}.rels", f"{_PACKAGE}Relationship", "Id")
        for link in root.iter(f"{_WORD}hyperlink"):
            if link.get(f"{_RELATION}id") not in relations:
                link.attrib.pop(f"{_RELATION}id", None)
