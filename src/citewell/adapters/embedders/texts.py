"""Makes any Python string fit to be handed to a tokenizer; knows no model and cuts nothing."""

from __future__ import annotations

from citewell.checks import HALF


def clean(text: str) -> str:
    """The text with lone surrogates as U+FFFD (they have no UTF-8) and NUL as a space (tokenizers stop there).

    One character stays one character, so that lengths and spans hold.
    """
    return HALF.sub("\ufffd", text).replace("\0", " ")
