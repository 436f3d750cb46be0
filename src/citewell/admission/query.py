"""A query's text: refused if it says nothing, clamped openly if it is too long (SAFE-4); knows no other argument."""

from __future__ import annotations

import re
from typing import Final

import regex

from citewell.checks import shown
from citewell.errors import InvalidRequest

MAX_QUERY_CHARACTERS: Final = 4_000
"""A longer query is clamped: no embedder reads so much, and its terms would only dilute each other."""

_UNUSABLE = re.compile("[\x00\ud800-\udfff]+")
_SAYING = regex.compile(
    r"[[\p{L}\p{N}]--[\u115f\u1160\u3164\uffa0]]"  # a letter or number; some letters of Hangul only fill space
    r"|[\p{So}&&\p{Extended_Pictographic}]|\p{Regional_Indicator}",  # an emoji
    regex.V1,
)


def admit_query(query: object) -> tuple[str, list[str]]:
    """The text that is searched for, and what was done to it; see `admit`."""
    if not isinstance(query, str):
        raise InvalidRequest(f"a query must be a text, not {shown(query)}", way_out="Give the question as text.")
    usable = _UNUSABLE.sub("", query)
    notes = ["NUL characters and lone surrogates were left out of the query"] if usable != query else []
    whole = usable.strip()
    kept = _clamp(whole)
    first = _SAYING.search(whole)
    if first is None:
        raise InvalidRequest(
            f"the query {shown(query)} holds nothing to search for",
            way_out="Give words: a question, a name or a code.",
        )
    if first.start() < len(kept):
        part = f"its first {len(kept)} of {len(whole)} characters"
    else:
        kept = _clamp(whole[first.start() :])
        part = f"characters {first.start() + 1} to {first.start() + len(kept)} of {len(whole)}"
    if kept != whole:
        notes.append(f"the query was too long: {part} were kept")
    return kept, notes


def _clamp(text: str) -> str:
    """A text's beginning, cut at white space; inside a word, between characters, where the last one is very long."""
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text
    start = text[: MAX_QUERY_CHARACTERS + 1]
    words = start.removesuffix(start.split()[-1]).rstrip()
    if len(words) >= MAX_QUERY_CHARACTERS // 2:
        return words
    characters: list[str] = regex.findall(r"\X", start)
    return "".join(characters[:-1]) or start[:MAX_QUERY_CHARACTERS]
