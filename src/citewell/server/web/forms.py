"""What an address asks for -> the arguments of a lookup, and the same as it was typed, for the form to show again.

It only tells numbers from text; whether a value can be used, the library's own admission says, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from citewell.server.web.views.ranking import DEPTH

COMPARE: Final = "compare"
"""Stands beside the modes: both of them, side by side."""

WIDTHS: Final = ("retrieve_k", "return_n", "max_chunks_per_document", "neighbours")
_DEPTHS: Final = (DEPTH, 25, 50)


@dataclass(frozen=True, slots=True)
class Form:
    """A query as it was typed; empty text where nothing was.

    Attributes:
        mode: `hybrid`, `dense`, `compare`, or empty for the configured one.
        scope: labels; without any, all that the caller holds.
        widths: by name of the argument.
        depth: ranks that are drawn.
    """

    query: str = ""
    mode: str = ""
    category: str = ""
    scope: tuple[str, ...] = ()
    widths: Mapping[str, str] = field(default_factory=dict)
    min_similarity: str = ""
    depth: int = DEPTH

    @property
    def further(self) -> bool:
        """Whether anything was typed beyond query and mode, so that the form shows those fields."""
        return bool(self.category or self.scope or self.min_similarity or any(self.widths.values()))

    def arguments(self) -> dict[str, object]:
        """For `Knowledge.lookup`, but query and scope; what wasn't typed is left out."""
        given: dict[str, object] = {name: _whole(text) for name, text in self.widths.items() if text}
        if self.category:
            given["category"] = self.category
        if self.mode and self.mode != COMPARE:
            given["mode"] = self.mode
        if self.min_similarity:
            given["min_similarity"] = _real(self.min_similarity)
        return given

    def pairs(self, **changed: object) -> list[tuple[str, str]]:
        """As parts of an address, with some changed; None leaves a part out."""
        named: dict[str, object] = {"q": self.query, "mode": self.mode, "category": self.category, **self.widths}
        named |= {"min_similarity": self.min_similarity, "depth": "" if self.depth == DEPTH else self.depth}
        named |= changed
        labels = [("scope", label) for label in self.scope] if "scope" not in changed else []
        return [(name, str(value)) for name, value in named.items() if value not in (None, "")] + labels


def form_of(pairs: Iterable[tuple[str, str]]) -> Form:
    """The form of an address; names that it doesn't know say nothing."""
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)

    def last(name: str) -> str:
        return given.get(name, [""])[-1].strip()

    return Form(
        query=given.get("q", [""])[-1],
        mode=last("mode"),
        category=last("category"),
        scope=tuple(dict.fromkeys(label for label in given.get("scope", ()) if label.strip())),
        widths={name: last(name) for name in WIDTHS if last(name)},
        min_similarity=last("min_similarity"),
        depth=next((depth for depth in _DEPTHS if last("depth") == str(depth)), DEPTH),
    )


def _whole(text: str) -> object:
    """The number, or the text for admission to refuse."""
    try:
        return int(text)
    except ValueError:
        return text


def _real(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text
