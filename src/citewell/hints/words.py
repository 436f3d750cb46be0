"""Why a document was hinted, in few words: which of the question's words its title, headings or place hold.

Pure; it knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from citewell.model import DocumentInfo

_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"'`]+")
_MOST = 4
_LONGEST = 40


def asked_words(query: str, terms: Sequence[str], analyze_query: Callable[[str], Sequence[str]]) -> dict[str, str]:
    """Each of the query's terms, and the word of the query that it came from; a term of its own where none did."""
    said: dict[str, str] = {}
    for word in _WORD.findall(query):
        held = set(analyze_query(word)) if len(word) <= _LONGEST else set()
        for term in terms:
            if term in held:
                said.setdefault(term, word)
    return {term: said.get(term, term) for term in terms}


def why(info: DocumentInfo, words: Mapping[str, str], analyze: Callable[[str], Sequence[str]]) -> str:
    """Such as `title: pool, exhausted; headings: restart`; `close in meaning` where no word is shared."""
    places = {
        "title": info.title,
        "headings": "\n".join(info.headings),
        "category": info.category or "",
        "source": info.source,
    }
    left = dict(words)
    parts = []
    for place, text in places.items():
        held = set(analyze(text)) if text else set()
        found = [term for term in left if term in held]
        if found:
            shown = list(dict.fromkeys(left.pop(term)[:_LONGEST] for term in found))[:_MOST]
            parts.append(f"{place}: {', '.join(shown)}")
    return "; ".join(parts) or "close in meaning"
