"""E-mails -> text: subject as title, who wrote to whom and when, the body, the names of attachments (INGEST-1).

Of a body in several forms the plain one is taken, unless it is a mere remnant of the other. Attachments are named and
not read.
"""

from __future__ import annotations

import email
from collections.abc import Iterator
from email.message import Message

from citewell.adapters.readers import declared
from citewell.adapters.readers.blocks import joined, literal
from citewell.adapters.readers.decode import decode
from citewell.adapters.readers.mail_headers import date_of, decoded_as, header, readable
from citewell.errors import IngestError
from citewell.model import Locator, Text

_MOST_PARTS = 1_000
_REMNANT = 0.2
_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_FACTS = {"From": "from", "To": "to", "Cc": "cc", "Message-ID": "message_id"}


def read_mail(data: bytes, name: str) -> Text:
    """A message as RFC 5322 writes it.

    Raises:
        IngestError: it has no headers of a message.
    """
    message = email.message_from_bytes(data)
    if not any(name in message for name in ("From", "To", "Subject", "Date", "Received", "Message-ID")):
        raise IngestError(
            "it is no e-mail: it begins with no header of one", way_out="Give it the suffix of its format."
        )
    text, attachments = _content(message)
    facts: dict[str, object] = {ours: value for theirs, ours in _FACTS.items() if (value := header(message, theirs))}
    if date := date_of(message):
        facts["date"] = date
    if attachments:
        facts["attachments"] = attachments
    return Text(text, title=header(message, "Subject") or None, metadata=facts, places=((0, Locator()),))


def _content(message: Message) -> tuple[str, list[str]]:
    """The headers that a reader sees, the body, and the names of what is attached."""
    bodies: list[str] = []
    attachments: list[str] = []
    for part in _leaves(message):
        if part.get_content_type() == "message/rfc822":
            bodies += _forwarded(part)
        elif _is_body(part):
            bodies.append(_body(part))
        else:
            attachments.append(_file_name(part))
    shown = [f"{name}: {value}" for name in _SHOWN if (value := header(message, name))]
    listed = [f"Attachments: {', '.join(attachments)}"] if attachments else []
    return "\n\n".join(part for part in ["\n".join(shown), *bodies, *listed] if part), attachments


def _leaves(message: Message) -> Iterator[Message]:
    """The parts to show, in order; of alternatives one. Nothing recurses, however deep parts nest."""
    waiting = [message]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        payload = part.get_payload() if part.is_multipart() else None
        inner = [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []
        if not inner or part.get_content_type() == "message/rfc822":
            yield part
        elif part.get_content_type() == "multipart/alternative":
            waiting.append(_best(inner))
        else:
            waiting += reversed(inner)


def _best(alternatives: list[Message]) -> Message:
    """The plain form, unless it is a mere remnant of the HTML one."""
    forms = {part.get_content_type(): part for part in reversed(alternatives)}
    plain, page = forms.get("text/plain"), forms.get("text/html")
    if plain is None or page is None:
        return plain or page or alternatives[-1]
    return plain if len(_body(plain)) >= _REMNANT * len(_body(page)) else page


def _is_body(part: Message) -> bool:
    attached = part.get_content_disposition() == "attachment" or part.get_filename() is not None
    return part.get_content_maintype() == "text" and not attached


def _body(part: Message) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    if part.get_content_type() == "text/html":
        from citewell.adapters.readers.html import convert  # noqa: PLC0415 - only pages need the extra

        codec = declared.codec(charset) if charset else declared.of_markup(data)
        return joined(convert(decode(data, codec).text).blocks) if data.strip() else ""
    text = decoded_as(data, charset).strip("\n").rstrip()
    return "\n".join(map(_plain_line, text.split("\n")))


def _plain_line(line: str) -> str:
    """A line of a plain body, which Markdown must not take for more; a quotation stays one."""
    return line if line.startswith(">") else literal(line.strip(" \t"))


def _forwarded(part: Message) -> Iterator[str]:
    inner = part.get_payload()
    if isinstance(inner, list) and inner and isinstance(inner[0], Message):
        message = inner[0]
        bodies = [_body(each) for each in _leaves(message) if _is_body(each)]
        yield f"## {header(message, 'Subject') or 'Forwarded message'}"
        yield "\n".join(f"{name}: {value}" for name in _SHOWN if (value := header(message, name)))
        yield from (body for body in bodies if body)


def _file_name(part: Message) -> str:
    name = part.get_filename()
    return readable(name) if name else f"({part.get_content_type()})"
