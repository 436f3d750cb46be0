"""Front matter becomes metadata; what is none, or is broken, stays text (INGEST-3)."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.readers.frontmatter import FrontMatter, front_matter
from citewell.adapters.readers.markdown import markdown_text, read_markdown


@pytest.mark.requirement("INGEST-3")
def test_yaml_gives_title_category_tags_date_and_other_keys_as_json_values() -> None:
    fields = "title: Restart\ncategory: ops\ntags: [a, b]\ndate: 2026-01-02\nweight: 10\nwhen: 2026-01-02T03:04:05Z\n"
    text = f"---\n{fields}---\nBody"
    matter = front_matter(text)
    assert (matter.title, matter.category, text[matter.end :]) == ("Restart", "ops", "Body")
    assert matter.fields == {
        "title": "Restart",
        "category": "ops",
        "tags": ["a", "b"],
        "date": "2026-01-02",
        "weight": 10,
        "when": "2026-01-02T03:04:05+00:00",
    }


@pytest.mark.requirement("INGEST-3")
def test_toml_reads_alike() -> None:
    matter = front_matter('+++\ntitle = "Restart"\ndate = 2026-01-02\n[deep]\nx = [1, 2.5, true]\n+++\nBody')
    assert matter.title == "Restart"
    assert matter.fields == {"title": "Restart", "date": "2026-01-02", "deep": {"x": [1, 2.5, True]}}


@pytest.mark.requirement("INGEST-3")
def test_a_byte_order_mark_and_crlf_before_it_do_not_matter() -> None:
    """Trial I111."""
    text = read_markdown(b"\xef\xbb\xbf---\r\ntitle: A\r\ncategory: ops\r\n---\r\n# Heading\r\n", "a.md")
    assert (text.title, text.category, text.text[text.start :]) == ("A", "ops", "# Heading\n")


@pytest.mark.requirement("INGEST-3")
@pytest.mark.parametrize(
    "text",
    [
        "---\n\n# Heading\n\nText\n\n---\nmore",
        "---\nA sentence between two rules.\n---\nmore",
        "---\nfirst words without an end",
        "----\ntitle: no\n---\n",
        "# Heading\n\n---\ntitle: no\n---\n",
        "+++ b/file.py\n+++\n",
        "",
    ],
)
def test_a_horizontal_rule_is_no_front_matter_and_no_reason_to_remark(text: str) -> None:
    """Trial I111."""
    assert front_matter(text) == FrontMatter()


@pytest.mark.requirement("INGEST-3")
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("---\ntitle: [open\n---\nBody", "no valid YAML"),
        ("---\ntitle: a: b\n---\nBody", "no valid YAML"),
        ("---\ndate: 2026-13-45\n---\nBody", "no valid YAML"),
        ("---\nname: {{ site.name }}\n---\nBody", "no valid YAML"),
        ("---\nrun: !!python/object/apply:os.system [ls]\n---\nBody", "no valid YAML"),
        ("+++\ntitle =\n+++\nBody", "no valid TOML"),
        ("---\ntitle: never closed\nBody", "no closing line"),
        ("---\na: &a [*a]\n---\nBody", "holds more than"),
    ],
)
def test_broken_front_matter_stays_text_and_is_reported(text: str, cause: str) -> None:
    """Trial I111."""
    read = markdown_text(text)
    assert (read.start, read.title, dict(read.metadata)) == (0, None, {})
    assert len(read.remarks) == 1
    assert read.remarks[0].startswith("front matter kept as text: ")
    assert cause in read.remarks[0]


@pytest.mark.requirement("INGEST-3")
def test_broken_front_matter_is_no_heading_although_its_last_line_underlines_it() -> None:
    read = markdown_text("---\ntitle: a: b\n---\nBody")
    assert read.text[read.markdown_from or 0 :] == "Body"


@pytest.mark.requirement("INGEST-3")
def test_an_alias_bomb_is_bounded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    started = time.process_time()
    matter = front_matter("---\n" + "\n".join(lines) + "\n---\nBody")
    assert "holds more than" in matter.remark
    assert time.process_time() - started < 2


@pytest.mark.requirement("INGEST-3")
def test_title_and_category_are_taken_as_they_were_written() -> None:
    matter = front_matter("---\ntitle: 1.10\ncategory: no\n---\n")
    assert (matter.title, matter.category) == ("1.10", "no")


@pytest.mark.requirement("INGEST-3")
@pytest.mark.parametrize(("value", "category"), [("[ops]", "ops"), ("[ops, hr]", None), ("{a: b}", None), ("", None)])
def test_a_category_is_one_label_or_none(value: str, category: str | None) -> None:
    assert front_matter(f"---\ncategory: {value}\n---\n").category == category


@pytest.mark.requirement("INGEST-3")
def test_tags_in_one_line_become_a_list() -> None:
    assert front_matter("---\ntags: etcd, raft ,\n---\n").fields["tags"] == ["etcd", "raft"]


@pytest.mark.requirement("INGEST-3", "SAFE-3")
def test_front_matter_cannot_set_a_scope() -> None:
    read = markdown_text("---\nscope: public\n---\nBody")
    assert not hasattr(read, "scope")
    assert read.remarks == ("scope in front matter is metadata only; labels come from the caller",)


@pytest.mark.requirement("INGEST-3")
def test_empty_front_matter_is_front_matter() -> None:
    assert front_matter("---\n---\nBody") == FrontMatter(end=8)


@pytest.mark.requirement("INGEST-3")
def test_numbers_without_a_json_form_become_text() -> None:
    assert front_matter("---\na: .nan\nb: -.inf\n1: one\n---\n").fields == {"a": "nan", "b": "-inf", "1": "one"}


@pytest.mark.requirement("INGEST-3")
@given(st.text(alphabet=" \n-+:[]{}&*a1\"'#=.,!|>\t", max_size=60), st.sampled_from(["---", "+++"]))
def test_front_matter_never_raises_and_its_fields_are_json(body: str, mark: str) -> None:
    text = f"{mark}\n{body}\n{mark}\nrest"
    matter = front_matter(text)
    json.dumps(matter.fields, allow_nan=False)
    assert 0 <= matter.end <= len(text)


@pytest.mark.requirement("INGEST-3", "INGEST-6")
@pytest.mark.parametrize(
    "text",
    [
        f"---\nsha: 0x{'ab12' * 1000}\n---\nBody.\n",
        f"---\ntitle: 0x{'ab12' * 1000}\n---\nBody.\n",
        f"---\nsize: 0{'7' * 6000}\n---\nBody.\n",
        f"---\nlong: 1{':59' * 4000}\n---\nBody.\n",
        f"---\nn: {'9' * 5000}\n---\nBody.\n",
        f"+++\nsha = 0x{'f' * 5000}\n+++\nBody.\n",
        f"+++\nn = {'9' * 5000}\n+++\nBody.\n",
    ],
    ids=range(7),
)
def test_a_number_of_thousands_of_digits_is_text_or_is_reported_and_can_always_be_written_as_json(text: str) -> None:
    found = front_matter(text)
    assert json.dumps({**found.fields, "title": found.title})
    assert text[found.end :] == "Body.\n"
