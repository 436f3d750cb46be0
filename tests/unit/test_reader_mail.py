"""An e-mail becomes its headers, its body and the names of what is attached (INGEST-1)."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from citewell.adapters.readers.mail import read_mail
from citewell.errors import IngestError
from citewell.model import Text


def message(body: str = "The pool is empty.\n") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ada <ada@shop.example>", "ops@shop.example", "Pools"
    mail["Date"] = "Wed, 01 May 2024 08:30:00 +0200"
    mail.set_content(body)
    return mail


HEAD = "From: Ada <ada@shop.example>\nTo: ops@shop.example\nDate: Wed, 01 May 2024 08:30:00 +0200\nSubject: Pools\n\n"


@pytest.mark.requirement("INGEST-1")
def test_subject_people_and_date_are_told() -> None:
    text = read_mail(bytes(message()), "a.eml")
    assert text.text == HEAD + "The pool is empty."
    assert text.title == "Pools"
    assert text.metadata == {
        "from": "Ada <ada@shop.example>",
        "to": "ops@shop.example",
        "date": "2024-05-01T08:30:00+02:00",
    }


@pytest.mark.requirement("INGEST-1")
def test_attachments_are_named_and_not_read() -> None:
    mail = message()
    mail.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="Bericht für Mai.pdf")
    text = read_mail(bytes(mail), "a.eml")
    assert text.text == HEAD + "The pool is empty.\n\nAttachments: Bericht für Mai.pdf"
    assert text.metadata["attachments"] == ["Bericht für Mai.pdf"]


@pytest.mark.requirement("INGEST-1")
def test_of_two_forms_the_plain_one_is_taken_unless_it_is_a_remnant() -> None:
    page = "<h1>Pools</h1><p>The pool is <b>empty</b> again, and nobody knows why that is so.</p>"
    both = message("The pool is empty again, nobody knows why.\n")
    both.add_alternative(page, subtype="html")
    assert read_mail(bytes(both), "a.eml").text == HEAD + "The pool is empty again, nobody knows why."
    remnant = message("See HTML.\n")
    remnant.add_alternative(page, subtype="html")
    assert read_mail(bytes(remnant), "a.eml").text == (
        HEAD + "# Pools\n\nThe pool is empty again, and nobody knows why that is so."
    )


@pytest.mark.requirement("INGEST-1")
def test_of_forms_that_are_neither_plain_nor_html_the_last_is_named() -> None:
    mail = EmailMessage()
    mail["Subject"] = "Pools"
    mail.set_content(b"BEGIN:VCALENDAR", maintype="application", subtype="ics")
    mail.make_alternative()
    assert read_mail(bytes(mail), "a.eml").text == "Subject: Pools\n\nAttachments: (application/ics)"
    page = EmailMessage()
    page["Subject"] = "Pools"
    page.set_content("<p>The pool is empty.", subtype="html")
    page.make_alternative()
    assert read_mail(bytes(page), "a.eml").text == "Subject: Pools\n\nThe pool is empty."


@pytest.mark.requirement("INGEST-1")
def test_a_plain_body_is_no_markup_and_quotations_stay() -> None:
    text = read_mail(bytes(message("# no heading\n> quoted\n    indented\n")), "a.eml")
    assert text.text == HEAD + "\\# no heading\n> quoted\nindented"


@pytest.mark.requirement("INGEST-1")
def test_a_forwarded_message_is_read_too() -> None:
    mail = message("See below.\n")
    inner = message("Grow it.\n")
    inner.replace_header("Subject", "Re: Pools")
    mail.add_attachment(inner)
    assert "## Re: Pools\n\nFrom: Ada" in read_mail(bytes(mail), "a.eml").text
    assert read_mail(bytes(mail), "a.eml").text.endswith("Grow it.")


@pytest.mark.requirement("INGEST-2")
def test_encoded_words_and_bytes_that_never_were_are_read() -> None:
    encoded = (
        b"From: =?gb2312?B?1cXI/Q==?= <z@shop.example>\nSubject: =?GB2312?Q?=B2=E2=CA=D4?= =?gb2312?B?08q8/g==?=\n\nx\n"
    )
    text = read_mail(encoded, "a.eml")
    assert (text.title, text.metadata["from"]) == ("测试邮件", "张三 <z@shop.example>")
    assert (
        read_mail("Subject: Größe überschritten\nFrom: a@b\n\nx".encode("latin-1"), "a.eml").title
        == "Größe überschritten"
    )
    assert read_mail("Subject: Größe überschritten\nFrom: a@b\n\nx".encode(), "a.eml").title == "Größe überschritten"
    assert read_mail(b"Subject: =?utf-8?B?!!?=\nFrom: a@b\n\nx", "a.eml").title


@pytest.mark.requirement("INGEST-2")
def test_a_body_of_seven_bits_in_japanese_is_read() -> None:
    head = b"Subject: x\nFrom: a@b\nContent-Type: text/plain; charset=iso-2022-jp\n\n"
    assert read_mail(head + "接続プールが枯渇".encode("iso2022_jp"), "a.eml").text.endswith("接続プールが枯渇")


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("value", ["", "not a date", "Wed, 99 May 99999 08:30:00 +9999"])
def test_an_odd_date_is_left_out_of_the_metadata(value: str) -> None:
    text = read_mail(f"Subject: x\nFrom: a@b\nDate: {value}\n\nbody\n".encode(), "a.eml")
    assert "date" not in text.metadata


@pytest.mark.requirement("INGEST-6")
def test_what_begins_with_no_header_is_no_mail() -> None:
    with pytest.raises(IngestError, match="it is no e-mail"):
        read_mail(b"just words\n", "a.eml")


def read(message: str) -> Text:
    return read_mail(message.encode(), "a.eml")


def mixed(kind: str, *parts: str, boundary: str = "b") -> str:
    inner = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary={boundary}\n\n{inner}--{boundary}--\n"


STORY = "Grow the pool before you restart the gateway. " * 8
PAGE = f"Content-Type: text/html\n\n<p>{STORY}</p>"
PICTURE = "Content-Type: image/png; name=logo.png\nContent-ID: <a>\nContent-Transfer-Encoding: base64\n\nAAAA"
FILE = "Content-Type: application/pdf; name=plan.pdf\n\nx"


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("remnant", ["", "Your program shows no HTML."])
def test_a_page_that_comes_with_its_pictures_wins_over_a_remnant_of_plain_text(remnant: str) -> None:
    related = mixed("related", PAGE, PICTURE, boundary="c")
    text = read("Subject: s\n" + mixed("alternative", f"Content-Type: text/plain\n\n{remnant}", related))
    assert text.text == f"Subject: s\n\n{STORY.strip()}\n\nAttachments: logo.png"


@pytest.mark.requirement("INGEST-1")
def test_files_attached_to_the_form_that_is_not_shown_are_named() -> None:
    other = mixed("mixed", "Content-Type: text/html\n\n<p>Hi", FILE, PICTURE, boundary="c")
    text = read("Subject: s\n" + mixed("alternative", "Content-Type: text/plain\n\nHi there", other))
    assert text.text == "Subject: s\n\nHi there\n\nAttachments: plan.pdf"


@pytest.mark.requirement("INGEST-1")
def test_a_mail_forwarded_in_a_forwarded_mail_is_read_with_what_is_attached_to_it() -> None:
    innermost = "Content-Type: message/rfc822\n\nSubject: innermost\n\nOnce upon a time."
    inner = "Content-Type: message/rfc822\n\nSubject: inner\n" + mixed("mixed", FILE, innermost, boundary="c")
    text = read("Subject: s\n" + mixed("mixed", "\nSee below.", inner))
    told = "## inner\n\nSubject: inner\n\n## innermost\n\nSubject: innermost\n\nOnce upon a time."
    assert text.text == f"Subject: s\n\nSee below.\n\n{told}\n\nAttachments: plan.pdf"


@pytest.mark.requirement("INGEST-1")
def test_a_mail_of_thousands_of_parts_is_read_and_what_is_too_much_is_said() -> None:
    text = read("Subject: s\n" + mixed("mixed", *(f"\nword{number}" for number in range(1_500))))
    assert "word1499" in text.text
    assert not text.remarks
    text = read("Subject: s\n" + mixed("mixed", *(f"\n{number}" for number in range(10_001))))
    assert text.text.endswith("\n\n9999")
    assert text.remarks == ("only the first 10,000 of its parts were read",)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("before", ["\ufeff", "\n\n", "From ada@x Mon Jan  1 00:00:00 2024\n"])
def test_what_stands_before_the_first_header_hides_none(before: str) -> None:
    text = read(f"{before}From: Ada\nSubject: s\n\nHi")
    assert (text.title, text.text) == ("s", "From: Ada\nSubject: s\n\nHi")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("headers", "body", "shown"),
    [
        ("Content-Transfer-Encoding: base64", "This is not Base64!", "This is not Base64!"),
        ("Content-Transfer-Encoding: base64", "SGkgdGhlcmU=\n\n-- \nlist footer", "Hi there\n\n--\nlist footer"),
        ("Content-Transfer-Encoding: base64", "SGkgdGhl\ncmU=", "Hi there"),
        ("Content-Type: multipart/mixed; boundary=b", "No part at all", "No part at all"),
        ("Content-Type: text/plain; name=body.txt", "A body with a name", "A body with a name"),
        ('Content-Type: text/plain; a="' + "b" * 100_000, "Hi", "Hi"),
    ],
)
def test_a_body_that_is_not_what_its_headers_say_is_kept(headers: str, body: str, shown: str) -> None:
    assert read(f"Subject: s\n{headers}\n\n{body}").text.replace("\\", "") == f"Subject: s\n\n{shown}"


@pytest.mark.requirement("INGEST-1")
def test_parameters_without_end_are_cut() -> None:
    """They would be gone through once for each of them."""
    assert read("Subject: s\nContent-Type: text/plain; " + 'a="b\\";' * 500_000 + "\n\nHi").text == "Subject: s\n\nHi"
