"""Reduces a word to its Snowball stem; knows nothing of identifiers, stop words or scripts.

The library is loaded at the first use. Its stemmers keep state while they work, so each one is used by one thread at
a time: they are taken from a pool and put back, which needs no lock and makes as many as there are threads at work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from citewell.checks import shown
from citewell.errors import ConfigError


def stemmer(algorithm: object) -> Callable[[str], str]:
    """A function from a case-folded word to its stem, safe to call from several threads; None -> the word itself.

    Raises:
        ConfigError: Snowball has no such algorithm.
    """
    if algorithm is None:
        return str
    import Stemmer  # noqa: PLC0415 - loaded at the first use

    if not isinstance(algorithm, str) or algorithm not in Stemmer.algorithms():
        raise ConfigError(
            f"there is no stemmer {shown(algorithm)}",
            way_out=f"Choose one of {', '.join(sorted(Stemmer.algorithms()))}, or none.",
        )
    pool: list[Any] = []

    def stem(word: str) -> str:
        try:
            one = pool.pop()
        except IndexError:
            one = Stemmer.Stemmer(algorithm, 0)
        stemmed: str = one.stemWord(word)
        pool.append(one)
        return stemmed

    return stem
