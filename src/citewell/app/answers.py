"""An answer is checked against a store: what a session was shown, and what exists within a scope (GUARD-1..5).

It brings both to the guard, which decides. It knows no rule of the guard, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from citewell.admission import check_session
from citewell.errors import InvalidRequest
from citewell.model import EvidenceBlock, GuardReport, KnownChunk
from citewell.ports import Snapshot, Store
from citewell.scope import is_visible
from citewell.sessions import SessionMemory

Scope = tuple[str, ...] | None

_AT_ONCE = 1_000


class Showing(Protocol):
    """A lookup's result: it can say what of its evidence an agent sees."""

    def would_show(self) -> Sequence[EvidenceBlock]:
        """The evidence that `to_agent` shows."""
        ...


ShownTo = Showing | Mapping[str, Any] | Iterable[str] | None


def check_answer(
    answer: str | Iterable[str],
    store: Store,
    memory: SessionMemory,
    *,
    session: str | None,
    shown: ShownTo,
    scope: Scope,
    strict: bool,
) -> GuardReport:
    """The guard's report on an answer, against one state of the store.

    Raises:
        InvalidRequest: an argument can't be used, or neither or both of `session` and `shown` are given.
        StoreError: the store can't be read.
    """
    from citewell.guard import check  # noqa: PLC0415 - a lookup cites nothing, and its patterns take long to load

    name = check_session(session)
    if (name is None) == (shown is None):
        given = "both a session and what was shown" if name is not None else "neither a session nor what was shown"
        raise InvalidRequest(
            f"a check is given {given}", way_out="Give `session`, or `shown`: a lookup's result or a list of keys."
        )
    seen = memory.shown(name, scope) if name is not None else shown
    with store.snapshot() as view:
        return check(
            answer, () if seen is None else seen, known=lambda keys: _existing(view, keys, scope), strict=strict
        )


def _existing(view: Snapshot, keys: Sequence[str], scope: Scope) -> dict[str, KnownChunk]:
    """Those of these keys that exist within the scope."""
    found: dict[str, KnownChunk] = {}
    for start in range(0, len(keys), _AT_ONCE):
        for key, chunk in view.fetch(keys[start : start + _AT_ONCE]).items():
            if is_visible(chunk.scope, scope):
                found[key] = KnownChunk(chunk.digest, chunk.text)
    return found
