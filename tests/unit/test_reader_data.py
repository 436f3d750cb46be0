"""JSON, YAML, notebooks and source code become text that says where each line belongs (INGEST-1)."""

from __future__ import annotations

import json

import pytest

from citewell.adapters.readers.ansi import shown
from citewell.adapters.readers.code import read_code
from citewell.adapters.readers.json import read_json, read_jsonl
from citewell.adapters.readers.notebook import read_notebook
from citewell.adapters.readers.yaml import read_yaml
from citewell.errors import IngestError
from citewell.model import Locator, Text


def headings(text: Text) -> list[tuple[int, str]]:
    return [(each.level, each.title) for each in text.headings]


def lines_of_headings(text: Text) -> list[str]:
    return [text.text[each.start :].partition("\n")[0] for each in text.headings]


@pytest.mark.requirement("INGEST-1")
def test_each_line_of_json_begins_with_its_path() -> None:
    servers = '[{"host": "a", "tags": ["x", "y"]}, {"host": "b"}]'
    value = f'{{"title": "Pools", "v": 1.10, "servers": {servers}, "a.b": {{"c": null}}}}'
    text = read_json(value.encode(), "a.json")
    assert text.text.split("\n") == [
        "title: Pools",
        "v: 1.10",
        "",
        "servers[0].host: a",
        "servers[0].tags: x, y",
        "",
        "servers[1].host: b",
        "",
        '["a.b"].c: null',
    ]
    assert (text.title, headings(text)) == ("Pools", [(2, "servers"), (2, "a.b")])
    assert lines_of_headings(text) == ["servers[0].host: a", '["a.b"].c: null']


@pytest.mark.requirement("INGEST-1")
def test_members_of_one_name_huge_numbers_and_odd_texts_survive() -> None:
    numbers = '"a": 1, "a": 123456789012345678901234567890.5'
    value = f'{{{numbers}, "t": "x\\u0000\\ud800\\r\\ny", "e": [], "o": {{}}, "m": [[1, 2], [3]]}}'
    assert read_json(value.encode(), "a.json").text.split("\n") == [
        "a: 1",
        "a: 123456789012345678901234567890.5",
        "t: x\ufffd",
        "y",
        "e: []",
        "o: {}",
        "m: [1, 2], [3]",
    ]


@pytest.mark.requirement("INGEST-1")
def test_one_line_of_300_kilobytes_becomes_many() -> None:
    """Trial I108."""
    value = json.dumps([{"id": number, "name": f"name {number}"} for number in range(9_000)])
    text = read_json(value.encode(), "a.json")
    assert len(value) > 300_000
    assert max(map(len, text.text.split("\n"))) < 40
    assert text.text.endswith("[8999].id: 8999\n[8999].name: name 8999")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("data", "fault"), [(b"{a: 1}", "line 1: Expecting property name"), (b"[" * 100_000, "it nests too deep")]
)
def test_what_is_no_json_stays_text_and_is_reported(data: bytes, fault: str) -> None:
    text = read_json(data, "a.json")
    assert text.text == data.decode()
    assert text.remarks[0].startswith(f"kept as text: it is no valid JSON ({fault}")


@pytest.mark.requirement("INGEST-1")
def test_records_on_lines_keep_their_lines_and_a_broken_one_its_text() -> None:
    text = read_jsonl(b'{"a": 1}\n{broken\n\n{"b": {"c": 2}}\n', "a.jsonl")
    assert text.text == "a: 1\n\n{broken\n\nb.c: 2"
    assert text.remarks == ("line 2 is no valid JSON and kept as text",)
    assert text.places == ((0, Locator(line=1)), (6, Locator(line=2)), (15, Locator(line=4)))
    assert read_json(b'{"a": 1}\n{"a": 2}\n', "a.json").text == "a: 1\n\na: 2"


MANIFESTS = """# The shop
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
    - image: nginx
      name: server
      ports:
        - containerPort: 80
          name: http
---
kind: Service
metadata:
  name: web
  labels:
    app: web
"""


@pytest.mark.requirement("INGEST-1")
def test_yaml_keeps_its_text_and_shows_its_keys_and_named_items() -> None:
    text = read_yaml(MANIFESTS.encode(), "a.yaml")
    assert text.text == MANIFESTS
    assert headings(text) == [
        (2, "Deployment web"), (3, "metadata"), (3, "spec"), (4, "containers"), (5, "server"), (6, "ports"),
        (2, "Service web"), (3, "metadata"), (4, "labels"),
    ]  # fmt: skip
    assert lines_of_headings(text)[:5] == ["# The shop", "metadata:", "spec:", "  containers:", "    - image: nginx"]


