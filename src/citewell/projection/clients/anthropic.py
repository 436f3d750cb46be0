"""A projection -> content blocks for Anthropic's Messages API, whose citations then name evidence keys.

The API keeps each field of a `search_result` apart, so that the fields are the fence. It knows no client library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from citewell.checks import check_list, check_mapping, check_text
from citewell.printable import read_id
from citewell.projection.fence import explained, fence_mark
from citewell.projection.parts import Item, Parts, parts_of
from citewell.projection.sentences import sentences
from citewell.projection.text import tail

_OWN_WORDS = "Each search result is a passage of a document. Its source is the id to cite, as are the ids in [] here."


def to_search_results(projection: Mapping[str, Any]) -> list[dict[str, object]]:
    """A projection as content blocks for a `tool_result` or a user message of Anthropic's Messages API.

    First a `text` block with the tool's own words: status, query, a line on each passage, hints (fenced), what was
    left out. Then a block for each passage that has something to see:

        {"type": "search_result", "source": id, "title": title > section,
         "content": [{"type": "text", "text": sentence}, ...], "citations": {"enabled": True}}

    The texts of `content` joined are the item's content (`foreign`); each is about a sentence (`sentences`), because a
    text is the smallest thing that the API cites. None is blank, for the API refuses such. In one request either all
    search results have citations or none. Citations come back with this `source`; `cited_ids` reads them.

    Raises:
        InvalidRequest: it is no projection.
    """
    parts = parts_of(projection)
    own: dict[str, object] = {"type": "text", "text": "\n".join(_own(parts, fence_mark(parts.printed)))}
    return [own, *(_search_result(item) for item in parts.items if item.content.strip())]


def cited_ids(content: Iterable[Mapping[str, Any]]) -> list[str]:
    """The evidence keys that an answer cites, each once, in order: of `message.model_dump()["content"]`.

    Raises:
        InvalidRequest: the content is no list of JSON objects, or a citation is none.
    """
    blocks = [_object("a block", block) for block in check_list("content", content)]
    lists = [check_list("citations", block["citations"]) for block in blocks if block.get("citations") is not None]
    citations = [_object("a citation", citation) for citations in lists for citation in citations]
    sources = [check_text("a source", citation.get("source")) for citation in citations if _is_ours(citation)]
    return list(dict.fromkeys(map(read_id, sources)))


def _object(name: str, value: object) -> Mapping[str, Any]:
    return check_mapping(name, value, wanted="JSON values, such as message.model_dump()['content'] has")


def _is_ours(citation: Mapping[str, Any]) -> bool:
    kind = citation.get("type")
    return isinstance(kind, str) and kind == "search_result_location"


def _own(parts: Parts, mark: str) -> list[str]:
    passages = [
        f"{item.own_line()}{'' if item.content.strip() or item.repeat else '; no text'}" for item in parts.items
    ]
    rest = [line for lines in tail(parts, mark) for line in lines]
    fences = [explained(mark)] if parts.hints else []
    return [*parts.head, *([_OWN_WORDS] if passages else []), *passages, *fences, *rest]


def _search_result(item: Item) -> dict[str, object]:
    return {
        "type": "search_result",
        "source": item.id,
        "title": item.heading,
        "content": [{"type": "text", "text": sentence} for sentence in sentences(item.content)],
        "citations": {"enabled": True},
    }
