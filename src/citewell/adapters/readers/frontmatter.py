"""Front matter of a Markdown file -> metadata as JSON values (INGEST-3); YAML between `---`, TOML between `+++`.

What is no front matter (a horizontal rule) or can't be read stays text. Nothing in it can set a scope: a document that
named its own labels would decide who may see it; labels come from the caller alone. Knows no file and no splitter.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import yaml

_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\n")
_LOOKS_LIKE_FIELDS = re.compile(r"[ \t]*(?:#[^\n]*\n[ \t]*)*[\w\"'][^\n]{0,80}?\s*[:=]")
_LONGEST = 64_000
_MOST_VALUES = 5_000
_DEEPEST = 20
_WIDEST_NUMBER = 63  # bits; JSON readers and SQLite know no wider integers


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands before the text of a file.

    Attributes:
        end: where the text begins; 0 without front matter.
        fields: JSON values by key; empty if there is none or it can't be read.
        title, category: as written, None if not given.
        remark: why what looks like front matter could not be read; it then stays text up to `end`.
    """

    end: int = 0
    fields: Mapping[str, object] = field(default_factory=dict)
    title: str | None = None
    category: str | None = None
    remark: str = ""


class _Unreadable(Exception):
    """The front matter can't be used; the message says why."""


def front_matter(text: str) -> FrontMatter:
    """The front matter with which clean text begins; never raises."""
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    mark, start = opening.group(1), opening.end()
    closing = re.compile(r"^(?:---|\.\.\.)[ \t]*$\n?" if mark == "---" else r"^\+\+\+[ \t]*$\n?", re.MULTILINE)
    end = closing.search(text, start, start + _LONGEST)
    body = text[start : end.start()] if end else ""
    if end is None or not (body.strip() == "" or _LOOKS_LIKE_FIELDS.match(body)):
        return FrontMatter(remark=_unclosed(text, start) if end is None else "")
    try:
        return _read(body, end.end(), _yaml if mark == "---" else _toml)
    except _Unreadable as error:
        return FrontMatter(end=end.end(), remark=f"front matter kept as text: {error}")


def _unclosed(text: str, start: int) -> str:
    if not _LOOKS_LIKE_FIELDS.match(text, start, start + 200):
        return ""
    return f"front matter kept as text: no closing line within {_LONGEST} characters"


def _read(body: str, end: int, parse: Callable[[str], tuple[object, Mapping[str, str]]]) -> FrontMatter:
    parsed, written = parse(body)
    if parsed is None:
        return FrontMatter(end=end)
    if not isinstance(parsed, Mapping):
        return FrontMatter()
    fields = _Values().mapping(parsed)
    if isinstance(tags := fields.get("tags"), str):
        fields["tags"] = [tag.strip() for tag in tags.split(",") if tag.strip()]
    return FrontMatter(end, fields, _text(fields.get("title"), written.get("title")), _category(fields, written))


def _text(value: object, written: str | None) -> str | None:
    """A scalar as it was written: `title: 1.10` is not 1.1, `category: no` is not false."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool | int | float):
        return (written if written is not None else str(_scalar(value))).strip() or None
    return None


def _category(fields: Mapping[str, object], written: Mapping[str, str]) -> str | None:
    category = fields.get("category")
    if isinstance(category, list) and len(category) == 1:
        return _text(category[0], None)
    return _text(category, written.get("category"))


def _yaml(body: str) -> tuple[object, Mapping[str, str]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        parsed = yaml.load(body, Loader=loader)  # noqa: S506 - a safe loader, the fast one where there is one
        raw = yaml.load(body, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)) if _has_odd_scalar(parsed) else {}  # noqa: S506 - builds strings only
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise _Unreadable(f"it is no valid YAML ({' '.join(str(error).split())[:200]})") from None
    return parsed, raw if isinstance(raw, Mapping) else {}


def _has_odd_scalar(parsed: object) -> bool:
    return isinstance(parsed, Mapping) and any(
        isinstance(parsed.get(key), bool | int | float) for key in ("title", "category")
    )


def _toml(body: str) -> tuple[object, Mapping[str, str]]:
    try:
        return tomllib.loads(body), {}
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise _Unreadable(f"it is no valid TOML ({error})") from None


class _Values:
    """Turns what a parser made into JSON values, within bounds: aliases can make a small text endless."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def mapping(self, values: Mapping[object, object], depth: int = 0) -> dict[str, object]:
        return {_key(key): self.value(value, depth + 1) for key, value in values.items()}

    def value(self, value: object, depth: int) -> object:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise _Unreadable(f"it holds more than {_MOST_VALUES} values or nests deeper than {_DEEPEST}")
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        if isinstance(value, list | tuple | set | frozenset):
            items = [self.value(item, depth + 1) for item in value]
            return sorted(items, key=str) if isinstance(value, set | frozenset) else items
        return _scalar(value)


def _key(key: object) -> str:
    return key if isinstance(key, str) else str(_scalar(key))


def _scalar(value: object) -> object:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and value.bit_length() > _WIDEST_NUMBER:
        return hex(value)  # Python writes any number in this base, but not in the decimal one
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
