"""Every argument of a lookup, checked, as one LookupRequest; what is not given comes from the policies.

It knows what each argument means and how they depend on each other; texts and labels are checked beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from citewell.admission.labels import admit_scope, check_category, check_session
from citewell.admission.query import admit_query
from citewell.admission.where import admit_where
from citewell.checks import check_count, check_number, shown
from citewell.errors import InvalidRequest
from citewell.model import LookupPolicy, Mode, Scalar, SearchPolicy

Origin = Literal["call", "settings"]

MAX_COUNT: Final = 10_000
"""The largest retrieve_k and return_n."""

MAX_NEIGHBOURS: Final = 50
"""The most neighbours on each side of a hit; a budget shows fewer."""

OFF: Final = "off"
"""The `min_similarity` that switches a configured floor off for one call; None means that the call says nothing."""

_NUMBERS = ("retrieve_k", "return_n", "max_chunks_per_document", "min_similarity")
_SETTINGS: Origin = "settings"
_MODES: tuple[Mode, ...] = get_args(Mode)


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
        session: whose memory counts; None = none.
        neighbours: how many chunks before and after each hit to show beside it.
        repeat: whether to show again what the session was shown before.
    """

    query: str
    mode: Mode
    category: str | None = None
    scope: tuple[str, ...] | None = None
    where: tuple[tuple[str, Scalar], ...] = ()
    policy: LookupPolicy
    origins: Mapping[str, Origin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    session: str | None = None
    neighbours: int = 0
    repeat: bool = False


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
    session: object = None,
    neighbours: object = 0,
    repeat: object = False,
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
    text, notes = admit_query(query)
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
        where=admit_where(where),
        policy=effective,
        origins=origins,
        notes=tuple(notes),
        session=check_session(session),
        neighbours=check_count("neighbours", neighbours, least=0, most=MAX_NEIGHBOURS),
        repeat=_admit_repeat(repeat),
    )


def _admit_repeat(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest(f"repeat can't be {shown(value)}", way_out="Give true or false.")
    return value


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
