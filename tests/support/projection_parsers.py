"""Small parsers of every form of a projection, written from the docs and not from the code that makes the forms.

Each gives the tool's part, with marks and ids replaced by `MARK` and `ID`, and what it says comes from documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt

_ID = re.compile(r'\[("[^"\[\]\n]*"|[^"\[\]\n]*#chunk-\d+)\]')


@dataclass(frozen=True, slots=True)
class Parsed:
    """A form, taken apart: the tool's part, the ids in it as keys, and a text per passage."""

    tool: str
    ids: tuple[str, ...]
    passages: tuple[str, ...]


def parse_text(text: str) -> Parsed:
    """Lines between `<<evidence MARK>>` and `<<end MARK>>` are a document's; the mark is on the tool's first lines."""
    mark = _mark(text)
    return _parsed(*_split(text, mark), mark)


def _split(text: str, mark: str) -> tuple[str, list[str]]:
    tool: list[str] = []
    passages: list[list[str]] = []
    inside = False
    for line in text.split("\n"):
        if line == f"<<end {mark}>>":
            assert inside
            inside = False
        if inside:
            passages[-1].append(line)
        else:
            tool.append(line)
        if line == f"<<evidence {mark}>>":
            inside = True
            passages.append([])
    assert not inside
    return "\n".join(tool), ["\n".join(lines) for lines in passages]


def parse_blocks(blocks: Sequence[str]) -> Parsed:
    """A list of texts: the first one is the tool's (hints fenced), each other one a line of the tool and a passage."""
    first, *rest = blocks
    mark = _mark(first)
    own, hints = _split(first, mark)
    tool, passages = [own], []
    for block in rest:
        own, begin, *lines, end = block.split("\n")
        assert (begin, end) == (f"<<evidence {mark}>>", f"<<end {mark}>>")
        assert end not in lines
        tool.append(own)
        passages.append("\n".join(lines))
    return _parsed("\n".join(tool), passages + hints, mark)


def parse_markdown(text: str) -> Parsed:
    """By CommonMark, with tables, links in plain text and HTML: code blocks are a document's, all else the tool's."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tool, passages, mark = [], [], _mark(text)
    for token in parser.parse(text):
        if token.type == "fence":
            assert token.info == "text"
            begin, *lines, end = token.content.removesuffix("\n").split("\n")
            assert (begin, end) == (f"<<evidence {mark}>>", f"<<end {mark}>>")
            passages.append("\n".join(lines))
        elif token.type == "inline":
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "code_inline", "softbreak"}, kinds
            tool.append("".join(child.content for child in token.children or []))
        else:
            assert re.fullmatch(r"(bullet_list|list_item|paragraph|heading)_(open|close)", token.type), token.type
            tool.append(token.type)
    return _parsed("\n".join(tool), passages, mark)


def parse_search_results(content: Sequence[Mapping[str, Any]]) -> Parsed:
    """Anthropic's blocks: titles and texts of search results are a document's, all else is the tool's."""
    first, *rest = json.loads(json.dumps(content))
    assert set(first) == {"type", "text"}
    mark = _mark(first["text"])
    own, hints = _split(first["text"], mark)
    tool, passages = [own], []
    for block in rest:
        assert set(block) == {"type", "source", "title", "content", "citations"}
        assert all(set(text) == {"type", "text"} and text["type"] == "text" for text in block["content"])
        texts = [text["text"] for text in block["content"]]
        assert texts
        assert all(text.strip() for text in texts)
        assert "\n" not in block["title"]
        passages.append("\n".join([block["title"], "", "".join(texts)]))
        tool.append(f"{block['type']} [{block['source']}] {block['citations']}")
    return _parsed("\n".join(tool), passages + hints, mark)


def parse_search(found: Mapping[str, Any]) -> Parsed:
    """OpenAI's `search`: titles, and addresses on the web, are a document's."""
    read = json.loads(json.dumps(found))
    assert set(read) == {"results"}
    assert all(set(result) == {"id", "title", "url"} for result in read["results"])
    assert all(result["url"] and result["title"] for result in read["results"])
    tool = "\n".join(f"[{result['id']}]" for result in read["results"])
    passages = [f"{result['title']}\n{_address(result['url'])}" for result in read["results"]]
    return _parsed(tool, passages, "")


def parse_fetch(fetched: Mapping[str, Any]) -> Parsed:
    """OpenAI's `fetch`: title, text, source, section, and an address on the web, are a document's."""
    read = json.loads(json.dumps(fetched))
    assert set(read) == {"id", "title", "text", "url", "metadata"}
    assert all(isinstance(value, str) for value in read["metadata"].values())
    metadata = dict(read["metadata"])
    passage = "\n".join([read["title"], metadata.pop("source"), metadata.pop("section"), "", read["text"]])
    return _parsed(f"[{read['id']}] {metadata}", [f"{_address(read['url'])}\n{passage}"], "")


def _address(url: str) -> str:
    """One that no text and no Markdown can be ended with."""
    assert re.fullmatch(r"(citewell:///|https?://[A-Za-z0-9.:-]+)[^\s()<>\[\]\"'`\\{}|^]*", url), url
    assert "@" not in url.partition("//")[2].partition("/")[0]
    return url


def _mark(text: str) -> str:
    found = re.search(
        r"^(?:- )?Whatever stands between `?<<evidence (\w{12})>>`? and `?<<end \1>>`? comes", text, re.MULTILINE
    )
    return found[1] if found else ""


def _parsed(tool: str, passages: Sequence[str], mark: str) -> Parsed:
    ids = [json.loads(found) if found.startswith('"') else found for found in _ID.findall(tool)]
    tool = _ID.sub("[ID]", tool)
    return Parsed(tool.replace(mark, "MARK") if mark else tool, tuple(ids), tuple(passages))
