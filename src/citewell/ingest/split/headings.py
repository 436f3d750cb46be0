"""The content of a Markdown heading -> its title as plain text; knows nothing of levels or sections."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt

_ANCHOR = re.compile(r"\{#[^{}\s]*\}$")
_MARKUP = re.compile(r"[*_`\[\]<&\\!~]")
_TEXTS = {"text", "code_inline", "image"}
_LONGEST = 160


def heading_title(content: str) -> str:
    """What a reader sees of a heading: `Use **etcd** {#use}` -> `Use etcd`; at most 160 characters."""
    text = " ".join(_ANCHOR.sub("", content.rstrip()).split())
    plain = " ".join(_plain(text).split()) if _MARKUP.search(text) else text
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1].rstrip()}…"


def _plain(text: str) -> str:
    children = _parser().parseInline(text[: _LONGEST * 8])[0].children or []
    return "".join(child.content if child.type in _TEXTS else " " * child.type.endswith("break") for child in children)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark")
