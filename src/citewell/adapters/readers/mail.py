"""E-mails -> text: subject as title, who wrote to whom and when, the body, the names of attachments (INGEST-1).

Of a body in several forms the plain one is taken, unless it is a mere remnant of the other. Attachments are named and
not read.
"""

from __future__ import annotations

import codecs
import email
from collections.abc import Iterator, Sequence
from email.message import Message
from itertools import islice

from citewell.adapters.readers import declared
from citewell.adapters.readers.blocks import joined, literal
from citewell.adapters.readers.decode import decode
from citewell.adapters.readers.mail_headers import date_of, decoded_as, header, readable
from citewell.adapters.readers.mail_transfer import BOUNDED, transferred
from citewell.errors import IngestError
from citewell.model import Locator, Text

_MOST_PARTS = 10_000
_FORWARDED = "message/rfc822"
_REMNANT = 0.2
_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_FACTS = {"From": "from", "To": "to", "Cc": "cc", "Message-ID": "message_id"}


def read_mail(data: bytes, name: str) -> Text:
    """A message as RFC 5322 writes it.

    Raises:
        IngestError: it has no headers of a message.
    """
    message = email.message_from_bytes(data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n"), policy=BOUNDED)
    if not any(name in message for name in ("From", "To", "Subject", "Date", "Received", "Message-ID")):
        raise IngestError(
            "it is no e-mail: it begins with no header of one", way_out="Give it the suffix of its format."
        )
    parts = list(islice(_parts(message), _MOST_PARTS + 1))
    attachments = [_file_name(part) for part in parts if _is_attached(part, message)]
    bodies = [text for part in parts[:_MOST_PARTS] for text in _shown(part, message)]
    listed = [f"Attachments: {', '.join(attachments)}"] if attachments else []
    facts: dict[str, object] = {ours: value for theirs, ours in _FACTS.items() if (value := header(message, theirs))}
    if date := date_of(message):
        facts["date"] = date
    if attachments:
        facts["attachments"] = attachments
    more = (f"only the first {_MOST_PARTS:,} of its parts were read",) if len(parts) > _MOST_PARTS else ()
    text = "\n\n".join(part for part in [_headers(message), *bodies, *listed] if part)
    title = header(message, "Subject") or None
    return Text(text, title=title, metadata=facts, remarks=more, places=((0, Locator()),))


def _headers(message: Message) -> str:
    """The headers that a reader sees."""
    return "\n".join(f"{name}: {value}" for name in _SHOWN if (value := header(message, name)))


def _parts(message: Message) -> Iterator[Message]:
    """The parts to show or to name, in order; of alternatives one, and what is attached to the others.

    A forwarded message is followed by its own parts. Nothing recurses, however deep parts nest.
    """
    waiting = [message]
    while waiting:
        part = waiting.pop()
        inner = _inner(part)
        if part.get_content_type() == "multipart/alternative":
            best = _best(inner)
            others = [leaf for each in inner if each is not best for leaf in _leaves(each)]
            waiting += [leaf for leaf in reversed(others) if _is_file(leaf)]
            waiting += [best] if best else []
            continue
        if not inner or part.get_content_type() == _FORWARDED:
            yield part
        waiting += reversed(inner)


def _inner(part: Message) -> list[Message]:
    payload = part.get_payload() if part.is_multipart() else None
    return [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []


def _leaves(part: Message) -> Iterator[Message]:
    waiting = [part]
    while waiting:
        each = waiting.pop()
        inner = _inner(each)
        waiting += reversed(inner)
        if not inner:
            yield each


def _best(alternatives: Sequence[Message]) -> Message | None:
    """The plain form, unless it is a mere remnant of the HTML one, which may come with its pictures."""
    plain = next((part for part in alternatives if part.get_content_type() == "text/plain"), None)
    for part in alternatives:
        page = next((leaf for leaf in _leaves(part) if leaf.get_content_type() == "text/html"), None)
        if page is not None:
            is_remnant = plain is None or len(_body(plain)) < _REMNANT * len(_body(page))
            return part if is_remnant else plain
    return plain or (alternatives[-1] if alternatives else None)


def _is_file(part: Message) -> bool:
    """Not a picture that a page shows."""
    return part.get_content_disposition() == "attachment" or part.get_content_maintype() == "application"


def _is_attached(part: Message, message: Message) -> bool:
    return part.get_content_type() != _FORWARDED and not _is_body(part, message) and bool(part.get_payload())


def _shown(part: Message, message: Message) -> Iterator[str]:
    if part.get_content_type() == _FORWARDED:
        for inner in _inner(part)[:1]:
            yield f"## {header(inner, 'Subject') or 'Forwarded message'}"
            yield _headers(inner)
    elif _is_body(part, message):
        yield _body(part)


def _is_body(part: Message, message: Message) -> bool:
    """Whether a part is text to read: what a mail consists of may have a file's name."""
    named = part.get_filename() is not None and part is not message
    kind = part.get_content_maintype()
    return kind in {"text", "multipart"} and part.get_content_disposition() != "attachment" and not named


def _body(part: Message) -> str:
    data = transferred(part)
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


def _file_name(part: Message) -> str:
    name = part.get_filename()
    return readable(name) if name else f"({part.get_content_type()})"
