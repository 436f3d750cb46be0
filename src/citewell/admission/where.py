"""Exact metadata filters: field names and values that can be compared; it knows no engine's filter language."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral
from operator import itemgetter

import regex

from citewell.checks import HALF, as_number, shown
from citewell.errors import InvalidRequest
from citewell.model import Scalar

_FIELD = regex.compile(r"[\p{L}_][\p{L}\p{M}\p{N}_.-]*")
_INTEGERS = range(-(2**63), 2**63)


def admit_where(where: object) -> tuple[tuple[str, Scalar], ...]:
    """(field, value), sorted by field; see `admit`."""
    if where is None:
        return ()
    if not isinstance(where, Mapping):
        raise InvalidRequest(
            f"where can't be {shown(where)}", way_out="Give fields and the value that each must equal."
        )
    return tuple(sorted(((_field(name), _scalar(name, value)) for name, value in where.items()), key=itemgetter(0)))


def _field(name: object) -> str:
    if not isinstance(name, str) or not _FIELD.fullmatch(name):
        raise InvalidRequest(
            f"where can't have a field {shown(name)}",
            way_out="Field names are letters, digits, '_', '.' and '-', and begin with a letter or '_'.",
        )
    return name


def _scalar(name: object, value: object) -> Scalar:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and not HALF.search(value):
        return value
    if isinstance(value, Integral):
        if int(value) in _INTEGERS:
            return int(value)
    elif math.isfinite(number := as_number(value)):
        return number
    raise InvalidRequest(
        f"where can't compare {shown(name)} with {shown(value)}",
        way_out="Give a text, an integer of 64 bits, a finite number, true or false.",
    )
