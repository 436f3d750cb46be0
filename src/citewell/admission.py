"""Turns the raw arguments of a lookup into a LookupRequest, or refuses them by name.

The one place for it (SAFE-3, SAFE-4, PORT-3, POST-5, SCORE-5, API-8): behind it every value is of its type and within
its range, so that no later stage checks again. It knows no configuration (the settings come in as policies), no
store and no engine.
"""

from __future__ import annotations

import math
import re
import reprlib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from numbers import Integral, Real
from operator import itemgetter
from typing import Final, Literal, get_args

import regex

from citewell.errors import InvalidRequest, ScopeDenied
from citewell.model import LookupPolicy, Mode, Scalar, SearchPolicy

Origin = Literal["call", "settings"]

MAX_QUERY_CHARACTERS: Final = 4_000
"""A longer query is clamped: no embedder reads so much, and its terms would only dilute each other."""

MAX_COUNT: Final = 10_000
"""The largest retrieve_k and return_n."""


NO_FLOOR: Final = -1.0
"""The `min_similarity` that switches a configured floor off for one call."""


class _Unset(Enum):
    UNSET = "unset"


UNSET: Final = _Unset.UNSET
"""Nothing was given, where None could be taken for a value."""

_NUMBERS = ("retrieve_k", "return_n", "max_chunks_per_document", "min_similarity")
_SETTINGS: Origin = "settings"
_MODES: tuple[Mode, ...] = get_args(Mode)
_UNUSABLE = re.compile("[\x00\ud800-\udfff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_VISIBLE = regex.compile(r"[^\p{P}\p{Z}\p{C}\p{M}\u115f\u1160\u2800\u3164\uffa0]")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_INTEGERS = range(-(2**63), 2**63)


class _Brief(reprlib.Repr):
    """Shows any value in a line; Python itself refuses to write out integers of thousands of digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 80

    def repr_int(self, value: int, level: int) -> str:
        return super().repr_int(value, level) if value.bit_length() <= 256 else f"<{value.bit_length()} bits>"


_BRIEF = _Brief()


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupRequest:
    """An admitted lookup.

    Attributes:
        query: not blank, at most MAX_QUERY_CHARACTERS, no NUL, no lone surrogates.
        mode: of the search.
        category: soft; None = unknown.
        scope: sorted labels of the caller; None = everything, () = nothing.
        where: (field, value), sorted by field.
        policy: the settings, with what the call said put in.
        origins: where each number in `policy` came from.
        notes: what was done to the arguments, one sentence each.
    """

    query: str
    mode: Mode
    category: str | None = None
    scope: tuple[str, ...] | None = None
    where: tuple[tuple[str, Scalar], ...] = ()
    policy: LookupPolicy
    origins: Mapping[str, Origin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def admit(
    query: object,
    *,
    category: object = None,
    scope: object = None,
    where: object = None,
    mode: object = None,
    retrieve_k: object = None,
    return_n: object = None,
    min_similarity: object = UNSET,
    max_chunks_per_document: object = None,
    policy: LookupPolicy,
    search: SearchPolicy,
    require_scope: bool = False,
) -> LookupRequest:
    """Check every argument of a lookup; None (for `min_similarity` also UNSET) means that the call doesn't give it.

    A configured floor is switched off for one call with `min_similarity=-1`: every similarity is at least that, so it
    reads as "no floor", and lets hits without a similarity pass too.

    Raises:
        InvalidRequest: an argument can't be used; the message names it and its value.
        ScopeDenied: `require_scope`, and no scope was given.
    """
    text, notes = _admit_query(query)
    label = check_category(category)
    if category is not None and label is None:
        notes.append("a blank category counts as none")
    labels = admit_scope(scope, require_scope=require_scope)
    effective, origins = _admit_numbers(policy, retrieve_k, return_n, max_chunks_per_document, min_similarity)
    if min_similarity == NO_FLOOR:
        notes.append("min_similarity -1: no floor for this call")
    return LookupRequest(
        query=text,
        mode=_admit_mode(mode, search.mode),
        category=label,
        scope=labels,
        where=_admit_where(where),
        policy=effective,
        origins=origins,
        notes=tuple(notes),
    )


def admit_scope(scope: object, *, require_scope: bool = False) -> tuple[str, ...] | None:
    """The labels that a caller holds, as `check_labels` gives them; for calls that take a scope and nothing else.

    Raises:
        InvalidRequest: as `check_labels`.
        ScopeDenied: there is none, and `require_scope`. An empty list is a scope, within which there is nothing.
    """
    labels = check_labels(scope)
    if labels is None and require_scope:
        raise ScopeDenied("this store answers within a scope only, and the call has none", way_out="Give `scope`.")
    return labels


def check_category(value: object) -> str | None:
    """A category as it is compared: NFC-normalised and stripped; None, blank text and an empty list are "no category".

    A list of one label is that label. Ingestion calls this for documents, lookups for callers.

    Raises:
        InvalidRequest: it is something else, or holds a lone surrogate.
    """
    if isinstance(value, (list, tuple)) and len(value) <= 1:
        value = value[0] if value else None
    if value is None:
        return None
    if not isinstance(value, str) or _SURROGATE.search(value):
        raise InvalidRequest(f"a category can't be {_shown(value)}", way_out="Give one text, or nothing.")
    return unicodedata.normalize("NFC", value).strip() or None


def check_labels(value: object) -> tuple[str, ...] | None:
    """Labels of a scope, sorted by code point, each once; None stays None, an empty list is () (SAFE-3).

    A bare string is one label. Labels are kept exactly: neither stripped nor normalised. Ingestion calls this for the
    labels that a document bears, lookups for those that a caller holds.

    Raises:
        InvalidRequest: it is no list of labels, or one is blank, no text, or holds a lone surrogate.
    """
    if value is None:
        return None
    labels = [value] if isinstance(value, str) else value
    if not isinstance(labels, (Sequence, Set)) or isinstance(labels, (bytes, bytearray, memoryview)):
        raise InvalidRequest(
            f"a scope can't be {_shown(value)}", way_out="Give a list of labels, or one label as text."
        )
    return tuple(sorted({_label(label) for label in labels}))


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse argument names that a tool or an endpoint doesn't know (API-8).

    Raises:
        InvalidRequest: names every unknown one, and those that are known.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        names = ", ".join(map(_shown, unknown))
        raise InvalidRequest(f"unknown argument {names}", way_out=f"Known are: {', '.join(known)}.")


def check_count(name: str, value: object, *, least: int = 1, most: int = MAX_COUNT) -> int:
    """A whole number within bounds; integers of numpy are integers, booleans, floats and digits in text are not.

    Raises:
        InvalidRequest: names the argument, the value and the bounds.
    """
    count = int(value) if not isinstance(value, bool) and isinstance(value, Integral) else least - 1
    if not least <= count <= most:
        raise InvalidRequest(f"{name} can't be {_shown(value)}", way_out=f"Give an integer from {least} to {most}.")
    return count


def _admit_query(query: object) -> tuple[str, list[str]]:
    if not isinstance(query, str):
        raise InvalidRequest(f"a query must be a text, not {_shown(query)}", way_out="Give the question as text.")
    usable = _UNUSABLE.sub("", query)
    notes = ["NUL characters and lone surrogates were left out of the query"] if usable != query else []
    whole = usable.strip()
    kept = _clamp(whole)
    if not _VISIBLE.search(kept):
        raise InvalidRequest(
            f"the query {_shown(query)} holds nothing to search for",
            way_out="Give words: a question, a name or a code.",
        )
    if kept != whole:
        notes.append(f"the query was too long: its first {len(kept)} of {len(whole)} characters were kept")
    return kept, notes


def _clamp(text: str) -> str:
    """The text's beginning, cut at white space; inside a word, between characters, where the last one is very long."""
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text
    start = text[: MAX_QUERY_CHARACTERS + 1]
    words = start.removesuffix(start.split()[-1]).rstrip()
    if len(words) >= MAX_QUERY_CHARACTERS // 2:
        return words
    characters: list[str] = regex.findall(r"\X", start)
    return "".join(characters[:-1]) or start[:MAX_QUERY_CHARACTERS]


def _admit_mode(mode: object, configured: Mode) -> Mode:
    if mode is None:
        return configured
    for known in _MODES:
        if isinstance(mode, str) and mode == known:
            return known
    raise InvalidRequest(f"there is no mode {_shown(mode)}", way_out=f"Choose one of {', '.join(_MODES)}.")


def _admit_numbers(
    policy: LookupPolicy, retrieve_k: object, return_n: object, cap: object, floor: object
) -> tuple[LookupPolicy, dict[str, Origin]]:
    """The policy with what the call gives put in, and where each of the four numbers came from."""
    effective, origins = policy, dict.fromkeys(_NUMBERS, _SETTINGS)
    if retrieve_k is not None:
        effective, origins["retrieve_k"] = replace(effective, retrieve_k=check_count("retrieve_k", retrieve_k)), "call"
    if return_n is not None:
        effective, origins["return_n"] = replace(effective, return_n=check_count("return_n", return_n)), "call"
    if cap is not None:
        count = check_count("max_chunks_per_document", cap, least=0)
        effective, origins["max_chunks_per_document"] = replace(effective, max_chunks_per_document=count), "call"
    if floor is not None and floor is not UNSET:
        effective, origins["min_similarity"] = replace(effective, min_similarity=_floor(floor)), "call"
    _check_width(effective, origins)
    return effective, origins


def _floor(value: object) -> float | None:
    """The threshold; None for NO_FLOOR."""
    number = _number(value)
    if not -1 <= number <= 1:
        raise InvalidRequest(
            f"min_similarity can't be {_shown(value)}", way_out="Give a number from -1 (no floor) to 1, or nothing."
        )
    return None if number == NO_FLOOR else number


def _check_width(policy: LookupPolicy, origins: Mapping[str, Origin]) -> None:
    if policy.retrieve_k < policy.return_n:
        raise InvalidRequest(
            f"retrieve_k {policy.retrieve_k} (from the {origins['retrieve_k']}) is less than "
            f"return_n {policy.return_n} (from the {origins['return_n']})",
            way_out="Each path must find at least as many as are to be returned: raise the one or lower the other.",
        )


def _admit_where(where: object) -> tuple[tuple[str, Scalar], ...]:
    if where is None:
        return ()
    if not isinstance(where, Mapping):
        raise InvalidRequest(
            f"where can't be {_shown(where)}", way_out="Give fields and the value that each must equal."
        )
    return tuple(sorted(((_field(name), _scalar(name, value)) for name, value in where.items()), key=itemgetter(0)))


def _field(name: object) -> str:
    if not isinstance(name, str) or not _FIELD.fullmatch(name):
        raise InvalidRequest(
            f"where can't have a field {_shown(name)}",
            way_out="Field names are letters, digits, '_', '.' and '-', and begin with a letter or '_'.",
        )
    return name


def _scalar(name: object, value: object) -> Scalar:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and not _SURROGATE.search(value):
        return value
    if isinstance(value, Integral):
        if int(value) in _INTEGERS:
            return int(value)
    elif math.isfinite(number := _number(value)):
        return number
    raise InvalidRequest(
        f"where can't compare {_shown(name)} with {_shown(value)}",
        way_out="Give a text, an integer of 64 bits, a finite number, true or false.",
    )


def _number(value: object) -> float:
    """A real number as a float; NaN for what is none, infinity for what is too large."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _label(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or _SURROGATE.search(value):
        raise InvalidRequest(
            f"a scope can't hold the label {_shown(value)}", way_out="Labels are text that is not blank."
        )
    return value


def _shown(value: object) -> str:
    """The value as a message shows it: never more than a line of it."""
    return _BRIEF.repr(value)
