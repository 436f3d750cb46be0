"""What sessions were shown (see citewell.ports.SessionStore), in a collection that is made at the first record.

A row per session, scope and evidence key, and one per session and scope that says when it was used last. So processes
that record at the same time on one server lose nothing of each other's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from citewell.adapters.milvus.bodies import to_json
from citewell.adapters.milvus.catalogue import pages
from citewell.adapters.milvus.filters import literal, literals, token
from citewell.adapters.milvus.schema import MAX_FIELD_BYTES, MAX_WIDTH, make_sessions
from citewell.errors import InvalidRequest
from citewell.model import SessionInfo, SessionPolicy, Shown

if TYPE_CHECKING:
    from citewell.adapters.milvus.client import Client

_Owner = tuple[str, tuple[str, ...] | None]
_AT_ONCE = 500
_FIELDS = ["id", "at", "body"]
_PAD = [0.0, 1.0]


class MilvusSessions:
    """The sessions of one store; the store opens and closes the connection."""

    def __init__(self, client: Client, collection: str) -> None:
        self._client, self._name = client, collection
        self._turn = threading.Lock()
        self._is_there = False

    def shown(self, session: str, scope: tuple[str, ...] | None, *, since: float) -> Mapping[str, Shown]:
        """What it was shown at `since` or later."""
        entries = self._entries(_entries_of(session, scope), few=True)
        return {entry.evidence_key: entry for _, _, entry in entries if entry.at >= since}

    def record(
        self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown], *, policy: SessionPolicy
    ) -> None:
        """Remember these, and forget what is beyond the policy."""
        if not shown:
            return
        latest = {entry.evidence_key: entry for entry in shown}
        now = max(entry.at for entry in shown)
        with self._turn:
            self._make()
            self._put(session, scope, list(latest.values()))
            self._remove(f"at < {now - policy.max_age_s!r}")
            self._forget_most_entries(session, scope, policy.max_items)
            self._forget_most_sessions(policy.max_sessions)

    def sessions(self) -> Iterator[SessionInfo]:
        """All of them, ordered by session id, then scope (None first)."""
        held: dict[_Owner, list[float]] = {}
        for _, owner, entry in self._entries('kind == "entry"'):
            held.setdefault(owner, []).append(entry.at)
        infos = [SessionInfo(session, scope, len(times), max(times)) for (session, scope), times in held.items()]
        return iter(sorted(infos, key=lambda info: _order((info.session, info.scope))))

    def forget(self, session: str) -> int:
        """Forget it in every scope."""
        chosen = f"session == {literal(token(session))}"
        with self._turn:
            count = sum(1 for _ in self._entries(f'kind == "entry" and {chosen}'))
            if self._there():
                self._remove(chosen)
        return count

    def _put(self, session: str, scope: tuple[str, ...] | None, shown: Sequence[Shown]) -> None:
        owner = _owner(session, scope)
        used = max([entry.at for entry in shown] + [at for _, at in self._used([owner])])
        rows = [self._row("entry", session, scope, entry) for entry in shown]
        rows.append(self._row("owner", session, scope, Shown("", "", used)))
        self._client.call("upsert", self._name, rows)

    def _row(self, kind: str, session: str, scope: tuple[str, ...] | None, entry: Shown) -> dict[str, object]:
        owner = _owner(session, scope)
        body = to_json([session, scope, entry.evidence_key, entry.digest, entry.at, entry.chars])
        if len(body.encode("utf-8", "replace")) > MAX_FIELD_BYTES:
            raise InvalidRequest(
                "a session, its scope and an evidence key are together longer than 65,535 bytes",
                way_out="Give the session a shorter id.",
            )
        id_ = token(f"{kind}\x1f{owner}\x1f{entry.evidence_key}")
        return {
            "id": id_, "kind": kind, "owner": owner, "session": token(session), "at": entry.at, "body": body,
            "pad": _PAD,
        }  # fmt: skip

    def _forget_most_entries(self, session: str, scope: tuple[str, ...] | None, most: int) -> None:
        found = self._entries(_entries_of(session, scope), few=True)
        held = sorted(found, key=lambda entry: (-entry[2].at, entry[2].evidence_key))
        self._remove_ids([id_ for id_, _, _ in held[most:]])

    def _forget_most_sessions(self, most: int) -> None:
        count = self._client.call(
            "query", self._name, filter='kind == "owner"', output_fields=["count(*)"], consistency_level="Session"
        )
        if int(count[0]["count(*)"]) <= most:
            return
        used = sorted(self._used(), key=lambda found: (-found[1], _order(found[0])))
        for owner, _ in used[most:]:
            self._remove(f"owner == {literal(_owner(*owner))}")

    def _used(self, owners: Sequence[str] | None = None) -> Iterator[tuple[_Owner, float]]:
        """When sessions were used last."""
        only = "" if owners is None else f" and owner in {literals(owners)}"
        for row in self._rows(f'kind == "owner"{only}', few=owners is not None):
            owner, entry = _read(row)
            yield owner, entry.at

    def _entries(self, chosen: str, *, few: bool = False) -> Iterator[tuple[str, _Owner, Shown]]:
        """Primary key, session and entry of each row that an expression matches."""
        if self._there():
            for row in self._rows(chosen, few=few):
                yield (row["id"], *_read(row))

    def _rows(self, chosen: str, *, few: bool) -> Iterator[Any]:
        """Rows of one session (`few`) are read at once: on a server, pages wait for what every process wrote."""
        if not few:
            for rows in pages(self._client, self._name, chosen, _FIELDS):
                yield from rows
            return
        yield from self._client.call(
            "query", self._name, filter=chosen, output_fields=_FIELDS, limit=MAX_WIDTH, consistency_level="Session"
        )

    def _remove(self, chosen: str) -> None:
        self._client.call("delete", self._name, filter=chosen)

    def _remove_ids(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            self._remove(f"id in {literals(ids[start : start + _AT_ONCE])}")

    def _there(self) -> bool:
        if not self._is_there and self._client.has(self._name):
            self._client.load(self._name)
            self._is_there = True
        return self._is_there

    def _make(self) -> None:
        if not self._there():
            make_sessions(self._client, self._name)
            self._there()


def _owner(session: str, scope: tuple[str, ...] | None) -> str:
    return token(to_json([session, scope]))


def _entries_of(session: str, scope: tuple[str, ...] | None) -> str:
    return f'kind == "entry" and owner == {literal(_owner(session, scope))}'


def _order(owner: _Owner) -> tuple[str, bool, tuple[str, ...]]:
    session, scope = owner
    return session, scope is not None, scope or ()


def _read(row: Any) -> tuple[_Owner, Shown]:  # noqa: ANN401 - a mapping of pymilvus's own
    session, scope, key, digest, at, chars = json.loads(row["body"])
    return (session, None if scope is None else tuple(scope)), Shown(key, digest, at, chars)
