"""A text in pieces of about a sentence: nothing lost, none blank, never too many and never too long (PROJ-7)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.projection import sentences

ANY = st.one_of(
    st.text(max_size=400),
    st.text("ab. !?\n。！", max_size=400),
    st.lists(
        st.sampled_from(["word ", "End. ", "\n\n", "- item\n", "数据库。", "   ", "--- ", "| a |\n", "e.g. x "])
    ).map("".join),
)


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize(
    "pieces",
    [
        ["Check the disk. ", "Then wait for it.  ", "Next one!\n", "Is it full?"],
        ["磁盘已经写满了。", "请马上清理旧的日志！ ", "然后重新启动服务。"],
        ['He said "stop it." ', "Then he left."],
        ["他说：“现在马上停止。”", "然后他就离开了这里。"],
        ["Version 3.14 of v1.2 is out. ", "Mr. Doe and J. Smith saw e.g. this, cf. Fig. 3, and etc. after it."],
        ["It is slow. and a small letter goes on.  as it does after two spaces."],
        ["# A long heading\n\n", "A paragraph of\ntwo lines.\n\n", "Another one."],
        ["Do this first:\n", "- take the first\n", "- take the second\n", "1. count to one\n", "2) count to two"],
        ["| name | value |\n", "|------|-------|\n| a row | 1 |\n", "| b row | 2 |"],
        ["क्या यह ठीक है? ", "हाँ यह ठीक है। ", "अब आगे बढ़ो।"],
        ["هل هذا صحيح؟ ", "نعم هذا صحيح تماما. ", "انتهى الكلام هنا۔"],
        ["Wait... ", "What now?! ", "Really so."],
    ],
)
def test_a_piece_is_a_sentence_a_paragraph_an_item_or_a_row(pieces: list[str]) -> None:
    assert sentences("".join(pieces)) == pieces


@pytest.mark.requirement("PROJ-7")
def test_short_sentences_and_mere_marks_go_with_their_neighbours() -> None:
    assert sentences("是。不是。也许是这样。再看看吧。") == ["是。不是。也许是这样。", "再看看吧。"]
    assert sentences("---\n\nA sentence.\n\n***\n\n") == ["---\n\nA sentence.\n\n***\n\n"]
    assert sentences("\n\n  One sentence. ") == ["\n\n  One sentence. "]


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize("text", ["", " ", "\n\n\t\u3000\u2028"])
def test_where_nothing_can_be_seen_there_are_no_pieces(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.requirement("PROJ-7")
def test_what_has_no_end_is_cut_after_a_word() -> None:
    text = "word " * 300
    pieces = sentences(text)
    assert "".join(pieces) == text
    assert all(400 <= len(piece) <= 601 for piece in pieces[:-1])
    assert all(piece.strip().endswith("word") for piece in pieces)


@pytest.mark.requirement("PROJ-7")
def test_a_cluster_is_not_cut_in_two() -> None:
    family = "👩\u200d👩\u200d👧"
    pieces = sentences(family * 400)
    assert "".join(pieces) == family * 400
    assert {len(piece) % len(family) for piece in pieces} == {0}


@pytest.mark.requirement("PROJ-7")
@given(ANY)
def test_whatever_the_text_nothing_is_lost_and_nothing_is_blank(text: str) -> None:
    pieces = sentences(text)
    assert "".join(pieces) == (text if text.strip() else "")
    assert all(piece.strip() for piece in pieces)
    assert all(len(piece.strip()) <= 600 for piece in pieces)
    assert len(pieces) <= 101


@pytest.mark.requirement("PROJ-7")
@pytest.mark.parametrize(
    "unit", [".", " ", "\n", "\n ", "a.", "a. ", "。", "- ", "x", "\u0301", "|", '."', "1. ", "e.g. ", "……", "<|"]
)
def test_a_long_text_is_cut_into_few_pieces_in_linear_time(unit: str) -> None:
    def timed(length: int) -> float:
        text = unit * (length // len(unit)) + "z"
        started = time.process_time()
        pieces = sentences(text)
        took = time.process_time() - started
        assert "".join(pieces) == text
        assert len(pieces) <= 101
        assert all(len(piece.strip()) <= max(600, length / 40) for piece in pieces)
        return took

    # Quadratic would be a hundred times as much for ten times the text; a busy machine is allowed a lot.
    assert timed(100_000) <= 40 * max(timed(10_000), 0.002)