@pytest.mark.requirement("INGEST-1")
def test_one_document_of_yaml_needs_no_heading_of_its_own() -> None:
    rules = "groups:\n- name: shop\n  rules:\n  - alert: PoolExhausted\n    expr: up == 0\n    for: 5m\n"
    assert headings(read_yaml(rules.encode(), "a.yml")) == [
        (2, "groups"),
        (3, "shop"),
        (4, "rules"),
        (5, "PoolExhausted"),
    ]


@pytest.mark.requirement("INGEST-6")
@pytest.mark.timeout(20)
def test_aliases_that_would_unfold_to_billions_stay_as_they_are_written() -> None:
    bomb = 'a: &a ["ha", "ha"]\n' + "".join(
        f"{chr(98 + step)}: &{chr(98 + step)} [{', '.join(['*' + chr(97 + step)] * 9)}]\n" for step in range(20)
    )
    text = read_yaml(bomb.encode(), "a.yaml")
    assert (text.text, text.remarks) == (bomb, ())


@pytest.mark.requirement("INGEST-1")
def test_a_template_is_no_yaml_and_stays_text() -> None:
    text = read_yaml(b"a: {{ .Values.x }}\nb: [\n", "a.yaml")
    assert text.text == "a: {{ .Values.x }}\nb: [\n"
    assert text.remarks[0].startswith("kept as text: it is no valid YAML (line ")


def _notebook(*cells: object, **metadata: object) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": cells}).encode()


@pytest.mark.requirement("INGEST-1")
def test_a_notebook_shows_text_code_and_what_was_printed() -> None:
    outputs = [
        {"output_type": "stream", "text": ["\x1b[31mred\x1b[0m\n", "10%\r50%\r100%\n"]},
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure size 640x480>"}},
        {"output_type": "execute_result", "data": {"text/plain": ["42"]}},
        {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": ["\x1b[0;31m..."]},
    ]
    outputs += [
        {"output_type": "stream", "text": " \n"},
        {"output_type": "display_data", "data": {"text/markdown": " "}},
    ]
    outputs.append({"output_type": "display_data", "data": {"text/markdown": "**bold**"}})
    cells = (
        {"cell_type": "markdown", "source": ["# Pools\n", "see ![plot](data:image/png;base64,AAAA)"]},
        {"cell_type": "code", "source": "print(1)  \n", "outputs": outputs},
        {"cell_type": "code", "source": "", "outputs": []},
    )
    text = read_notebook(_notebook(*cells, language_info={"name": "python"}), "a.ipynb")
    assert text.text == (
        "# Pools\nsee plot\n\n```python\nprint(1)\n```\n\n"
        "```\nred\n100%\n```\n\n```\n42\n```\n\n```\nKeyError: 'x'\n```\n\n**bold**"
    )
    assert text.metadata == {"language": "python"}


@pytest.mark.requirement("INGEST-1")
def test_a_long_output_is_cut_openly() -> None:
    output = {"output_type": "stream", "text": "line of output\n" * 10_000}
    text = read_notebook(_notebook({"cell_type": "code", "source": "x", "outputs": [output]}), "a.ipynb")
    assert len(text.text) < 5_000
    assert "… (1460" in text.text
    assert "more characters)" in text.text


@pytest.mark.requirement("INGEST-1")
def test_json_under_a_notebooks_name_is_read_as_json() -> None:
    text = read_notebook(b'{"a": 1}', "a.ipynb")
    assert (text.text, text.remarks) == ("a: 1", ("it is JSON, not a notebook, and read as such",))
    with pytest.raises(IngestError, match="it is no notebook: line 1"):
        read_notebook(b"{", "a.ipynb")


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("\x1b[1;32mok\x1b[0m", "ok"),
        ("\x1b]0;title\x07text", "text"),
        ("a\rb", "b"),
        ("a\r\nb", "a\nb"),
        ("ab\x08c", "ac"),
        ("bell\x07", "bell"),
    ],
)
def test_a_terminal_shows(sent: str, seen: str) -> None:
    assert shown(sent) == seen


PYTHON = '''"""Module.

def not_this():
"""
# About pools.
@dataclass
class Pool(Base):
    """A pool."""

    async def grow(self) -> None:
        def inner() -> None: ...

def main() -> None:
    pass
'''


