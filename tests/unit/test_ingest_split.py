"""Text is split into passages that fit, at the best borders, by hand-made cases (INGEST-4)."""

from __future__ import annotations

import time

import pytest

from citewell.ingest.split import Passage, Split, split
from citewell.ingest.split.borders import inner_borders
from citewell.ingest.split.bounds import token_bound
from citewell.ingest.split.context import ContextTerms, heading_line
from citewell.ingest.split.outline import outline_text

MANY = 1_000_000
ZH = "数据库连接池耗尽时先扩容再重启网关"


def passages(
    text: str, *, target: int = 900, maximum: int = 2_000, small: int = 200, **options: object
) -> list[Passage]:
    done: Split = split(text, target=target, maximum=maximum, small=small, **{"max_tokens": MANY, **options})  # type: ignore[arg-type]  # by name
    return list(done.passages)


def texts(text: str, **options: object) -> list[str]:
    return [passage.text for passage in passages(text, **options)]  # type: ignore[arg-type]  # by name


def sentence(words: int, word: str = "word") -> str:
    return " ".join([word] * words) + "."


@pytest.mark.requirement("INGEST-4")
def test_a_short_document_is_one_passage() -> None:
    assert texts("# Title\n\nOne.\n\n## Part\n\nTwo.\n") == ["# Title\n\nOne.\n\n## Part\n\nTwo."]


@pytest.mark.requirement("INGEST-4")
def test_nothing_visible_is_no_passage() -> None:
    assert texts(" \n\t\n\u3000\n") == []
    assert texts("", format="text") == []


@pytest.mark.requirement("INGEST-4")
def test_sections_too_long_together_are_passages_of_their_own_under_their_headings() -> None:
    long = sentence(100)
    found = passages(f"# Guide\n\n{long}\n\n## Install\n\n{long}\n\n### Linux\n\n{long}\n\n## Use\n\n{long}\n")
    assert [passage.breadcrumb for passage in found] == [
        "Guide",
        "Guide > Install",
        "Guide > Install > Linux",
        "Guide > Use",
    ]
    assert [passage.text.splitlines()[0] for passage in found] == ["# Guide", "## Install", "### Linux", "## Use"]


@pytest.mark.requirement("INGEST-4")
def test_setext_headings_are_headings() -> None:
    long = sentence(150)
    found = passages(f"Guide\n=====\n\n{long}\n\nInstall\n-------\n\n{long}\n")
    assert [passage.breadcrumb for passage in found] == ["Guide", "Guide > Install"]


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize(
    "fence",
    [
        "```sh\n# no heading\n```",
        "~~~\n# no heading\n~~~",
        "````\n```\n# no heading\n```\n````",
        "- item\n\n  ```\n  # no heading\n  ```",
        "> ```\n> # no heading\n> ```",
        "    # no heading",
        "<!--\n# no heading\n-->",
        "```\n# no heading, and the fence is never closed",
    ],
)
def test_a_number_sign_inside_code_is_no_heading(fence: str) -> None:
    """Trial I110; indented code and comments count as well."""
    found = split(f"# Real\n\n{fence}\n", max_tokens=MANY)
    assert found.headings == ("Real",)


@pytest.mark.requirement("INGEST-4")
def test_headings_are_plain_text_in_the_breadcrumb() -> None:
    found = passages("# Use `etcd` **now** [here](http://x) &amp; there {#use}\n\nText.\n")
    assert found[0].breadcrumb == "Use etcd now here & there"


@pytest.mark.requirement("INGEST-4")
def test_a_very_long_heading_is_cut_in_the_breadcrumb_and_bounded_in_the_text() -> None:
    found = passages(f"# {'h' * 5_000}\n\nText.\n")
    assert len(found[0].breadcrumb) == 160
    assert max(len(passage.text) for passage in found) <= 2_000


@pytest.mark.requirement("INGEST-4")
def test_tiny_sections_are_joined_with_neighbours_under_the_same_heading_only() -> None:
    long, tiny = sentence(175), "A few words."
    found = passages(f"# A\n\n{long}\n\n## B\n\n{long}\n\n## C\n\n{tiny}\n\n## D\n\n{tiny}\n\n# E\n\n{tiny}\n")
    assert [passage.breadcrumb for passage in found] == ["A", "A > B", "A > C", "E"]
    assert "## D" in found[2].text


