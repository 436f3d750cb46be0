"""A projection -> Markdown, for clients that render it: no document can add a link, an image, a heading or HTML.

What comes from documents stands in code blocks that it can't close, between the same fences as in plain text. It
knows CommonMark's rules on code, and leaves nothing of documents to its other rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from citewell.projection.fence import HINTS, explained, fence_mark, fenced
from citewell.projection.parts import Parts, parts_of

_FENCE = re.compile(r"<<\w+ \w+>>")
_TICKS = re.compile(r"`+")
_PLAIN_ID = re.compile(r"(?!www\.)(?:vector:|content:|doc:)*(?:[\w ./#-](?<!_)|(?<=[^\W_])_(?=[^\W_]))+")


def to_markdown(projection: Mapping[str, Any]) -> str:
    """A projection as Markdown: a list of what the tool says, then a heading and a code block for each passage.

    The code block holds what `to_text` puts between its fences, and the fences. An id stands in brackets as it is
    where Markdown leaves it so, else in a code span in the brackets. In code spans are the query, the causes of
    degradation, and the fences where the tool speaks of them.

    Raises:
        InvalidRequest: it is no projection.
    """
    parts = parts_of(projection)
    mark = fence_mark(parts.printed)
    paragraphs = ["\n".join(f"- {line}" for line in _head(parts, mark))]
    for item in parts.items:
        paragraphs.append(f"### {item.own_line(_bracketed)}")
        if not item.repeat:
            paragraphs.append(_block(fenced([*item.labels, "", item.content], mark)))
    if parts.hints:
        paragraphs += [HINTS, _block(fenced(parts.hints, mark))]
    return "\n\n".join([*paragraphs, *([parts.left_out(_bracketed)] if parts.omitted_count else [])]) + "\n"


def _head(parts: Parts, mark: str) -> list[str]:
    fences = _FENCE.sub(lambda match: _span(match[0]), explained(mark).replace("[]", r"\[\]"))
    return [
        f"status: {parts.status}",
        *(f"degraded: {_span(cause)}" for cause in parts.degraded),
        f"query: {_span(parts.query)}",
        f"notice: {parts.notice}",
        *([fences] if parts.has_fences else []),
    ]


def _bracketed(printed: str) -> str:
    return f"[{printed if _PLAIN_ID.fullmatch(printed) else _span(printed)}]"


def _span(line: str) -> str:
    """A code span: its ticks are more than any in the line, with a space where the line has ticks or spaces itself."""
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if not line.strip() or {line[0], line[-1]} & {"`", " "} else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _block(lines: Sequence[str]) -> str:
    """A code block: its ticks are more than any in the lines, so that none of them closes it."""
    text = "\n".join(lines)
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}text\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
