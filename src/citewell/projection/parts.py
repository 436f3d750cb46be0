"""A projected dict -> its parts as lines: the tool's own words apart from what documents say, ids printed.

Every form for a client is made of these, so that what is checked, cut to one line or shown by its code points is so
everywhere. It knows no client and no fence, and works on the dict alone, never on a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from citewell.checks import check_count, check_list, check_number, check_text, refusal
from citewell.errors import InvalidRequest
from citewell.printable import printable_id
from citewell.projection.foreign import foreign, foreign_line

_STATUS = {
    "ok": "evidence was found",
    "empty_store": "the knowledge base is empty",
    "no_match": "nothing was found under these filters",
    "below_similarity": "something was found, but nothing close enough to the query",
    "all_already_shown": "all of this evidence has been shown in this session before",
}
_KEYS = ("status", "degraded", "query", "notice", "evidence", "omitted", "omitted_count")
_ITEM_KEYS = ("document_id", "source", "title", "breadcrumb", "content", "similarity", "why", "truncated")
_OMITTED_KEYS = ("document_id", "reason")
_HINT_KEYS = ("kind", "value", "title", "why")
_NAMED = 5
_LARGEST_RANK = 10**9


def in_brackets(printed: str) -> str:
    """A printed id as it stands in plain text."""
    return f"[{printed}]"


@dataclass(frozen=True, slots=True)
class Item:
    """One passage.

    Attributes:
        key: the evidence key, exactly.
        id: the same as it is printed (`printable_id`).
        facts: the tool's own words on it.
        source, title, breadcrumb: of its document, each on one line.
        content: what it says, as a model may be given it (`foreign`).
        truncated: whether the content is only a beginning.
        continues: the id, as it is printed, of the passage above that this one goes on from; empty if there is none.
        repeat: whether it only stands for what was shown before; then its own line is all that is printed of it.
    """

    key: str
    id: str
    facts: tuple[str, ...]
    source: str
    title: str
    breadcrumb: str
    content: str
    truncated: bool
    continues: str = ""
    repeat: bool = False

    @property
    def heading(self) -> str:
        """Title and section, or what else there is to call it by; never empty."""
        if self.title and self.breadcrumb and not self.breadcrumb.startswith(self.title):
            return f"{self.title} > {self.breadcrumb}"
        return self.breadcrumb or self.title or self.source or self.id

    def own_line(self, bracketed: Callable[[str], str] = in_brackets) -> str:
        """What the tool says of it, on one line: the id in brackets, and the facts."""
        facts = [*self.facts, *([f"continues {bracketed(self.continues)}"] if self.continues else [])]
        return f"{bracketed(self.id)} {'; '.join(facts)}".rstrip()

    @property
    def labels(self) -> list[str]:
        """Those labels that it has, a line each, with their names."""
        named = {"source": self.source, "title": self.title, "section": self.breadcrumb}
        return [f"{name}: {label}" for name, label in named.items() if label]


@dataclass(frozen=True, slots=True)
class Parts:
    """A projection; every text on one line, apart from the contents of items.

    Attributes:
        status: with its meaning in brackets.
        hints: a line each; they come from documents.
        omitted: id as it is printed, and reason, of some that were left out.
        omitted_count: of all that were.
    """

    status: str
    degraded: tuple[str, ...]
    query: str
    notice: str
    items: tuple[Item, ...]
    hints: tuple[str, ...]
    omitted: tuple[tuple[str, str], ...]
    omitted_count: int

    @property
    def head(self) -> list[str]:
        """The tool's own words on the whole, a line each."""
        return [
            f"status: {self.status}",
            *(f"degraded: {cause}" for cause in self.degraded),
            f"query: {self.query}",
            f"notice: {self.notice}",
        ]

    def left_out(self, bracketed: Callable[[str], str] = in_brackets) -> str:
        """What was left out, in the tool's words, at most five of them named; empty if nothing was."""
        named = [f"{bracketed(printed)} {reason}" for printed, reason in self.omitted[: self.omitted_count]]
        rest = [f"and {self.omitted_count - len(named)} more"] if len(named) < self.omitted_count else []
        which = f", of which: {', '.join([*named, *rest])}" if named else ""
        return f"left out: {self.omitted_count}{which}" if self.omitted_count else ""

    @property
    def has_fences(self) -> bool:
        """Whether anything from a document is printed but ids."""
        return bool(self.hints) or not all(item.repeat for item in self.items)

    @property
    def printed(self) -> list[str]:
        """Every text that any form prints; a mark is taken from them."""
        items = [[each.own_line(), *([] if each.repeat else [*each.labels, each.content])] for each in self.items]
        return [*self.head, *(text for item in items for text in item), *self.hints, self.left_out()]