@pytest.mark.requirement("INGEST-1")
def test_classes_and_functions_open_sections_at_their_comments() -> None:
    text = read_code(PYTHON.encode(), "pool.py")
    assert (text.text, text.format, text.title, text.metadata) == (PYTHON, "lines", "pool.py", {"language": "python"})
    assert headings(text) == [(2, "Pool"), (3, "grow"), (2, "main")]
    assert lines_of_headings(text) == ["# About pools.", "    async def grow(self) -> None:", "def main() -> None:"]
    assert text.places == ()  # lines are the file's own


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (
            "A.java",
            "/** class No */\npublic class A {\n  @Override\n  public int add(int a) {\n    if (a) {\n",
            [(2, "A"), (3, "add")],
        ),
        (
            "a.go",
            "type S struct {\n}\n\nfunc (s *S) Do() error {\n}\nfunc main() {\n",
            [(2, "S"), (2, "S.Do"), (2, "main")],
        ),
        ("a.rs", "pub struct P {\n}\nimpl P {\n    pub fn go(&self) {\n", [(2, "P"), (2, "impl P"), (3, "go")]),
        (
            "a.ts",
            "export class C {\n  async run(a: number) {\n    for (const x of y) {\n  }\n}\nconst f = (x) => {\n",
            [(2, "C"), (3, "run"), (2, "f")],
        ),
        ("a.c", "#include <x.h>\nstatic int add(int a) {\n  return a;\n}\nint x = add(1);\n", [(2, "add")]),
        ("a.sh", "# comment\nstart() {\n}\nfunction stop {\n", [(2, "start"), (2, "stop")]),
        ("a.sql", "create table if not exists users (\n  id int);\n", [(2, "users")]),
        ("a.tf", 'resource "aws_s3" "b" {\n  tags {\n', [(2, 'resource "aws_s3" "b"')]),
        ("Makefile", "X := 1\nall: a b\n\techo: c\n", [(2, "all")]),
        ("a.ini", "[main]\na = 1\n", [(2, "main")]),
        ("a.css", "a { color: red }\n", []),
    ],
)
def test_symbols_by_language(name: str, source: str, expected: list[tuple[int, str]]) -> None:
    assert headings(read_code(source.encode(), name)) == expected


@pytest.mark.requirement("INGEST-2")
def test_a_coding_cookie_names_the_encoding() -> None:
    source = "# -*- coding: koi8-r -*-\nname = 'Сервер не отвечает'\n"
    text = read_code(source.encode("koi8-r"), "a.py")
    assert (text.text, text.remarks) == (source, ("read as koi8-r",))


@pytest.mark.requirement("INGEST-1")
@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["a.c", "a.ts", "a.py", "a.rs", "a.java", "a.sql"])
@pytest.mark.parametrize("piece", ["public ", "a<b,", "f(", "const x = (", "class A ", "/*", '"""'])
def test_odd_sources_take_linear_time(name: str, piece: str) -> None:
    read_code(f"{piece * 40}{{\n".encode() * 2_000, name)
    read_code(piece.encode() * 50_000, name)


@pytest.mark.requirement("INGEST-1")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"text/html": "<p>Shown <b>so</b>"}, "Shown so"),
        ({"text/html": "<p>Shown", "text/plain": "<IPython.core.display.HTML object>"}, "Shown"),
        ({"text/html": "<p>page", "text/plain": "plain"}, "```\nplain\n```"),
        ({"text/latex": "$x$", "text/plain": "<IPython.core.display.Latex object>"}, "```\n$x$\n```"),
        ({"application/json": {"a": [1, {"b": "c"}]}}, "```\na[0]: 1\n\na[1].b: c\n```"),
        ({"text/markdown": "*so*"}, "*so*"),
        ({"text/markdown": "```\nopen"}, "```\nopen\n```"),
        ({"text/markdown": "so " * 2_000}, f"```\n{'so ' * 2_000}"[:4_004] + "\n… (1999 more characters)\n```"),
        ({"image/png": "AAAA", "text/plain": "<Figure size 640x480 with 1 Axes>"}, ""),
    ],
)
def test_an_output_is_shown_in_the_form_that_says_something(data: dict[str, object], text: str) -> None:
    output = {"output_type": "display_data", "data": data}
    cell = {"cell_type": "code", "source": "x", "outputs": [output]}
    assert read_notebook(_notebook(cell), "a.ipynb").text == f"```\nx\n```\n\n{text}".rstrip("\n")


@pytest.mark.requirement("INGEST-1", "INGEST-4")
@pytest.mark.parametrize(
    ("fence", "end"), [("```py", "\n```"), ("~~~~", "\n~~~~"), ("```\na\n```", ""), ("````\n```", "\n````")]
)
def test_a_fence_that_a_cell_leaves_open_does_not_take_the_next_cells_in(fence: str, end: str) -> None:
    cells = ({"cell_type": "markdown", "source": fence}, {"cell_type": "markdown", "source": "# Next"})
    assert read_notebook(_notebook(*cells), "a.ipynb").text == f"{fence}{end}\n\n# Next"
