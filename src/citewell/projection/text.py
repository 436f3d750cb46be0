"""A projection -> plain text, for agents that read no JSON: what documents say can't pass as the tool's words (PROJ-7).

Three things keep documents apart from the tool: a fence made from a digest of all that is printed, so that no document
can contain it; ids that can't end themselves; and `foreign`, which shows what would act or hide instead of being seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citewell.projection.fence import HINTS, explained, fence_mark, fenced
from citewell.projection.parts import Item, Parts, parts_of


def to_text(projection: Mapping[str, Any]) -> str:
    """A projection as plain text, for agents that read no JSON.

    What comes from documents (titles, breadcrumbs, sources, contents, hints) stands between `<<evidence MARK>>` and
    `<<end MARK>>`; MARK occurs in nothing else that is printed. All other lines are Citewell's own words, apart from
    the query, the causes of degradation, and ids in brackets. An id is printed as it is, or, if it holds anything but
    letters, digits, punctuation and single spaces, as a JSON string (`printable_id`); either way it holds no bracket.
    Control characters, hidden ones and tokens of chat templates are shown by their code points (`foreign`); the dict
    has every text exactly. Of what was left out, at most five ids are named.

    Raises:
        InvalidRequest: it is no projection.
    """
    parts = parts_of(projection)
    mark = fence_mark(parts.printed)
    lines = head(parts, mark)
    for item in parts.items:
        lines += ["", *passage(item, mark)]
    for end in tail(parts, mark):
        lines += ["", *end]
    return "\n".join(lines) + "\n"


def head(parts: Parts, mark: str) -> list[str]:
    """The tool's own words on the whole, a line each."""
    return [*parts.head, *([explained(mark)] if parts.has_fences else [])]


def tail(parts: Parts, mark: str) -> list[list[str]]:
    """Paragraphs of lines: the hints between the fences, and what was left out."""
    hints = [[HINTS, *fenced(parts.hints, mark)]] if parts.hints else []
    return [*hints, *([[parts.left_out()]] if parts.omitted_count else [])]


def passage(item: Item, mark: str) -> list[str]:
    """The lines of one passage: the tool's own, then its document's between the fences; of a repeat the first alone."""
    if item.repeat:
        return [item.own_line()]
    return [item.own_line(), *fenced([*item.labels, "", item.content], mark)]
