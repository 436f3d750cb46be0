"""PDF files by hand, as small as they can be: text at places, an outline, a title, a picture; and an encrypted copy."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from pypdf import PdfReader, PdfWriter

WIDTH, HEIGHT = 600, 800
_IMAGE = b"/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8"


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of text; x and y in points from the page's lower left corner."""

    x: float
    y: float
    text: str
    size: float = 10


def paragraph(*lines: str, top: float = 700, size: float = 10, left: float = 50) -> list[Piece]:
    """Lines one below the other, close together."""
    return [Piece(left, top - index * 1.2 * size, line, size) for index, line in enumerate(lines)]


class _Objects:
    """The numbered objects of a file; a number may be taken before its object is known."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def add(self, body: bytes | str = b"") -> int:
        self.bodies.append(body.encode() if isinstance(body, str) else body)
        return len(self.bodies)

    def put(self, number: int, body: str) -> None:
        self.bodies[number - 1] = body.encode()


def pdf_file(
    pages: Sequence[Sequence[Piece]],
    *,
    title: str = "",
    outline: Sequence[tuple[str, int]] = (),
    picture: bool = False,
) -> bytes:
    """A PDF of these pages; the outline is flat, as pairs of a title and a page counted from 0."""
    objects = _Objects()
    catalog, tree = objects.add(), objects.add()
    font = objects.add("<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>")
    image = objects.add(_stream(b"\x7f" * 64, _IMAGE))
    resources = f"<< /Font << /F {font} 0 R >> /XObject << /I {image} 0 R >> >>"
    numbers = []
    for page in pages:
        drawn = b"q 500 0 0 700 50 50 cm /I Do Q\n" if picture else b""
        content = objects.add(_stream(drawn + b"".join(_shown(piece) for piece in page)))
        place = f"/Parent {tree} 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {content} 0 R"
        numbers.append(objects.add(f"<< /Type /Page {place} /Resources {resources} >>"))
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects.put(tree, f"<< /Type /Pages /Kids [{kids}] /Count {len(numbers)} >>")
    extra = _outline(objects, [(name, numbers[page]) for name, page in outline])
    objects.put(catalog, f"<< /Type /Catalog /Pages {tree} 0 R{extra} >>")
    info = objects.add(f"<< /Title {_text(title)} >>") if title else 0
    return _file(objects.bodies, catalog, info)


def _outline(objects: _Objects, entries: Sequence[tuple[str, int]]) -> str:
    if not entries:
        return ""
    root = objects.add()
    first, last = root + 1, root + len(entries)
    for number, (name, page) in enumerate(entries, start=first):
        following = f" /Next {number + 1} 0 R" if number < last else ""
        before = f" /Prev {number - 1} 0 R" if number > first else ""
        objects.add(f"<< /Title {_text(name)} /Parent {root} 0 R{following}{before} /Dest [{page} 0 R /Fit] >>")
    objects.put(root, f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(entries)} >>")
    return f" /Outlines {root} 0 R"


def _shown(piece: Piece) -> bytes:
    return f"BT /F {piece.size} Tf {piece.x} {piece.y} Td {_text(piece.text)} Tj ET\n".encode("cp1252")


def _text(text: str) -> str:
    return "(" + text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") + ")"


def _stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(data), data)


def _file(objects: Sequence[bytes], catalog: int, info: int) -> bytes:
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for place in places:
        out.write(b"%010d 00000 n \n" % place)
    told = f" /Info {info} 0 R" if info else ""
    out.write(
        f"trailer\n<< /Size {len(objects) + 1} /Root {catalog} 0 R{told} >>\nstartxref\n{start}\n%%EOF\n".encode()
    )
    return out.getvalue()


def encrypted(data: bytes, password: str) -> bytes:
    """The same PDF under a password."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
