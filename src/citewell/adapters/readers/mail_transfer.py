"""How a part of an e-mail came over the wire -> its bytes; what was not encoded as it says is taken as it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.message import Message
from email.policy import Compat32
from itertools import takewhile

_LONGEST_HEADER = 20_000
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}[ \t\r]*")


class _Bounded(Compat32):
    """Headers as they are written, but cut: a parser of parameters takes the square of their length."""

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(list(sourcelines))
        return name, value[:_LONGEST_HEADER]


BOUNDED = _Bounded()


def transferred(part: Message) -> bytes:
    """The bytes of a part that holds no others.

    Behind a body in Base64, lists put lines of their own as plain text; they are kept, as is a body that says that it
    is Base64 and isn't.
    """
    payload = part.get_payload()
    written = payload if isinstance(payload, str) else ""
    if str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "base64":
        lines = written.splitlines(keepends=True)
        encoded = "".join(takewhile(lambda line: _BASE64.fullmatch(line.rstrip("\n")), lines))
        rest = written[len(encoded) :].strip()
        if rest:
            return _decoded(part, encoded) + b"\n\n" + rest.encode("utf-8", "surrogateescape")
    return _decoded(part, None)


def _decoded(part: Message, encoded: str | None) -> bytes:
    if encoded is not None:
        copy = Message()
        copy["Content-Transfer-Encoding"] = "base64"
        copy.set_payload(encoded)
        part = copy
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""
