"""Terms of our analyser as words that every analyser of Milvus leaves alone, and back to comparing exactly.

Milvus cuts a text at whatever is no letter or digit and may fold case; Citewell's terms are any text, compared exactly.
So a term that is not plain ASCII is written in base32, a long one as its digest. Two terms never share a word.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"(?!z)[0-9a-z]{1,64}")
_LONGEST = 64


def word(term: str) -> str:
    """The term as a word of [0-9a-z]: itself, or `z` and base32, or `z1` and a digest (base32 has no 1)."""
    if _PLAIN.fullmatch(term):
        return term
    data = term.encode("utf-8", "surrogatepass")
    if len(data) > _LONGEST:
        return f"z1{hashlib.sha256(data).hexdigest()}"
    return "z" + base64.b32encode(data).decode("ascii").rstrip("=").lower()


def words(terms: Iterable[str]) -> str:
    """The words of these terms, in order, one blank between; blank terms are left out, no text holds them."""
    return " ".join(word(term) for term in terms if term)
