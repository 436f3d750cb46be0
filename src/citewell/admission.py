"""Turns the raw arguments of a lookup into a LookupRequest, or refuses them by name.

The one place for it (SAFE-3, SAFE-4, PORT-3, POST-5, SCORE-5, API-8): behind it every value is of its type and within
its range, so that no later stage checks again. It knows no configuration (the settings come in as policies), no
store and no engine.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from numbers import Integral
from operator import itemgetter
from typing import Final, Literal, get_args

import regex

from citewell.checks import as_number, check_count, check_list, check_number, shown
from citewell.errors import InvalidRequest, ScopeDenied
from citewell.model import LookupPolicy, Mode, Scalar, SearchPolicy

Origin = Literal["call", "settings"]

MAX_QUERY_CHARACTERS: Final = 4_000
"""A longer query is clamped: no embedder reads so much, and its terms would only dilute each other."""

MAX_COUNT: Final = 10_000
"""The largest retrieve_k and return_n."""

OFF: Final = "off"
"""The `min_similarity` that switches a configured floor off for one call; None means that the call says nothing."""

_NUMBERS = ("retrieve_k", "return_n", "max_chunks_per_document", "min_similarity")
_SETTINGS: Origin = "settings"
_MODES: tuple[Mode, ...] = get_args(Mode)
_UNUSABLE = re.compile("[\x00\ud800-\udfff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SAYING = regex.compile(
    r"[[\p{L}\p{N}]--[\u115f\u1160\u3164\uffa0]]"  # a letter or number; some letters of Hangul only fill space
    r"|[\p{So}&&\p{Extended_Pictographic}]|\p{Regional_Indicator}",  # an emoji
    regex.V1,
)
_FIELD = regex.compile(r"[\p{L}_][\p{L}\p{M}\p{N}_.-]*")
_INTEGERS = range(-(2**63), 2**63)


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
    min_similarity: object = None,
    max_chunks_per_document: object = None,
    policy: LookupPolicy,
    search: SearchPolicy,
    require_scope: bool = False,
) -> LookupRequest:
    """Check every argument of a lookup; None means that the call doesn't give it.

    A query says something if it holds a letter, a number or an emoji; punctuation, symbols (of mathematics, money and
    markup, frames, arrows) and what can't be seen say nothing. A query longer than MAX_QUERY_CHARACTERS is clamped to
    its beginning, or, where that says nothing, to what follows from the first character that does.

    `min_similarity` is a floor in [-1, 1], -1 one like any other: a hit without a similarity is below it (SCORE-5).
    A configured floor is switched off for one call with "off".

    Fields of `where` are named in letters of any script, digits, "_", "." and "-", and compared exactly as written,
    for metadata is stored as written.

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
    if _is_off(min_similarity):
        notes.append("min_similarity off: no floor for this call")
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
        raise InvalidRequest(f"a category can't be {shown(value)}", way_out="Give one text, or nothing.")
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
        raise InvalidRequest(f"a scope can't be {shown(value)}", way_out="Give a list of labels, or one label as text.")
    return tuple(sorted({_label(label) for label in labels}))


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse argument names that a tool or an endpoint doesn't know (API-8).

    Raises:
        InvalidRequest: names every unknown one, and those that are known.
    """
    names = check_list("the names of arguments", given)
    unknown = sorted({shown(name) for name in names if not isinstance(name, str) or name not in known})
    if unknown:
        raise InvalidRequest(f"unknown argument {', '.join(unknown)}", way_out=f"Known are: {', '.join(known)}.")


def _admit_query(query: object) -> tuple[str, list[str]]:
    if not isinstance(query, str):
        raise InvalidRequest(f"a query must be a text, not {shown(query)}", way_out="Give the question as text.")
    usable = _UNUSABLE.sub("", query)
    notes = ["NUL characters and lone surrogates were left out of the query"] if usable != query else []
    whole = usable.strip()
    kept = _clamp(whole)
    first = _SAYING.search(whole)
    if first is None:
        raise InvalidRequest(
            f"the query {shown(query)} holds nothing to search for",
            way_out="Give words: a question, a name or a code.",
        )
    if first.start() < len(kept):
        part = f"its first {len(kept)} of {len(whole)} characters"
    else:
        kept = _clamp(whole[first.start() :])
        part = f"characters {first.start() + 1} to {first.start() + len(kept)} of {len(whole)}"
    if kept != whole:
        notes.append(f"the query was too long: {part} were kept")
    return kept, notes


def _clamp(text: str) -> str:
    """A text's beginning, cut at white space; inside a word, between characters, where the last one is very long."""
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
    raise InvalidRequest(f"there is no mode {shown(mode)}", way_out=f"Choose one of {', '.join(_MODES)}.")


def _admit_numbers(
    policy: LookupPolicy, retrieve_k: object, return_n: object, cap: object, floor: object
) -> tuple[LookupPolicy, dict[str, Origin]]:
    """The policy with what the call gives put in, and where each of the four numbers came from."""
    effective, origins = policy, dict.fromkeys(_NUMBERS, _SETTINGS)
    if retrieve_k is not None:
        effective, origins["retrieve_k"] = replace(effective, retrieve_k=_width("retrieve_k", retrieve_k)), "call"
    if return_n is not None:
        effective, origins["return_n"] = replace(effective, return_n=_width("return_n", return_n)), "call"
    if cap is not None:
        count = _width("max_chunks_per_document", cap, least=0)
        effective, origins["max_chunks_per_document"] = replace(effective, max_chunks_per_document=count), "call"
    if floor is not None:
        effective, origins["min_similarity"] = replace(effective, min_similarity=_floor(floor)), "call"
    _check_width(effective, origins)
    return effective, origins


def _width(name: str, value: object, *, least: int = 1) -> int:
    return check_count(name, value, least=least, most=MAX_COUNT)


def _floor(value: object) -> float | None:
    """The threshold; None for OFF."""
    if _is_off(value):
        return None
    return check_number("min_similarity", value, least=-1, most=1, wanted="a number from -1 to 1, or 'off' for none")


def _is_off(floor: object) -> bool:
    return isinstance(floor, str) and floor == OFF


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
    if isinstance(value, str) and not _SURROGATE.search(value):
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


def _label(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or _SURROGATE.search(value):
        raise InvalidRequest(
            f"a scope can't hold the label {shown(value)}", way_out="Labels are text that is not blank."
        )
    return value
