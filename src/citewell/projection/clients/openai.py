"""A projection -> what ChatGPT's connectors and deep research expect of the tools `search` and `fetch`.

Both are JSON objects, and what a document says is a string of its own in them: the strings are the fence. It knows
neither the protocol nor the library that carries them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from citewell.checks import check_text, refusal
from citewell.projection.parts import Item, item_of, parts_of
from citewell.projection.view import LABEL_CHARS, NOTICE

_BASE_URL = "citewell:///"
_WEB = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?=[/?#]|$)")
_IN_URLS = "/?#&=%:@!$*+,;~-._"


def to_openai_search(projection: Mapping[str, Any], *, base_url: str = _BASE_URL) -> dict[str, object]:
    """What `search` returns: `{"results": [{"id", "title", "url"}]}`, best first.

    `id` is the evidence key, to be given to `fetch` (through `read_id`). `title` is never empty. `url` is the
    document's source if that is a web address; else `base_url` and the evidence key. It is never empty, for ChatGPT
    cites nothing without one. The shape has no room for a status: nothing found is an empty list.

    Args:
        projection: what `project` made.
        base_url: of pages that show a passage by its evidence key, such as `https://kb.example/show/`.

    Raises:
        InvalidRequest: it is no projection, or the base is no URL.
    """
    base = _base(base_url)
    items = parts_of(projection).items
    return {"results": [{"id": item.id, "title": item.heading, "url": _url(item, base)} for item in items]}


def to_openai_fetch(item: Mapping[str, Any], *, base_url: str = _BASE_URL) -> dict[str, object]:
    """What `fetch` returns: `{"id", "title", "text", "url", "metadata"}` of one item of a projection.

    `id`, `title` and `url` as `to_openai_search` gives them; `text` is the item's content (`foreign`). `metadata` has
    texts alone: `notice`, which says that the text is data, `source`, `section` and `truncated` (`yes` or `no`). For a
    passage that no lookup found, `project_block` makes an item.

    Raises:
        InvalidRequest: it is no item of a projection, or the base is no URL.
    """
    base, passage = _base(base_url), item_of(item)
    return {
        "id": passage.id,
        "title": passage.heading,
        "text": passage.content,
        "url": _url(passage, base),
        "metadata": {
            "notice": NOTICE,
            "source": passage.source,
            "section": passage.breadcrumb,
            "truncated": "yes" if passage.truncated else "no",
        },
    }


def _url(item: Item, base: str) -> str:
    """The web address that is the source, without what could end it in a text; else one of our own."""
    host = _WEB.match(item.source)
    if host is None or len(item.source) >= LABEL_CHARS:  # of that length, it may have been cut
        return base + quote(item.key, safe="/", errors="replace")
    return host[0] + quote(item.source[host.end() :], safe=_IN_URLS, errors="replace")


def _base(given: object) -> str:
    base = check_text("base_url", given)
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*:[!-~]+", base):
        raise refusal("base_url", base, "a URL such as 'https://kb.example/show/'")
    return base
