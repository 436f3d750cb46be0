"""Turns what a lookup found into what an agent sees, within a budget (PROJ-1..7): a dict, and from it plain text.

    view         LookupOutcome -> dict: items, what was left out, status
    fit          which blocks are shown and how much of each, within a budget
    cuts         text -> a beginning of it that ends well
    tokens       text -> about how many tokens a language model makes of it
    parts        dict -> its parts, the tool's own words apart from what documents say
    fence        the two lines that keep a document between them
    text         dict -> plain text in which documents can't pass as the tool
    clients      dict -> the shape that a client wants: text blocks, Anthropic, OpenAI, Markdown
    sentences    text -> pieces of about a sentence
    foreign      text of a document -> what a model may be given

It records nothing (whoever emits a projection does), never ranks or drops by score, and does not know the protocol
that carries the result. Budgets count the `content` of items and nothing else.

Retrieved text is data. In the dict each text is a string of its own, exactly as found; in the text form everything
that comes from a document is fenced, quoted or shown by its code point, so that it can't be taken for anything else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from citewell.projection.foreign import foreign
from citewell.projection.sentences import sentences

if TYPE_CHECKING:
    from citewell.printable import printable, printable_id, read_id
    from citewell.projection.clients import (
        cited_ids,
        to_markdown,
        to_openai_fetch,
        to_openai_search,
        to_search_results,
        to_text_blocks,
    )
    from citewell.projection.text import to_text
    from citewell.projection.tokens import token_bound
    from citewell.projection.view import NOTICE, project, project_block

_HOMES = {
    "NOTICE": "projection.view",
    "printable": "printable",
    "printable_id": "printable",
    "project": "projection.view",
    "project_block": "projection.view",
    "read_id": "printable",
    "to_text": "projection.text",
    "token_bound": "projection.tokens",
}
"""Where each name lives that is no shape for a client; the two that are named like their modules are there at once."""

__all__ = [
    "NOTICE",
    "cited_ids",
    "foreign",
    "printable",
    "printable_id",
    "project",
    "project_block",
    "read_id",
    "sentences",
    "to_markdown",
    "to_openai_fetch",
    "to_openai_search",
    "to_search_results",
    "to_text",
    "to_text_blocks",
    "token_bound",
]


def __getattr__(name: str) -> object:
    """Each name is loaded when it is first asked for: a lookup for people shows nothing to an agent."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"citewell.{_HOMES.get(name, 'projection.clients')}")
    globals()[name] = found = getattr(home, name)
    return found
