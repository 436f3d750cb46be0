"""Text -> about how many tokens a language model makes of it, and how much of a text a number of tokens holds.

It knows no tokenizer. What it remembers (the cost of frequent pieces) only saves work.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from citewell.checks import check_text

_IN_CODED = r"[A-Za-z0-9+/_-]"
_CODED = (
    r"[A-Za-z0-9+/]{32,}"
    # Or what in its first 16 has a digit, a capital and no lower-case word: those decide, so that no later one can.
    rf"|(?={_IN_CODED}{{16}})(?!{_IN_CODED}{{0,10}}[a-z]{{6}})(?=[^0-9]{{0,15}}[0-9])(?=[^A-Z]{{0,15}}[A-Z]){_IN_CODED}+"
)
_KINDS: dict[str, tuple[str, Callable[[str], int]]] = {
    "coded": (_CODED, lambda piece: 4 * len(piece)),
    "number": (r" [0-9]", lambda _: 8),
    "word": (r"[A-Z]?[a-z]+", lambda piece: max(4, len(piece) + 1, 2 * len(piece) - 6)),
    "capitals": (r"[A-Z]+", lambda piece: max(4, (5 * len(piece) + 1) // 2)),
    "space": (r" +", lambda piece: 1 if len(piece) == 1 else 4 + len(piece) // 2),
    "cjk": (r"[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]+", lambda piece: 6 * len(piece)),
    "ascii": (r"[\x00-\x7f]", lambda _: 4),
    "accented": (r"[\u00c0-\u024f\u1e00-\u1eff]", lambda _: 6),
    "cyrillic": (r"[\u0400-\u052f]+", lambda piece: 3 * len(piece)),
    "near": (r"[\u0370-\u03ff\u0590-\u06ff\u0750-\u077f\u1f00-\u1fff]+", lambda piece: 5 * len(piece)),
    "bytes": (r".", lambda piece: 4 * len(piece.encode("utf-8", "surrogatepass"))),
}
"""Each kind of piece and its cost in quarters of a token; the first kind that matches is it."""

_PIECES = re.compile("|".join(pattern for pattern, _ in _KINDS.values()), re.DOTALL)
_KIND = re.compile("|".join(f"(?P<{name}>{pattern})" for name, (pattern, _) in _KINDS.items()), re.DOTALL)


class _Costs(dict[str, int]):
    """The cost of pieces in quarters of a token, worked out when first asked for; bounded: it is emptied when full."""

    _most = 1 << 14
    _longest = 16

    def __missing__(self, piece: str) -> int:
        kind = _KIND.match(piece)
        cost = _KINDS[kind.lastgroup or ""][1](piece) if kind else 0
        if len(piece) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[piece] = cost
        return cost


_cost = _Costs().__getitem__


def token_bound(text: str) -> int:
    """About how many tokens a language model makes of the text; meant to be too high rather than too low.

    A sum over pieces, by script. A lower-case or capitalised word: 1, plus 1/4 per letter from the fourth on, 1/2 from
    the eighth on. Capitals 5/8 each. Single digits, marks and control characters 1, as each character in what looks
    encoded: a run of 32 and more, or of 16 with digits and capitals among them. A space 1/4, before a digit 1.
    Accented Latin letters 3/2, Cyrillic 3/4, Greek, Arabic and Hebrew 5/4. Chinese, Japanese and Korean characters and
    their punctuation 3/2. All else its UTF-8 bytes.

    The bound for Chinese: never less than half of what any byte-level tokenizer makes of it, because a character has
    three bytes; rare characters alone come near that. Against four tokenizers in wide use, whole texts in simplified
    and traditional Chinese were counted 1.2 to 2.1 times, English, code, JSON and base64 1.1 to 2 times, 24 other
    languages at least 0.98 times. Words of random letters may take 1.7 times what is counted. Appending never lowers
    the count.

    Raises:
        InvalidRequest: it is no text.
    """
    return _tokens(_quarters(check_text("the text to count", text)))


def bound_fitting(text: str, ends: Sequence[int], tokens: float) -> int:
    """How many of these beginnings of a text, given by where they end, ascending, have a `token_bound` <= `tokens`."""
    pieces = _PIECES.findall(text, 0, ends[-1]) if ends else []
    starts = [0, *accumulate(map(len, pieces))]
    costs = [0, *accumulate(map(_cost, pieces))]

    def bound(end: int) -> int:
        # A beginning has the pieces of the whole but for its last one, of which it may have a part.
        whole = bisect_right(starts, end) - 1
        return _tokens(costs[whole] + _quarters(text[starts[whole] : end]))

    return bisect_right(ends, tokens, key=bound)


def _quarters(text: str) -> int:
    return sum(map(_cost, _PIECES.findall(text)))


def _tokens(quarters: int) -> int:
    return -(-quarters // 4)
