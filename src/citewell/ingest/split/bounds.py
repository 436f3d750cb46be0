"""How large a text is for a store and an embedder: UTF-8 bytes, and a bound on tokens where the embedder can't count.

Knows no tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

CountTokens = Callable[[str], int]

_ORDINARY_WORD = re.compile(r"[A-Za-z]?[a-z]+")
_WORD = re.compile(r"[A-Za-z]+")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")
_LONGEST_ORDINARY_WORD = 20
_SPECIAL = 2


def token_bound(text: str) -> int:
    """A number of tokens that a text doesn't exceed, by script, for embedders that can't count (Embedder port).

    Ordinary English words take at most a token for two letters; other runs of ASCII (digits, hashes, base64, capitals)
    at most one for each character, everything else at most one for each UTF-8 byte; two are added for the marks that
    tokenizers put around a text. White space costs nothing but line breaks, which cost one.
    """
    words = _WORD.findall(text)
    saved = sum(len(word) // 2 for word in words if _is_ordinary(word))
    spaces = text.count(" ") + text.count("\t")
    return len(text.encode("utf-8", "surrogatepass")) - saved - spaces + _SPECIAL


def _is_ordinary(word: str) -> bool:
    return len(word) <= _LONGEST_ORDINARY_WORD and bool(_ORDINARY_WORD.fullmatch(word)) and bool(_VOWEL.search(word))


@dataclass(frozen=True, slots=True)
class Bounds:
    """What no chunk exceeds.

    Attributes:
        target: characters that a chunk is meant to have.
        maximum: characters that it may have to keep a fence, a table or a sentence whole.
        max_tokens: of the embedder.
        max_bytes: in UTF-8.
        count_tokens: of the embedder; None if it can't count, and `token_bound` holds.
    """

    target: int
    maximum: int
    max_tokens: int
    max_bytes: int
    count_tokens: CountTokens | None = None

    def tokens(self, text: str) -> int:
        """How many the embedder takes for a text, or a bound on it."""
        return self.count_tokens(text) if self.count_tokens else token_bound(text)

    def excess(self, passage: str) -> float:
        """How many times too large a passage is; at most 1 means that it fits."""
        size = len(passage.encode("utf-8", "surrogatepass"))
        excess = max(len(passage) / self.maximum, size / self.max_bytes)
        if self.count_tokens is None and size + _SPECIAL <= self.max_tokens:
            return excess
        return max(excess, self.tokens(passage) / self.max_tokens)
