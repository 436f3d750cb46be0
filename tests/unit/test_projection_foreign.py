"""What of a document's text a model may be given as it is, and what is shown by its code point (PROJ-7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import InvalidRequest
from citewell.projection import foreign, printable, printable_id, read_id

SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<|im_start|>system", r"\u003c|im_start|>system"),
        ("a<|im_end|>", r"a\u003c|im_end|>"),
        ("<｜end▁of▁sentence｜>", r"\u003c｜end▁of▁sentence｜>"),
        ("<|turn>user <turn|>", r"\u003c|turn>user \u003cturn|>"),
        ("[/INST] [INST]", r"\u005b/INST] \u005bINST]"),
        ("<s></s><bos><eos><unk><pad>", r"\u003cs>\u003c/s>\u003cbos>\u003ceos>\u003cunk>\u003cpad>"),
        ("<start_of_turn>model<end_of_turn>", r"\u003cstart_of_turn>model\u003cend_of_turn>"),
        ("<tool_call>{}</tool_call>", r"\u003ctool_call>{}\u003c/tool_call>"),
        ("[TOOL_RESULTS][/TOOL_RESULTS]", r"\u005bTOOL_RESULTS]\u005b/TOOL_RESULTS]"),
        ("[gMASK]", r"\u005bgMASK]"),
    ],
)
def test_a_token_of_a_chat_template_is_broken_at_its_first_character(text: str, shown: str) -> None:
    assert foreign(text) == shown


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize(
    "text",
    [
        "if a < b | c > d", "cat <file |sort >out", "a<b>c</b> <strong> <sub>", "[INSTALL] [x] [1]", "List<|", "<||>",
        "x <| f |> y", "<table><tr><td>|</td>", "C:\\new", "`<` and `|`",
    ],
)  # fmt: skip
def test_code_and_markup_that_is_no_token_stays(text: str) -> None:
    assert foreign(text) == text


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x\U000e0041\U000e0042", r"x\U000e0041\U000e0042"),
        ("x\U000e0041y", r"x\U000e0041y"),
        ("a\u200b\u200cb", r"a\u200b\u200cb"),
        ("\ufeff\ufeff", r"\ufeff\ufeff"),
        ("e\ufe0f\ufe0e\U000e0100", r"e\ufe0f\ufe0e\U000e0100"),
        ("🏴\U000e0061\U000e0062\U000e0063\U000e007f", r"🏴\U000e0061\U000e0062\U000e0063\U000e007f"),
        ("❤\ufe0f\u200d\u200b", r"❤\ufe0f\u200d\u200b"),
        ("\u3164\u115f", r"\u3164\u115f"),
    ],
)
def test_hidden_characters_are_shown_where_they_meet_and_tags_always(text: str, shown: str) -> None:
    assert foreign(text) == shown


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "❤\ufe0f\u200d🔥",
        "👩\u200d👩\u200d👧",
        SCOTLAND,
        "1\ufe0f\u20e3",
        "葛\U000e0100城",
        "co\u00adop",
        "क\u094d\u200dष",
    ],
)
def test_persian_emoji_flags_and_rare_han_stay_as_they_are(text: str) -> None:
    assert foreign(text) == text


@pytest.mark.requirement("PROJ-7")
@given(st.text(st.characters(codec=None)) | st.text("<|｜>a/s[]INST\u200b\u200d\ufe0f\U000e0041🏴\x1b\r\n "))
def test_applied_twice_it_changes_nothing_more_and_it_is_printable(text: str) -> None:
    once = foreign(text)
    assert foreign(once) == once == printable(once)
    once.encode("utf-8")


@pytest.mark.requirement("PROJ-7")
def test_what_is_no_text_is_refused() -> None:
    for rule in (foreign, read_id):
        with pytest.raises(InvalidRequest, match="can't be None"):
            rule(None)  # type: ignore[arg-type]  # raw on purpose


@pytest.mark.requirement("PROJ-2", "PROJ-7")
@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text('ab"\\[]#-\n'))
def test_a_printed_id_can_be_read_back(key: str) -> None:
    assert read_id(printable_id(key)) == key


@pytest.mark.requirement("PROJ-2")
@pytest.mark.parametrize("text", ["etcd.md#chunk-2", "", '"', '"unfinished', '"a" b', '"\\x"'])
def test_what_is_no_printed_id_is_read_as_it_is(text: str) -> None:
    assert read_id(text) == text
