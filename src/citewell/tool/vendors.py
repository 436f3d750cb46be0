"""The definition of `lookup_knowledge` in the words of the APIs that models are called by.

It knows the shapes that their documents describe, and none of their libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, Literal

from citewell.checks import check_text, refusal
from citewell.tool.definition import DESCRIPTION, NAME, arguments
from citewell.tool.shapes import Schema

Vendor = Literal["openai", "openai-responses", "anthropic"]


def tool_schema(vendor: Vendor, *, without: Collection[str] = ()) -> dict[str, Any]:
    """The tool as an item of the `tools` of a request, generated from the one definition (API-6).

        openai             {"type": "function", "function": {"name", "description", "parameters"}}   chat completions
        openai-responses   {"type": "function", "name", "description", "parameters", "strict": False}
        anthropic          {"name", "description", "input_schema"}                                    messages

    OpenAI's strict mode is off: it wants every argument required, and `where` open to no field. What the model
    then calls with is checked by `LookupTool`, or by `Knowledge.lookup`.

    Args:
        vendor: whose shape.
        without: arguments that the program decides and no model may: such as `scope` and `session`.

    Raises:
        InvalidRequest: there is no such vendor, or one of `without` is no argument.
    """
    make = _SHAPES.get(check_text("vendor", vendor))
    if make is None:
        raise refusal("vendor", vendor, f"one of {', '.join(_SHAPES)}")
    return make(arguments(without=without))


def _completions(parameters: Schema) -> dict[str, Any]:
    return {"type": "function", "function": {"name": NAME, "description": DESCRIPTION, "parameters": parameters}}


def _responses(parameters: Schema) -> dict[str, Any]:
    return {
        "type": "function",
        "name": NAME,
        "description": DESCRIPTION,
        "parameters": parameters,
        "strict": False,  # left out, it would be true
    }


def _messages(parameters: Schema) -> dict[str, Any]:
    return {"name": NAME, "description": DESCRIPTION, "input_schema": parameters}


_SHAPES: Final[dict[str, Callable[[Schema], dict[str, Any]]]] = {
    "openai": _completions,
    "openai-responses": _responses,
    "anthropic": _messages,
}
