"""Why a document was hinted, in few words: which of the question's words its title, headings or place hold.

Pure; it knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"'`]+")
_MOST = 4
_LONGEST = 40


def asked_words(query: str, terms: Sequence[str], analyze_query: Callable[[str], Collection[str]]) -> dict[str, str]:
    """Each of these terms of the query, and the word of the query that it came from; itself where none did."""
    said: dict[str, str] = {}
    for word in _WORD.findall(query) if terms else ():
        if len(said) == len(terms):
            break
        held = analyze_query(word) if len(word) <= _LONGEST else ()
        for term in terms:
            if term in held:
                said.setdefault(term, word)
    return {term: said.get(term, term) for term in terms}


def why(held: Mapping[str, Sequence[str]], spots: Sequence[str], words: Mapping[str, str]) -> str:
    """Such as `title: pool, exhausted; headings: restart`; `close in meaning` where no word is shared.

    `held` has the terms that the document holds, by the first of the `spots` where they stand; `words` says each.
    """
    found = {spot: dict.fromkeys(words[term][:_LONGEST] for term in held[spot]) for spot in spots if spot in held}
    return "; ".join(f"{spot}: {', '.join(list(said)[:_MOST])}" for spot, said in found.items()) or "close in meaning"
