"""Checks of single arguments: what is of its kind comes back, all else is refused with its name and value.

One check per kind, for every rule, so that no raw TypeError reaches a caller. It knows kinds (a count, a number, a
text, a list), never what an argument is for: the caller names it.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Final, TypeGuard

from citewell.errors import InvalidRequest

HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Half a character: a lone surrogate, which Python's texts may hold and no UTF-8 form can."""

_NUMBERS = (float, int, Real)  # the built-in ones first: asking an abstract class takes ten times as long
_NO_LISTS = (str, bytes, bytearray, memoryview, Mapping, set, frozenset)


class _Brief(reprlib.Repr):
    """Shows any value in a line; Python itself refuses to write out integers of thousands of digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80

    def repr_int(self, value: int, level: int) -> str:
        return super().repr_int(value, level) if value.bit_length() <= 256 else f"<{value.bit_length()} bits>"


_BRIEF = _Brief()


def shown(value: object) -> str:
    """The value as a message shows it: never more than a line of it, and never an error."""
    return _BRIEF.repr(value)


def refusal(name: str, value: object, wanted: str) -> InvalidRequest:
    """The error for an argument that can't be used: it names argument and value, and what is `wanted`."""
    return InvalidRequest(f"{name} can't be {shown(value)}", way_out=f"Give {wanted}.")


def check_count(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """A whole number within bounds; integers of numpy are integers, booleans, floats and digits in text are not.

    Raises:
        InvalidRequest: names the argument, the value and the bounds.
    """
    if not isinstance(value, bool) and isinstance(value, Integral):
        count = int(value)
        if least <= count and (most is None or count <= most):
            return count
    raise refusal(name, value, f"an integer >= {least}" if most is None else f"an integer from {least} to {most}")


def check_number(
    name: str, value: object, *, least: float = -math.inf, most: float = math.inf, wanted: str = "a finite number"
) -> float:
    """A finite number within bounds, as a float; numbers of numpy and fractions are numbers, booleans are not.

    Raises:
        InvalidRequest: names the argument, the value and what is `wanted`.
    """
    number = as_number(value)
    if math.isfinite(number) and least <= number <= most:
        return number
    raise refusal(name, value, wanted)


def as_number(value: object) -> float:
    """A real number as a float; NaN for what is none, infinity for what is too large."""
    if type(value) is float:  # most are
        return value
    if not is_number(value):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]  # is_number says that it is Real
    except OverflowError:
        return math.inf


def is_number(value: object) -> bool:
    """Whether it is a real number; NaN and infinity are, booleans are not."""
    return type(value) is float or (isinstance(value, _NUMBERS) and not isinstance(value, bool))


def all_floats(values: Collection[object]) -> TypeGuard[Collection[float]]:
    """Whether every value is a built-in float and finite: most lists of numbers are, and seen as a whole that is quick.

    What isn't may be a number all the same; to say so of each is left to the caller.
    """
    return set(map(type, values)) <= {float} and all(map(math.isfinite, values))  # type: ignore[arg-type]  # all floats


def check_text(name: str, value: object) -> str:
    """A text.

    Raises:
        InvalidRequest: it is something else.
    """
    if isinstance(value, str):
        return value
    raise refusal(name, value, "a text")


def check_list(name: str, value: object, *, wanted: str = "a list") -> list[Any]:
    """The items of anything that has an order: a list, a tuple, an array, an iterator.

    A bare string is no list of letters, a mapping no list of its keys, and a set has no order.

    Raises:
        InvalidRequest: it is something else.
    """
    if isinstance(value, Iterable) and not isinstance(value, _NO_LISTS):
        try:
            return list(value)
        except TypeError:  # an array without dimensions is iterable by its type alone
            pass
    raise refusal(name, value, wanted)


def check_texts(name: str, value: object, *, wanted: str = "a list of texts") -> list[str]:
    """A list of texts.

    Raises:
        InvalidRequest: it is no list, or holds something else.
    """
    texts = check_list(name, value, wanted=wanted)
    if set(map(type, texts)) <= {str}:  # most are, and the whole is seen in a tenth of the time
        return texts
    for text in texts:
        if not isinstance(text, str):
            raise InvalidRequest(f"{name} can't hold {shown(text)}", way_out=f"Give {wanted}.")
    return texts


def check_mapping(name: str, value: object, *, wanted: str = "a mapping with texts as keys") -> Mapping[str, Any]:
    """A mapping whose keys are texts.

    Raises:
        InvalidRequest: it is something else, or a key is.
    """
    if not isinstance(value, Mapping):
        raise refusal(name, value, wanted)
    if set(map(type, value)) <= {str}:
        return value
    for key in value:
        if not isinstance(key, str):
            raise InvalidRequest(f"{name} can't have a key {shown(key)}", way_out=f"Give {wanted}.")
    return value
