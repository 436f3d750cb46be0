"""Turns what a lookup found into what an agent sees, within a budget (PROJ-1..7): a dict, and from it plain text.

    view         LookupOutcome -> dict: items, what was left out, status
    fit          which blocks are shown and how much of each, within a budget
    cuts         text -> a beginning of it that ends well
    tokens       text -> about how many tokens a language model makes of it
    text         dict -> plain text in which documents can't pass as the tool
    printable    text and ids -> what a terminal and a reader may be shown

It records nothing (whoever emits a projection does), never ranks or drops by score, and does not know the protocol
that carries the result. Budgets count the `content` of items and nothing else.

Retrieved text is data. In the dict each text is a string of its own, exactly as found; in the text form everything
that comes from a document is fenced, quoted or shown by its code point, so that it can't be taken for anything else.
"""

from citewell.projection.printable import printable, printable_id
from citewell.projection.text import to_text
from citewell.projection.tokens import token_bound
from citewell.projection.view import NOTICE, project

__all__ = ["NOTICE", "printable", "printable_id", "project", "to_text", "token_bound"]