def parts_of(projection: object) -> Parts:
    """The parts of what `project` made.

    Raises:
        InvalidRequest: it is no projection.
    """
    view = _having("a projection", projection, _KEYS, wanted="what `project` or `LookupResult.to_agent` returned")
    status = check_text("its status", view["status"])
    return Parts(
        status=f"{_line(status)} ({_STATUS.get(status, 'of another version')})",
        degraded=tuple(_line(cause) for cause in check_list("its degraded", view["degraded"])),
        query=_line(view["query"]),
        notice=_line(view["notice"]),
        items=tuple(item_of(item) for item in check_list("its evidence", view["evidence"])),
        hints=tuple(_hint(hint) for hint in check_list("its hints", view.get("hints", ()))),
        omitted=tuple(_omission(entry) for entry in check_list("omitted", view["omitted"])[:_NAMED]),
        omitted_count=check_count("omitted_count", view["omitted_count"], least=0),
    )


def item_of(given: object) -> Item:
    """The parts of one item of evidence.

    Raises:
        InvalidRequest: it is no such item.
    """
    item = _having("an item of evidence", given, _ITEM_KEYS, wanted="an item as `project` makes it")
    key = check_text("a document_id", item["document_id"])
    truncated = _switch("truncated", item["truncated"])
    repeat = _switch("already_shown", item.get("already_shown", False))
    return Item(
        key=key,
        id=printable_id(key),
        facts=tuple(_facts(item, truncated=truncated, repeat=repeat)),
        source=_line(item["source"]),
        title=_line(item["title"]),
        breadcrumb=_line(item["breadcrumb"]),
        content=foreign(item["content"]),
        truncated=truncated,
        continues=printable_id(check_text("continues", item["continues"])) if "continues" in item else "",
        repeat=repeat,
    )


def _facts(item: Mapping[str, Any], *, truncated: bool, repeat: bool) -> list[str]:
    role = [_line(item["role"])] if "role" in item else []
    similarity, reasons = item["similarity"], [_reason(why) for why in check_list("its why", item["why"])]
    if repeat:
        return [*role, "already shown above in this session"]
    facts = [] if similarity is None else [f"similarity {check_number('a similarity', similarity)}"]
    if reasons:
        facts.append(f"found by {', '.join(reasons)}")
    return [*facts, *role, *(["cut short"] if truncated else [])]


def _reason(given: object) -> str:
    why = _having("a reason", given, ("path", "rank"), wanted="a reason as `project` makes it")
    return f"{_line(why['path'])} (rank {check_count('a rank', why['rank'], most=_LARGEST_RANK)})"


def _switch(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise refusal(name, value, "true or false")


def _hint(given: object) -> str:
    hint = _having("a hint", given, _HINT_KEYS, wanted="a hint as a lookup gives it")
    kind, value, title, why = (_line(hint[key]) for key in _HINT_KEYS)
    return f"{kind}: {value}" + (f", {title}" if title else "") + (f" ({why})" if why else "")


def _omission(given: object) -> tuple[str, str]:
    entry = _having("an entry of omitted", given, _OMITTED_KEYS, wanted="an entry as `project` makes it")
    return printable_id(check_text("a document_id", entry["document_id"])), _line(entry["reason"])


def _having(name: str, value: object, keys: Iterable[str], *, wanted: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise refusal(name, value, wanted)
    missing = [key for key in keys if key not in value]
    if missing:
        raise InvalidRequest(f"{name} can't be without {missing[0]!r}", way_out=f"Give {wanted}.")
    return value


def _line(text: object) -> str:
    return foreign_line(check_text("a line", text))
