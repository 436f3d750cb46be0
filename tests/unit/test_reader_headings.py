"""Headings that a text doesn't mark as such reach the breadcrumbs, and no line is lost to them (INGEST-4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest_room import Room
from pdf_files import paragraph, pdf_file

from citewell.ingest.split import split
from citewell.ingest.split.outline import outline_text
from citewell.model import Heading, Locator


def crumbs(text: str, *headings: Heading, target: int = 40) -> list[tuple[str, str]]:
    """(breadcrumb, text) of the passages."""
    done = split(text, format="lines", headings=headings, max_tokens=10_000, target=target, maximum=4 * target, small=5)
    return [(passage.breadcrumb, passage.text) for passage in done.passages]


TEXT = (
    "import os\n\nclass Pool:\n    size = 1\n\n    def grow(self):\n        self.size += 1\n\ndef main():\n    pass\n"
)
POOL = Heading(TEXT.index("class"), 2, "Pool")
GROW = Heading(TEXT.index("    def grow"), 3, "grow")
MAIN = Heading(TEXT.index("def main"), 2, "main")


@pytest.mark.requirement("INGEST-4")
def test_each_passage_stands_under_the_headings_in_force() -> None:
    assert crumbs(TEXT, POOL, GROW, MAIN) == [
        ("", "import os\n\nclass Pool:\n    size = 1"),
        ("Pool > grow", "    def grow(self):\n        self.size += 1"),
        ("main", "def main():\n    pass"),
    ]


@pytest.mark.requirement("INGEST-4")
def test_a_heading_within_a_paragraph_cuts_it() -> None:
    text = "first line\nsecond line\nthird line\nfourth line"
    assert crumbs(text, Heading(11, 2, "Second"), target=36) == [
        ("", "first line"),
        ("Second", "second line\nthird line\nfourth line"),
    ]


@pytest.mark.requirement("INGEST-4")
def test_headings_from_outside_give_no_title_unless_they_are_of_level_1() -> None:
    def title(level: int) -> str:
        heading = Heading(0, level, "Pool")
        return split("class Pool", format="lines", headings=[heading], fallback_title="file", max_tokens=100).title

    assert (title(2), title(1)) == ("file", "Pool")


@pytest.mark.requirement("INGEST-4")
@given(st.text(st.sampled_from("ab \n"), min_size=1, max_size=60), st.data())
def test_blocks_cover_the_text_wherever_headings_stand(text: str, data: st.DataObject) -> None:
    lines = [0, *(index + 1 for index, letter in enumerate(text[:-1]) if letter == "\n")]
    places = sorted(data.draw(st.sets(st.sampled_from(lines))))
    headings = [Heading(place, data.draw(st.integers(1, 6)), f"h{place}") for place in places]
    blocks = outline_text(text, 0, headings).blocks
    assert "".join(text[block.start : block.end] for block in blocks) == text
    assert [(block.start, block.title) for block in blocks if block.level] == [
        (each.start, each.title) for each in headings
    ]


@pytest.mark.requirement("INGEST-1", "INGEST-4")
def test_breadcrumbs_and_places_reach_the_store(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("docs")
    room = Room(folder)
    body = "\n".join(f"        self.step_{number}()  # a comment about step {number}" for number in range(40))
    (folder / "pool.py").write_text(f"class Pool:\n    def grow(self):\n{body}\n", encoding="utf-8")
    (folder / "web.yaml").write_text(f"spec:\n  env:\n{body.replace('        self.', '  - ')}\n", encoding="utf-8")
    prose = [f"Sentence number {number} says what to do about it." for number in range(30)]
    pages = [paragraph("Growing", *prose), paragraph("Shrinking", *prose)]
    (folder / "manual.pdf").write_bytes(pdf_file(pages, title="Pools", outline=[("Growing", 0), ("Shrinking", 1)]))
    room.ingest()
    code = room.chunks("pool.py")
    assert {chunk.title for chunk in code} == {"pool.py"}
    assert code[0].breadcrumb == "Pool"
    assert {chunk.breadcrumb for chunk in code[1:]} == {"Pool > grow"}
    assert [chunk.locator.line for chunk in code] == sorted(
        {chunk.locator.line for chunk in code if chunk.locator.line}
    )
    assert room.chunks("web.yaml")[-1].breadcrumb == "spec > env"
    manual = [(chunk.title, chunk.breadcrumb, chunk.locator) for chunk in room.chunks("manual.pdf")]
    assert set(manual) == {("Pools", "Growing", Locator(page=1)), ("Pools", "Shrinking", Locator(page=2))}
