"""What an Office document says of itself: title, author, date, language. Knows the container, not the document."""

from __future__ import annotations

from collections.abc import Mapping

from lxml import etree

from citewell.adapters.readers import archive

_PROPERTIES: Mapping[str, str] = {"title": "title", "creator": "author", "created": "date", "language": "language"}


def office_properties(data: bytes) -> dict[str, str]:
    """Title, author, date and language of an Office document, as far as it says so.

    Raises:
        IngestError: its archive is damaged or unsafe.
    """
    with archive.open_package(data) as package:
        if "docProps/core.xml" not in package.namelist():
            return {}
        core = archive.part(package, "docProps/core.xml")
    try:
        root = etree.fromstring(core, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return {}
    found = {etree.QName(child).localname: " ".join((child.text or "").split()) for child in root.iterchildren("{*}*")}
    return {ours: found[theirs] for theirs, ours in _PROPERTIES.items() if found.get(theirs)}