@pytest.mark.requirement("INGEST-4")
def test_sections_that_are_not_tiny_stay_apart_although_they_would_fit_together() -> None:
    found = passages(f"# A\n\n{sentence(150)}\n\n## B\n\n{sentence(80)}\n\n## C\n\n{sentence(80)}\n")
    assert [passage.breadcrumb for passage in found] == ["A", "A > B", "A > C"]


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize("line", ["> # Quoted", "- # In a list", "1. - ## Deep in a list"])
def test_a_heading_inside_a_quote_or_a_list_opens_no_section(line: str) -> None:
    assert split(f"# Real\n\n{line}\n\nText.\n", max_tokens=MANY).headings == ("Real",)


@pytest.mark.requirement("INGEST-4")
def test_a_line_that_introduces_a_fence_stays_with_it() -> None:
    before, intro, fence = "w" * 480, "Then run these:", "```\n" + "echo a\n" * 70 + "```"
    assert texts(f"{before}\n\n{intro}\n\n{fence}\n", target=600) == [before, f"{intro}\n\n{fence}"]


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize("lead", ["# A\n\n", "# A\n\n<!-- overview -->\n\n", "<!-- overview -->\n\n"])
def test_a_heading_without_text_and_a_few_words_go_with_what_follows_however_long(lead: str) -> None:
    found = texts(f"{lead}## B\n\n{sentence(20)}{sentence(400)}\n")
    assert found[0].startswith(f"{lead}## B\n\nword")


@pytest.mark.requirement("INGEST-4")
def test_a_heading_without_text_goes_with_the_next_section_only() -> None:
    long = sentence(150)
    found = passages(f"# A\n\n## B\n\n{long}\n\n## C\n\n{long}\n")
    assert [passage.text.split("\n\n")[0] for passage in found] == ["# A", "## C"]


@pytest.mark.requirement("INGEST-4")
def test_a_fence_that_fits_is_kept_whole_although_it_exceeds_the_target() -> None:
    fence = "```sh\n" + "echo one line of it\n" * 60 + "```"
    found = texts(f"Intro to it.\n\n{fence}\n\n{sentence(150)}\n")
    assert len(fence) > 900
    assert any(fence in text for text in found)


@pytest.mark.requirement("INGEST-4")
def test_a_fence_that_does_not_fit_is_cut_between_lines_and_its_marks_are_repeated() -> None:
    lines = [f"echo line {number}" for number in range(400)]
    found = texts("```sh\n" + "\n".join(lines) + "\n```\n")
    assert all(text.startswith("```sh\n") and text.endswith("\n```") for text in found)
    assert [line for text in found for line in text.splitlines()[1:-1]] == lines


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize(("first", "rest"), [("- ", "  "), ("1. ", "   "), ("> ", "> ")])
def test_a_long_fence_inside_a_list_or_a_quote_keeps_its_marks_even(first: str, rest: str) -> None:
    """Trial I110."""
    body = "\n".join(f"{rest}echo line {number}" for number in range(400))
    found = texts(f"Before.\n\n{first}```sh\n{body}\n{rest}```\n\nAfter.\n")
    assert len(found) > 3
    assert [text.count("```") % 2 for text in found] == [0] * len(found)


@pytest.mark.requirement("INGEST-4")
def test_one_giant_line_in_a_quoted_fence_stays_quoted_in_every_part() -> None:
    found = texts("> ```\n> " + "x" * 5_000 + "\n> ```\n")
    assert all(line.startswith(">") for text in found for line in text.splitlines())
    assert sum(text.count("x") for text in found) == 5_000


@pytest.mark.requirement("INGEST-4")
def test_an_unclosed_fence_is_closed_in_every_passage() -> None:
    """Trial I110: fences are balanced."""
    found = texts("# A\n\n```sh\n" + "echo one line\n" * 300)
    assert [text.count("```") for text in found] == [2] * len(found)


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize("blank", ["\n", "   \n", "\n\n\t\n"])
def test_blank_lines_before_a_closing_mark_do_not_leave_it_alone(blank: str) -> None:
    found = texts("```\n" + "echo one line of it\n" * 200 + blank * 20 + "```\n\n" + sentence(150))
    assert [text.count("```") % 2 for text in found] == [0] * len(found)
    assert not any(text.startswith("```\n```") or text == "```" for text in found)


@pytest.mark.requirement("INGEST-4")
def test_a_long_table_repeats_its_header_row_in_every_part() -> None:
    """Trial I110: 80 rows."""
    header = "| alert | meaning |\n| ----- | :-----: |"
    rows = [f"| Alert{number} | it means number {number}, and a few more words |" for number in range(80)]
    found = texts(header + "\n" + "\n".join(rows) + "\n")
    assert len(found) > 3
    assert all(text.startswith(header + "\n|") for text in found)
    assert [row for text in found for row in text.splitlines()[2:]] == rows


