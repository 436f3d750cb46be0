"""A PDF becomes text with pages, headings and whole sentences, without running lines (INGEST-1, INGEST-9)."""

from __future__ import annotations

import pytest
from pdf_files import Piece, encrypted, paragraph, pdf_file

from citewell.adapters.readers.pdf import read_pdf
from citewell.adapters.readers.pdf_layout import Line, page_of
from citewell.errors import IngestError
from citewell.model import Locator, Text


def read(*pages: list[Piece], **options: object) -> Text:
    return read_pdf(pdf_file(pages, **options), "a.pdf")  # type: ignore[arg-type]


def titles(text: Text) -> list[tuple[int, str, str]]:
    """(level, title, the line at which it stands)."""
    return [(each.level, each.title, text.text[each.start :].partition("\n")[0]) for each in text.headings]


@pytest.mark.requirement("INGEST-1")
def test_each_page_has_its_place() -> None:
    text = read(paragraph("First page."), paragraph("Second page."), paragraph("Third page."))
    assert text.text == "First page.\n\nSecond page.\n\nThird page."
    assert text.places == ((0, Locator(page=1)), (13, Locator(page=2)), (27, Locator(page=3)))
    assert text.format == "text"


@pytest.mark.requirement("INGEST-1")
def test_an_empty_page_keeps_its_number() -> None:
    text = read(paragraph("First page."), [], paragraph("Third page."))
    assert text.places == ((0, Locator(page=1)), (11, Locator(page=2)), (13, Locator(page=3)))


@pytest.mark.requirement("INGEST-1")
def test_running_headers_footers_and_page_numbers_are_gone() -> None:
    pages = [
        [
            Piece(50, 770, f"Shop manual - page {number} of 4"),
            *paragraph(f"Text {number}."),
            Piece(300, 30, str(number)),
        ]
        for number in (1, 2, 3, 4)
    ]
    assert read(*pages).text == "Text 1.\n\nText 2.\n\nText 3.\n\nText 4."


@pytest.mark.requirement("INGEST-1")
def test_a_line_in_the_margin_of_one_page_alone_is_text() -> None:
    first = [Piece(50, 770, "Confidential draft"), *paragraph("Text.")]
    assert read(first, paragraph("More."), paragraph("End.")).text == "Confidential draft\nText.\n\nMore.\n\nEnd."


@pytest.mark.requirement("INGEST-1")
def test_lines_of_a_paragraph_are_joined_and_paragraphs_are_not() -> None:
    lines = ("When the pool of connections is exhausted the", "gateway has to be restarted by hand.")
    text = read([*paragraph(*lines, "It takes a minute."), *paragraph("Another paragraph.", top=600)])
    assert text.text == f"{lines[0]} {lines[1]}\nIt takes a minute.\n\nAnother paragraph."


@pytest.mark.requirement("INGEST-1")
def test_a_word_cut_at_the_end_of_a_line_is_whole_again() -> None:
    lines = (
        "All the microservices share one configu-",
        "ration file, which is read at start time",
        "and then never again by anyone anywhere.",
    )
    assert read(paragraph(*lines)).text.startswith("All the microservices share one configuration file, which")


@pytest.mark.requirement("INGEST-1")
def test_a_sentence_goes_on_over_the_page() -> None:
    assert read(paragraph("The gateway has to be"), paragraph("restarted by hand.")).text == (
        "The gateway has to be\nrestarted by hand."
    )


@pytest.mark.requirement("INGEST-1")
def test_rows_of_a_table_and_items_of_a_list_stay_lines() -> None:
    rows = ("mode      hybrid      search", "limit     2000        tokens", "1. Check the disk first of all")
    assert read(paragraph(*rows, "2. Restart the gateway then.")).text.count("\n") == 3


@pytest.mark.requirement("INGEST-1")
def test_the_outline_gives_the_headings_where_the_text_says_them() -> None:
    pages = [
        [*paragraph("1. Pools"), *paragraph("About pools.", top=650), *paragraph("2. Gateways", top=600)],
        [*paragraph("About gateways.")],
    ]
    text = read(*pages, outline=[("Pools", 0), ("Gateways", 0), ("Not said anywhere", 1)])
    assert titles(text) == [
        (2, "Pools", "1. Pools"),
        (2, "Gateways", "2. Gateways"),
        (2, "Not said anywhere", "About gateways."),
    ]


@pytest.mark.requirement("INGEST-1")
def test_without_an_outline_large_letters_are_headings() -> None:
    body = [line for top in (600, 400) for line in paragraph(*["words of the text that fill a line"] * 5, top=top)]
    text = read([*paragraph("Pools", size=16), *paragraph("Growing", size=13, top=650), *body])
    assert titles(text) == [(2, "Pools", "Pools"), (3, "Growing", "Growing")]


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("written", "expected"),
    [("Pool manual", "Pool manual"), ("Microsoft Word - draft7.doc", None), ("untitled", None), ("x.tex", None)],
)
def test_a_title_that_a_program_made_up_is_none(written: str, expected: str | None) -> None:
    assert read(paragraph("Some text."), title=written).title == expected


@pytest.mark.requirement("INGEST-1")
def test_the_largest_line_of_the_first_page_is_the_title_if_nothing_else_is() -> None:
    body = paragraph(*["words of the text that fill a line"] * 5, top=600)
    assert read([*paragraph("Pool manual", size=24), *body]).title == "Pool manual"


@pytest.mark.requirement("INGEST-9")
def test_pictures_alone_are_no_text_and_a_password_neither() -> None:
    """Trial I116."""
    scanned = read([], picture=True)
    assert (scanned.text, scanned.remarks) == ("", ("its one page holds no text, perhaps images of it; it needs OCR",))
    locked = read_pdf(encrypted(pdf_file([paragraph("Secret.")]), "key"), "a.pdf")
    assert (locked.text, locked.remarks) == ("", ("it is a PDF file protected by a password; save it without one",))


@pytest.mark.requirement("INGEST-6")
@pytest.mark.parametrize("cut", [20, 200, 400])
def test_a_file_that_is_cut_short_is_damaged(cut: int) -> None:
    with pytest.raises(IngestError, match="the PDF is damaged or cut short"):
        read_pdf(pdf_file([paragraph("Text.")])[:cut], "a.pdf")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.timeout(30)
def test_a_thousand_pages_are_read_page_by_page() -> None:
    text = read(*[paragraph(f"Page number {number} says this.") for number in range(1_000)])
    assert len(text.places) == 1_000
    assert text.places[-1][1] == Locator(page=1_000)


@pytest.mark.requirement("INGEST-1")
def test_chinese_lines_are_joined_without_a_space() -> None:
    lines = [Line("数据库连接池耗尽", 0, 80, 100, 110, 10), Line("时先扩容再重启", 0, 70, 112, 122, 10)]
    assert page_of(lines, 800).body == "数据库连接池耗尽时先扩容再重启"


@pytest.mark.requirement("INGEST-1")
def test_a_latin_word_beside_chinese_keeps_its_space() -> None:
    lines = [Line("数据库连接池 pool", 0, 80, 100, 110, 10), Line("时先扩容再重启", 0, 70, 112, 122, 10)]
    assert page_of(lines, 800).body == "数据库连接池 pool 时先扩容再重启"


@pytest.mark.requirement("INGEST-1")
def test_lines_whose_place_is_unknown_stay_lines() -> None:
    assert page_of([Line("first"), Line("second"), Line("third"), Line("fourth")], 800).body == "second\nthird"
