"""An e-mail becomes its headers, its body and the names of what is attached (INGEST-1)."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from citewell.adapters.readers.mail import read_mail
from citewell.errors import IngestError


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
