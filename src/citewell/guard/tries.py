"""Many words at once: which of them begin at a place of a text, in steps of the longest of them.

It knows words and places alone. A trie of reversed words is walked backwards: it finds those that end at a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Node = dict[str, Any]
_WORD = ""  # under the empty string a node says that a word ends there; no character is empty


def trie(words: Iterable[str]) -> Node:
    """The words, by their first letters."""
    root: Node = {}
    for word in words:
        node = root
        for char in word:
            node = node.setdefault(char, {})
        node[_WORD] = True
    return root


def ends_from(node: Node, text: str, start: int) -> Iterator[int]:
    """Where the words that begin at `start` end, the shortest first."""
    for place in range(start, len(text)):
        found = node.get(text[place])
        if found is None:
            return
        node = found
        if _WORD in node:
            yield place + 1


def starts_to(backward: Node, text: str, end: int) -> Iterator[int]:
    """Where the words that end at `end` begin, the shortest first; the trie holds them reversed."""
    node = backward
    for place in range(end - 1, -1, -1):
        found = node.get(text[place])
        if found is None:
            return
        node = found
        if _WORD in node:
            yield place
