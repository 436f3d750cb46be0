"""A projection -> plain text blocks, the tool's own first and then one passage each, for tools that return a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citewell.projection.fence import fence_mark
from citewell.projection.parts import parts_of
from citewell.projection.text import head, passage, tail


def to_text_blocks(projection: Mapping[str, Any]) -> list[str]:
    """A projection as plain text blocks: first what the tool says of the whole, then a block for each passage.

    The first one has the status, the query, what the fences mean, hints (fenced) and what was left out. Each of the
    others begins with the tool's line on a passage, its id in brackets; what comes from its document stands between
    `<<evidence MARK>>` and `<<end MARK>>`, one mark for all blocks. Otherwise as `to_text`.

    Raises:
        InvalidRequest: it is no projection.
    """
    parts = parts_of(projection)
    mark = fence_mark(parts.printed)
    first = "\n".join(line for lines in (head(parts, mark), *tail(parts, mark)) for line in lines)
    return [first, *("\n".join(passage(item, mark)) for item in parts.items)]
