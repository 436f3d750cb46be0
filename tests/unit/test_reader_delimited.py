"""CSV and TSV become one table whose rows keep their line numbers (INGEST-1)."""

from __future__ import annotations

import pytest

from citewell.adapters.readers import sheets
from citewell.adapters.readers.delimited import read_delimited
from citewell.adapters.readers.tables import Allowance, Spans, markdown_table
from citewell.ingest.split import split


def lines(data: str, name: str = "a.csv") -> list[str]:
    return read_delimited(data.encode(), name).text.split("\n")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("id,name\n1,tea\n2,milk\n", "a.csv"),
        ("id;name\n1;tea\n2;milk\n", "a.csv"),
        ("id\tname\n1\ttea\n2\tmilk\n", "a.tsv"),
        ("id|name\n1|tea\n2|milk\n", "a.csv"),
        ("sep=;\nid;name\n1;tea\n2;milk\n", "a.csv"),
        ('\ufeffid,name\r\n"1","tea"\r\n2,milk', "a.csv"),
    ],
)
def test_the_delimiter_is_told_by_the_lines(data: str, name: str) -> None:
    assert lines(data, name) == ["| id | name |", "| --- | --- |", "| 1 | tea |", "| 2 | milk |"]


@pytest.mark.requirement("INGEST-1")
def test_semicolons_win_over_commas_in_numbers() -> None:
    assert lines("item;price\ntea;1,5\nmilk;2,25\n")[2:] == ["| tea | 1,5 |", "| milk | 2,25 |"]


@pytest.mark.requirement("INGEST-1")
def test_quotes_hold_delimiters_line_breaks_and_quotes() -> None:
    text = read_delimited(b'id,note\n1,"a, b\nand ""c"""\n2,x|y\n', "a.csv")
    assert text.text.split("\n")[2:] == ['| 1 | a, b<br>and "c" |', "| 2 | x\\|y |"]
    assert [place.line for _, place in text.places] == [1, 2, 4]


@pytest.mark.requirement("INGEST-1")
def test_rows_may_be_shorter_or_longer_than_the_header() -> None:
    assert lines("a,b\n1\n1,2,3\n") == ["| a | b |  |", "| --- | --- | --- |", "| 1 |  |  |", "| 1 | 2 | 3 |"]


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize("data", ['id,note\n1,"open\n2,x\n', f"id,note\n1,{'x' * 200_000}\n2,y\n"])
def test_quotes_that_do_not_add_up_and_huge_fields_are_kept_as_text(data: str) -> None:
    text = read_delimited(data.encode(), "a.csv")
    assert len(text.text.split("\n")) == 4
    assert text.remarks[0].startswith("quotes kept as text: ")


@pytest.mark.requirement("INGEST-1")
def test_five_thousand_rows_have_a_line_each() -> None:
    """Trial I108."""
    data = "id,name\n" + "".join(f"{number},name {number}\n" for number in range(5_000))
    text = read_delimited(data.encode(), "a.csv")
    assert text.text.count("\n") == 5_001
    assert text.places[-1][1].line == 5_001


@pytest.mark.requirement("INGEST-1")
def test_beyond_some_rows_every_twentieth_has_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "_EVERY_ROW", 5)
    places = read_delimited(b"id,name\n" + b"1,tea\n" * 60, "a.csv").places
    assert [place.line for _, place in places] == [1, 2, 3, 4, 5, 20, 40, 60]


@pytest.mark.requirement("INGEST-1")
def test_a_table_needs_text_and_drops_what_has_none() -> None:
    assert markdown_table([]) == markdown_table([["", " "], [""]]) == ""
    assert markdown_table([["a", "", "b"], ["", "", ""], ["1", "", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.requirement("INGEST-1")
def test_spans_lay_cells_out_around_those_from_above() -> None:
    spans = Spans(Allowance())
    spans.add_row([("a", 1, 3), ("b", 2, 1)])
    spans.add_row([("c", 1, 2), ("d", 1, 1)])
    spans.add_row([("e", 1, 1)])
    assert spans.rows() == [["a", "b", "b"], ["a", "c", "d"], ["a", "c", "e"]]


@pytest.mark.requirement("INGEST-1")
def test_an_allowance_that_is_used_up_repeats_nothing() -> None:
    spans = Spans(Allowance(left=2))
    spans.add_row([("ab", 2, 1)])
    spans.add_row([("cd", 2, 1)])
    assert spans.rows() == [["ab", ""], ["cd", ""]]


WIDE = [f"quarterly_figure_{number}" for number in range(60)]


@pytest.mark.requirement("INGEST-1", "INGEST-4")
def test_where_the_header_is_too_long_for_every_chunk_each_value_stands_under_its_name() -> None:
    """A header of 60 columns is longer than a chunk should be; 40 of them fit no chunk beside a row."""
    rows = [[f"v{row}.{column}" for column in range(60)] for row in range(5)]
    text = read_delimited("\n".join(",".join(row) for row in [WIDE, *rows]).encode(), "wide.csv")
    assert text.text.startswith(f"| {' | '.join(WIDE)} |\n|")
    assert "\n\nquarterly_figure_0: v0.0\nquarterly_figure_1: v0.1\n" in text.text
    done = split(text.text, max_tokens=10_000)
    for row in range(5):
        for column in (0, 29, 59):
            told = f"quarterly_figure_{column}: v{row}.{column}"
            place = next(passage.span[0] for passage in done.passages if told in passage.text.split("\n"))
            assert [at.line for start, at in text.places if start <= place][-1] == row + 2


@pytest.mark.requirement("INGEST-1")
def test_a_value_without_a_name_tells_its_column_and_a_blank_one_nothing() -> None:
    names = ",".join(["", *WIDE])
    text = read_delimited(f"{names}\nfirst,,2\n# x,1\n".encode(), "wide.csv").text
    assert text.endswith("\n\ncolumn 1: first\nquarterly_figure_1: 2\n\ncolumn 1: # x\nquarterly_figure_0: 1")
