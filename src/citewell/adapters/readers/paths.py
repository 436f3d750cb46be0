"""A parsed value -> lines `path.to.key: value`, so that each line says by itself where it belongs. Knows no format.

Nothing recurses, and what comes out is bounded: paths that grow long lose their beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_PLAIN_KEY = re.compile(r"[^\s.\[\]\"]{1,80}")
_LONGEST_PATH = 160
_LONGEST_ON_LINE = 2_000

Pairs = list[tuple[str, object]]


def path_lines(value: object, path: str = "") -> Iterator[str]:
    """The lines of a value; a blank one before each part that has several lines of its own.

    Objects are mappings or `Members`; numbers are shown as `str` shows them, so a parser should keep them as texts.
    """
    waiting: list[tuple[str, object]] = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        short = on_one_line(value)
        if short is not None:
            yield f"{path}: {short}" if path else short
            continue
        if path:
            yield ""
        waiting += reversed(list(_parts(path, value)))


class Members(list[tuple[str, object]]):
    """The members of an object in order, equal names included."""


def _parts(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Members):
        yield from ((_below(path, name), part) for name, part in value)
    elif isinstance(value, Mapping):
        yield from ((_below(path, str(name)), part) for name, part in value.items())
    elif isinstance(value, Sequence):
        yield from ((_shortened(f"{path}[{index}]"), part) for index, part in enumerate(value))


def _below(path: str, name: str) -> str:
    step = name if _PLAIN_KEY.fullmatch(name) else '["' + name.replace("\n", " ")[:_LONGEST_PATH] + '"]'
    return _shortened(f"{path}.{step}" if path and not step.startswith("[") else f"{path}{step}")


def _shortened(path: str) -> str:
    return path if len(path) <= _LONGEST_PATH else f"…{path[1 - _LONGEST_PATH :]}"


def on_one_line(value: object) -> str | None:
    """A value without members: a text, a number, a list of such; None for what has to be taken apart."""
    if isinstance(value, Members | Mapping):
        return None if value else "{}"
    if not isinstance(value, list):
        return scalar(value)
    if not value:
        return "[]"
    return _listed(value)


def _listed(values: list[object]) -> str | None:
    """A list of scalars, or of lists of scalars, on one line."""
    parts: list[str] = []
    length = 0
    for value in values:
        if (
            isinstance(value, list)
            and not isinstance(value, Members)
            and not any(isinstance(each, list | Mapping) for each in value)
        ):
            parts.append(f"[{', '.join(scalar(each) for each in value)}]")
        elif isinstance(value, list | Mapping):
            return None
        else:
            parts.append(scalar(value))
        length += len(parts[-1])
        if "\n" in parts[-1] or (length > _LONGEST_ON_LINE and len(parts[-1]) > 80):
            return None
    return ", ".join(parts)


def scalar(value: object) -> str:
    """A value as JSON names it, texts without quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
