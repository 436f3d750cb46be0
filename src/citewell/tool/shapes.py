"""The parts that JSON schemas are made of: no references, one type each, a description for a model to read.

It knows JSON Schema, and no tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]


def text(description: str, **further: object) -> Schema:
    """A string."""
    return {"type": "string", "description": description, **further}


def whole(description: str, least: int, most: int, **further: object) -> Schema:
    """An integer within bounds."""
    return {"type": "integer", "description": description, "minimum": least, "maximum": most, **further}


def switch(description: str, *, default: bool) -> Schema:
    """True or false."""
    return {"type": "boolean", "description": description, "default": default}


def listing(description: str, items: Schema) -> Schema:
    """An array of such items."""
    return {"type": "array", "description": description, "items": items}


def shape(properties: Mapping[str, Schema], required: Sequence[str] | None = None, **further: object) -> Schema:
    """An object with these properties, all of them required unless it is said which."""
    needed = list(properties) if required is None else list(required)
    return {"type": "object", **further, "properties": dict(properties), "required": needed}


def closed(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    """The arguments of a tool: an object that takes no other property (API-8)."""
    return {**shape(properties, required), "additionalProperties": False}
