"""What a tool answers: texts for a model, an object for a program, and the errors that a model can act on.

It knows how answers are put on the wire, and no tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent

from citewell.checks import HALF
from citewell.errors import CitewellError
from citewell.printable import code_point, printable

MASKED = "the server failed on this call; its log says why. Try again, or ask whoever runs it"
"""All that a client is told of an error that nobody foresaw."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers.

    Attributes:
        structured: as its schema says.
        texts: blocks for a model, at least one.
    """

    structured: Mapping[str, Any]
    texts: Sequence[str]


def as_json(structured: Mapping[str, Any]) -> Answer:
    """An answer whose one text is its object as JSON, which is what connectors read."""
    safe = on_wire(structured)
    return Answer(safe, [json.dumps(safe, ensure_ascii=False)])


def result_of(answer: Answer) -> CallToolResult:
    """The answer as the protocol has it."""
    return CallToolResult(
        content=[TextContent(type="text", text=on_wire(text)) for text in answer.texts],
        structured_content=dict(on_wire(answer.structured)),
    )


def refused(error: CitewellError) -> CallToolResult:
    """An error that a model reads: what happened and the way out, then the code."""
    return _failed(f"{printable(str(error))} [{error.code}]")


def masked() -> CallToolResult:
    """An error that says nothing of what went wrong inside."""
    return _failed(MASKED)


def on_wire(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The value with lone surrogates shown by their code points: half a character has no form in UTF-8."""
    if isinstance(value, str):
        return HALF.sub(lambda match: code_point(match[0]), value)
    if isinstance(value, Mapping):
        return {on_wire(name): on_wire(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [on_wire(inner) for inner in value]
    return value


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
