"""Random signs and orders that are the same for ever: the stream of numpy's RandomState, without loading it.

RandomState's stream is frozen, and so is this one: a Mersenne Twister (Matsumoto and Nishimura 1998) begun from one
number, of whose 32-bit draws as many low bits are kept as are needed, and those beyond the range thrown away. Loading
numpy.random takes a single command longer than everything else that it does with the stream. It knows no vector.
"""

from __future__ import annotations

import random

_WORDS = 624
_BITS = 32
_ALL = (1 << _BITS) - 1
_FACTOR = 1_812_433_253
_VERSION = 3
"""Of the states that Python's generator takes."""


class Chance:
    """The stream that begins with this number."""

    def __init__(self, seed: int) -> None:
        words = [seed]
        for place in range(1, _WORDS):
            before = words[-1]
            words.append((_FACTOR * (before ^ before >> 30) + place) & _ALL)
        self._twister = random.Random()  # noqa: S311 - nothing here is a secret
        self._twister.setstate((_VERSION, (*words, _WORDS), None))

    def signs(self, count: int) -> list[int]:
        """So many of -1 and 1; as `RandomState.choice` of the two."""
        return [2 * self._up_to(1) - 1 for _ in range(count)]

    def order(self, count: int) -> list[int]:
        """The numbers below it in some order; as `RandomState.permutation`."""
        numbers = list(range(count))
        for place in range(count - 1, 0, -1):
            other = self._up_to(place)
            numbers[place], numbers[other] = numbers[other], numbers[place]
        return numbers

    def _up_to(self, most: int) -> int:
        mask = (1 << most.bit_length()) - 1
        while (drawn := self._twister.getrandbits(_BITS) & mask) > most:
            pass
        return drawn
