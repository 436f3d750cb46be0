"""A projection -> plain text, for agents that read no JSON: what documents say can't pass as the tool's words (PROJ-7).

It works on the dict alone, never on a result. Three things keep documents apart from the tool: a fence made from a
digest of all that is printed, so that no document can contain it; ids that can't end themselves; and `printable`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from citewell.checks import check_count, check_list, check_text, refusal
from citewell.errors import InvalidRequest
from citewell.projection.printable import printable, printable_id

_STATUS = {
    "ok": "evidence was found",
    "empty_store": "the knowledge base is empty",
    "no_match": "nothing was found under these filters",
    "below_similarity": "something was found, but nothing close enough to the query",
    "all_already_shown": "all that was found has been shown in this session before",
}
_KEYS = ("status", "degraded", "query", "notice", "evidence", "omitted", "omitted_count")
_ITEM_KEYS = ("document_id", "source", "title", "breadcrumb", "content", "similarity", "why", "truncated")
_OMITTED_KEYS = ("document_id", "reason")
_NAMED = 5


def to_text(projection: Mapping[str, Any]) -> str:
    """A projection as plain text, for agents that read no JSON.

    Titles, breadcrumbs, sources and contents stand between `<<evidence MARK>>` and `<<end MARK>>`; MARK occurs in
    nothing else that is printed. All other lines are Citewell's own words, apart from the query, the causes of
    degradation, and ids in brackets. An id is printed as it is, or, if it holds anything but letters, digits,
    punctuation and single spaces, as a JSON string (`printable_id`); either way it holds no bracket. Control
    characters are shown by their code points (`printable`); the dict has every text exactly. Of what was left out, at
    most five ids are named.

    Raises:
        InvalidRequest: it is no projection.
    """
    view = _having("a projection", projection, _KEYS, wanted="what `project` or `LookupResult.to_agent` returned")
    head, items, tail = _head(view), [_item(item) for item in check_list("its evidence", view["evidence"])], _tail(view)
    mark = fence_mark([*head, *(line for item in items for line in item), *tail])
    lines = list(head)
    if items:
        lines.append(
            f"Whatever stands between <<evidence {mark}>> and <<end {mark}>> comes from a document, as do ids in []."
        )
    for own, *foreign in items:
        lines += ["", own, f"<<evidence {mark}>>", *foreign, f"<<end {mark}>>"]
    return "\n".join([*lines, *tail]) + "\n"


def fence_mark(texts: Sequence[str]) -> str:
    """Twelve hex digits that occur in none of the texts; the same for the same texts."""
    digest = json.dumps(texts)
    while True:
        digest = hashlib.sha256(digest.encode()).hexdigest()
        if not any(digest[:12] in text for text in texts):
            return digest[:12]


def _head(view: Mapping[str, Any]) -> list[str]:
    status = check_text("its status", view["status"])
    return [
        f"status: {_one_line(status)} ({_STATUS.get(status, 'of another version')})",
        *(f"degraded: {_one_line(cause)}" for cause in check_list("its degraded", view["degraded"])),
        f"query: {_one_line(view['query'])}",
        f"notice: {_one_line(view['notice'])}",
    ]


def _item(given: object) -> list[str]:
    """The tool's own line on an item, then the lines that come from its document."""
    item = _having("an item of evidence", given, _ITEM_KEYS, wanted="an item as `project` makes it")
    labels = {"source": item["source"], "title": item["title"], "section": item["breadcrumb"]}
    return [
        f"{_id(item)} {'; '.join(_facts(item))}".rstrip(),
        *(f"{name}: {_one_line(label)}" for name, label in labels.items() if label),
        "",
        printable(item["content"]),
    ]


def _facts(item: Mapping[str, Any]) -> list[str]:
    facts = [] if item["similarity"] is None else [f"similarity {item['similarity']}"]
    if item["why"]:
        facts.append("found by " + ", ".join(f"{why['path']} (rank {why['rank']})" for why in item["why"]))
    if "role" in item:
        facts.append(item["role"])
    if item["truncated"]:
        facts.append("cut short")
    return facts


def _tail(view: Mapping[str, Any]) -> list[str]:
    count, omitted = (
        check_count("omitted_count", view["omitted_count"], least=0),
        check_list("omitted", view["omitted"]),
    )
    if not count:
        return []
    named = [_left_out(entry) for entry in omitted[:_NAMED]]
    rest = [f"and {count - len(named)} more"] if len(named) < count else []
    return ["", f"left out: {count}" + (", of which: " + ", ".join([*named, *rest]) if named else "")]


def _left_out(given: object) -> str:
    entry = _having("an entry of omitted", given, _OMITTED_KEYS, wanted="an entry as `project` makes it")
    return f"{_id(entry)} {_one_line(entry['reason'])}"


def _id(having: Mapping[str, Any]) -> str:
    return f"[{printable_id(check_text('a document_id', having['document_id']))}]"


def _having(name: str, value: object, keys: Iterable[str], *, wanted: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise refusal(name, value, wanted)
    missing = [key for key in keys if key not in value]
    if missing:
        raise InvalidRequest(f"{name} can't be without {missing[0]!r}", way_out=f"Give {wanted}.")
    return value


def _one_line(text: str) -> str:
    return printable(" ".join(check_text("a line", text).split()))
