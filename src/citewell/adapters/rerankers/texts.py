"""Makes any Python string fit to be handed to a reranker; knows no model and cuts nothing."""

from __future__ import annotations


def clean(text: str) -> str:
    """The text with what has no UTF-8 (lone surrogates) as `?`; tokenizers and endpoints refuse it."""
    return text.encode("utf-8", "replace").decode()
