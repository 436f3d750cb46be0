"""What an Office document says of itself: title, author, date, language. Knows the container, not the document."""

from __future__ import annotations

from collections.abc import Mapping

from lxml import etree

from citewell.adapters.readers import archive
from citewell.errors import IngestError

_PROPERTIES: Mapping[str, str] = {"title": "title", "creator": "author", "created": "date", "language": "language"}


def office_properties(data: bytes) -> dict[str, str]:
    """Title, author, date and language of an Office document, as far as they can be read.

    Raises:
        IngestError: its archive is damaged or unsafe.
    """
    with archive.open_package(data) as package:
        try:
            core = archive.part(package, "docProps/core.xml")
            root = etree.fromstring(core, etree.XMLParser(resolve_entities=False, no_network=True))
        except (IngestError, etree.XMLSyntaxError):
            return {}
    found = {etree.QName(child).localname: " ".join((child.text or "").split()) for child in root.iterchildren("{*}*")}
    return {ours: found[theirs] for theirs, ours in _PROPERTIES.items() if found.get(theirs)}
