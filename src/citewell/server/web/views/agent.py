"""What `to_agent` gave, and how much of its budget that took; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from citewell.model import Budget
from citewell.server.web.views.values import Json, number, objects


@dataclass(frozen=True, slots=True)
class Meter:
    """How much of one limit is used; `most` None = there is no limit."""

    name: str
    used: float
    most: int | None

    @property
    def share(self) -> float:
        """From 0 to 1; 0 without a limit."""
        return min(1.0, self.used / self.most) if self.most else 0.0


@dataclass(frozen=True, slots=True)
class Item:
    """One passage as the agent saw it."""

    number: int
    key: str
    title: str
    source: str
    content: str
    similarity: float | None
    why: tuple[tuple[str, int], ...]
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AgentView:
    """What the agent saw, and what it was told that it didn't see."""

    items: tuple[Item, ...]
    meters: tuple[Meter, ...]
    omitted: tuple[tuple[str, str], ...]
    omitted_count: int


def agent_view(seen: Json, budget: Budget, count_tokens: Callable[[str], float]) -> AgentView:
    """What a page draws of a projection that was made within this budget."""
    items = tuple(_item(place, item) for place, item in enumerate(objects(seen.get("evidence")), start=1))
    tokens = sum(count_tokens(item.content) for item in items)
    return AgentView(
        items=items,
        meters=(
            Meter("items", len(items), budget.max_items),
            Meter("characters", sum(len(item.content) for item in items), budget.max_chars),
            Meter("tokens, at most", tokens, budget.max_tokens),
        ),
        omitted=tuple((str(each["document_id"]), str(each["reason"])) for each in objects(seen.get("omitted"))),
        omitted_count=int(seen.get("omitted_count", 0)),
    )


def shown_keys(seen: Json) -> tuple[str, ...]:
    """The evidence keys in it."""
    return tuple(str(item["document_id"]) for item in objects(seen.get("evidence")))


def _item(place: int, item: Mapping[str, object]) -> Item:
    marks = [
        str(item.get("role", "")),
        "cut short" if item.get("truncated") else "",
        "already shown" if item.get("already_shown") else "",
        "continues the one above" if item.get("continues") else "",
    ]
    return Item(
        number=place,
        key=str(item["document_id"]),
        title=str(item["breadcrumb"] or item["title"]),
        source=str(item["source"]),
        content=str(item["content"]),
        similarity=number(item["similarity"]),
        why=tuple((str(why["path"]), int(why["rank"])) for why in objects(item["why"])),
        marks=tuple(filter(None, marks)),
    )
