"""A Word document's archive -> a smaller one with the same text: without pictures, fonts, themes and how text looks.

What reads the document afterwards builds an object for each element, and most elements only say how text looks.
Knows the names of elements, not what they mean to a reader.
"""

from __future__ import annotations

import io
import zipfile

from lxml import etree

from citewell.adapters.readers import archive
from citewell.adapters.readers.words import words

_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
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
        for name in package.namelist():
            inner = name.removeprefix("word/")
            if name.endswith(_KEPT) and not inner.startswith(_LEFT_OUT):
                slim.writestr(name, _plain(inner, archive.part(package, name)))
    return out.getvalue()


def _plain(name: str, markup: bytes) -> bytes:
    looks = _LOOKS_OF_STYLES if name.startswith("styles") else _LOOKS_OF_TEXT
    if not name.startswith(("styles", "document", "footnotes", "endnotes")):
        return markup
    # A definition of entities is lost on the way, and with it whatever they would unfold to.
    root = etree.fromstring(markup, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    etree.strip_elements(root, *(f"{{{_NAMESPACE}}}{name}" for name in sorted(looks)), with_tail=False)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))
