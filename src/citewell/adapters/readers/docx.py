"""Word documents -> Markdown, by way of HTML: headings, lists, tables with merged cells, footnotes (INGEST-1).

Pictures and comments are left out. The archive is checked before anything is unpacked.
"""

from __future__ import annotations

import io

import mammoth

from citewell.adapters.readers.blocks import joined
from citewell.adapters.readers.decode import clean
from citewell.adapters.readers.docx_parts import slimmed
from citewell.adapters.readers.html import convert
from citewell.adapters.readers.office import office_properties
from citewell.model import Locator, Text

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Heading 7'] => h6:fresh
p[style-name='Heading 8'] => h6:fresh
p[style-name='Heading 9'] => h6:fresh
p[style-name='Code'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Plain Text'] => p:fresh
r[style-name='Code'] => code
r[style-name='Verbatim Char'] => code
r[style-name='HTML Code'] => code
"""


def read_docx(data: bytes, name: str) -> Text:
    """A document of Word 2007 or later.

    Raises:
        IngestError: its archive is damaged or unsafe.
    """
    properties = office_properties(data)
    result = mammoth.convert_to_html(io.BytesIO(slimmed(data)), style_map=_STYLES, convert_image=_no_image)
    text = joined(convert(clean(result.value)).blocks)
    title = properties.pop("title", None)
    # The title in the properties is often a template's; what the reader sees first is not.
    return Text(text, title=None if text.startswith("# ") else title, metadata=properties, places=((0, Locator()),))


def _no_image(image: object) -> list[object]:
    return []