@pytest.mark.requirement("INGEST-4")
def test_a_table_inside_a_list_repeats_its_header_row_without_the_bullet() -> None:
    rows = "\n".join(f"  | {number} | {sentence(5)} |" for number in range(100))
    found = texts(f"- | a | b |\n  |---|---|\n{rows}\n")
    assert found[0].startswith("- | a | b |\n  |---|---|\n")
    assert all(text.startswith("  | a | b |\n  |---|---|\n") for text in found[1:])


@pytest.mark.requirement("INGEST-4")
def test_a_header_row_too_long_to_repeat_is_not_repeated() -> None:
    header = "|" + " column |" * 200 + "\n|" + "---|" * 200
    found = texts(header + "\n" + "\n".join("|" + " 1 |" * 200 for _ in range(20)) + "\n")
    assert max(map(len, found)) <= 2_000


@pytest.mark.requirement("INGEST-4")
def test_long_prose_is_cut_between_paragraphs() -> None:
    paragraph = sentence(70)
    found = texts("\n\n".join([paragraph] * 8), format="text")
    assert found == ["\n\n".join([paragraph] * 2)] * 4


@pytest.mark.requirement("INGEST-4")
def test_a_long_paragraph_is_cut_between_sentences_not_after_abbreviations() -> None:
    found = texts(" ".join(["Use a tool, e.g. the one at hand, whenever it is said to help."] * 60))
    assert len(found) > 3
    assert all(text.startswith("Use a tool") and text.endswith("to help.") for text in found)


@pytest.mark.requirement("INGEST-4")
def test_sentences_end_before_capitals_and_after_chinese_full_stops_but_not_within_abbreviations() -> None:
    text = 'See e.g. this. "It works!" Version 1.5 is out. 先扩容。再重启！？”完成'
    (block,) = outline_text(text).blocks
    places = [place for place, _ in inner_borders(block, text, 0, len(text))]
    assert [text[place:].split(" ")[0][:3] for place in places] == ['"It', "Ver", "先扩容", "再重启", "完成"]


@pytest.mark.requirement("INGEST-4")
def test_chinese_without_line_breaks_is_cut_after_its_full_stops_and_comes_back_whole() -> None:
    """Trial I107: 5,000 characters."""
    text = f"{ZH}。{ZH}！{ZH}？{ZH}；" * 70
    found = texts(text[:5_000])
    assert "".join(found) == text[:5_000]
    assert all(part[-1] in "。！？；" for part in found[:-1])
    assert all(len(part) <= 2_000 for part in found)


@pytest.mark.requirement("INGEST-4")
def test_chinese_without_any_punctuation_is_bounded_and_comes_back_whole() -> None:
    """Trial I107."""
    text = (ZH * 400)[:5_000]
    found = texts(text)
    assert "".join(found) == text
    assert max(map(len, found)) <= 2_000


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize(
    "text",
    [
        '{"key":[1,2,3],"name":"value"},' * 10_000,
        "QUJD" * 5_000,
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5_000,
        "| a | b |\n|---|---|\n|" + " cell |" * 5_000,
        "http://example.test/" + "a/b?c=d&" * 3_000,
        "```json\n" + '{"a":1},' * 20_000 + "\n```\n",
        "# " + "h" * 50_000,
        "a" + "\u0301" * 30_000,
        "👨‍👩‍👧‍👦" * 4_000,
        "`" * 100_000,
        "> " * 30_000 + "deep",
        "a\n" + "\n" * 100_000 + "b",
        "word " * 40_000,
        "- item\n" * 20_000,
    ],
    ids=lambda text: repr(text[:12]),
)
@pytest.mark.parametrize("max_tokens", [512, MANY])
def test_every_bound_holds_for_hostile_content_in_bounded_time(text: str, max_tokens: int) -> None:
    """Trial I108."""
    started = time.process_time()
    found = passages(text, max_tokens=max_tokens)
    assert time.process_time() - started < 5
    assert max(len(passage.text) for passage in found) <= 2_000
    assert max(token_bound(passage.text) for passage in found) <= max_tokens


@pytest.mark.requirement("INGEST-4")
def test_time_grows_in_proportion_to_the_text() -> None:
    def seconds(repeat: int) -> float:
        started = time.process_time()
        passages("Some words here and there, without an end\n" * repeat, max_tokens=512)
        return time.process_time() - started

    seconds(500)
    small, large = min(seconds(2_000) for _ in range(3)), seconds(16_000)
    assert large < 8 * small * 4


@pytest.mark.requirement("INGEST-4")
def test_the_bound_in_bytes_holds_for_four_byte_characters() -> None:
    """Trial I117."""
    found = passages("🔥" * 5_000, max_bytes=1_000)
    assert max(len(passage.text.encode()) for passage in found) <= 1_000
    assert "".join(passage.text for passage in found) == "🔥" * 5_000


@pytest.mark.requirement("INGEST-4")
def test_the_bound_in_tokens_is_the_embedders_own_where_it_can_count() -> None:
    found = passages("word " * 2_000, max_tokens=50, count_tokens=lambda text: len(text.split()))
    assert max(len(passage.text.split()) for passage in found) <= 50
    assert sum(len(passage.text.split()) for passage in found) == 2_000


@pytest.mark.requirement("INGEST-4")
def test_no_cut_falls_inside_a_grapheme() -> None:
    family = "👨‍👩‍👧‍👦"
    found = texts(family * 1_000, target=100, maximum=100)
    assert all(len(text) % len(family) == 0 for text in found)


@pytest.mark.requirement("INGEST-4")
def test_a_tokenizer_for_which_every_character_is_too_much_still_ends() -> None:
    assert len(passages("abcdef", max_tokens=1, count_tokens=lambda text: 10 * len(text))) == 6


@pytest.mark.requirement("INGEST-4")
def test_spans_and_lines_count_from_the_start_of_the_whole_text() -> None:
    matter = "---\ntitle: A\n---\n"
    text = f"{matter}\nFirst.\n\n# Second\n\n{sentence(200)}\n"
    first, *_ = passages(text, start=len(matter))
    assert (first.span[0], first.line) == (text.index("First"), 5)
    assert text[slice(*first.span)] == first.text


@pytest.mark.requirement("INGEST-4")
def test_unreadable_front_matter_is_a_passage_and_opens_no_section() -> None:
    text = "---\ntitle: a: b\n---\n# Real\n\nText.\n"
    found = split(text, max_tokens=MANY, markdown_from=text.index("# Real"))
    assert found.headings == ("Real",)
    assert found.passages[0].text.startswith("---\ntitle: a: b\n---\n# Real")


@pytest.mark.requirement("INGEST-4")
def test_plain_text_has_no_headings() -> None:
    found = split("# not a heading\n\ntext", format="text", max_tokens=MANY)
    assert (found.headings, found.title, found.passages[0].breadcrumb) == ((), "", "")


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Intro.\n\n# First\n\n# Second\n", "First"),
        ("## Part\n\n# First\n", "Part"),
        ("Intro.\n\n## Part\n", "fallback"),
        ("Intro.\n", "fallback"),
    ],
)
def test_the_title_is_the_first_heading_of_level_1_or_the_one_with_which_the_text_begins(text: str, title: str) -> None:
    assert split(text, fallback_title="fallback", max_tokens=MANY).title == title
    assert split(text, title="given", fallback_title="fallback", max_tokens=MANY).title == "given"


@pytest.mark.requirement("INGEST-4")
def test_the_heading_line_says_nothing_twice_and_is_bounded() -> None:
    assert heading_line("Guide", "Guide > Install > Linux") == "Guide > Install > Linux"
    assert heading_line("A  title\nof two lines", "") == "A title of two lines"
    assert heading_line("Guide", "one > two > three", room=14) == "Guide > three"
    assert heading_line("x" * 500, "y") == "x" * 300
    assert heading_line("", "") == ""


@pytest.mark.requirement("INGEST-4", "LEX-1")
def test_what_is_analysed_is_the_heading_line_twice_before_the_passage() -> None:
    terms = ContextTerms(str.split)
    assert terms.of("Guide > Install", "Text one.") == (
        "Guide",
        ">",
        "Install",
        "Guide",
        ">",
        "Install",
        "Text",
        "one.",
    )
    assert terms.of("Guide > Install", "Text two.")[6:] == ("Text", "two.")
    assert terms.of("", "Text.") == ("Text.",)
    assert terms.of("Guide", "Text.") == ("Guide", "Guide", "Text.")


@pytest.mark.requirement("INGEST-4")
def test_a_heading_line_that_exceeds_the_embedder_is_shortened() -> None:
    found = passages(f"# {'word ' * 30}\n\nText.\n", max_tokens=20, count_tokens=len)
    assert all(len(passage.heading) <= 20 for passage in found)


@pytest.mark.requirement("INGEST-4")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 2), ("token", 5), ("kubectl get", 4 + 2 + 2), ("4471", 6), ("xfs", 5), ("QUJD", 6), ("连", 5), ("a\nb", 5)],
)
def test_the_bound_on_tokens_follows_the_script(text: str, tokens: int) -> None:
    """`token`: 3 for five letters with a vowel, and 2; digits, capitals, words without a vowel: one a character."""
    assert token_bound(text) == tokens
