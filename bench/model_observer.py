"""Looks at a store from outside and compares it with the model: every path, the catalogue, each key, and the files.

It makes nothing and changes nothing; the first difference is raised.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path

from citewell import Document, Knowledge, LookupResult, Settings
from citewell.errors import UnknownEvidence
from citewell.testing.fakes import HashEmbedder
from model_world import ANCHOR, Expected, Held, World

MOST = 1_000
_PATIENT = Settings.of({"store.timeout": 300, "retrieval.search.timeout": 300})
"""A busy machine is no difference."""
CATEGORIES = (None, "ops", "hr", 'it\'s "odd"')
SCOPES = (None, None, ("t1",), ("t1", "t2"), ("t3",))
TEAMS = (None, "storage", "network")


class DifferenceError(Exception):
    """The store and the model disagree."""


def same(what: str, found: object, expected: object) -> None:
    """Compare; dicts and sets are reported by what differs."""
    if found == expected:
        return
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
        detail = "; ".join(f"{key}: found {found.get(key)!r}, expected {expected.get(key)!r}" for key in keys[:3])
        raise DifferenceError(f"{what} differ in {len(keys)}: {detail}")
    if isinstance(found, set) and isinstance(expected, set):
        raise DifferenceError(
            f"{what}: lacks {sorted(expected - found)[:5]}, has besides {sorted(found - expected)[:5]}"
        )
    raise DifferenceError(f"{what}: found {found!r}, expected {expected!r}")


class Observer:
    """Looks at a store through its public face, and at the files of one of our own.

    Args:
        location: a directory of the embedded engine, or as text that of another.
    """

    def __init__(self, location: Path | str) -> None:
        self.location = location
        self.open()

    def everything(
        self,
        query: str = ANCHOR,
        *,
        category: str | None = None,
        scope: str | None = None,
        where: dict[str, str | int | float | bool] | None = None,
    ) -> LookupResult:
        """A lookup that no width, cap or floor narrows."""
        return self.knowledge.lookup(
            query,
            category=category,
            scope=scope,
            where=where,
            mode="hybrid",
            retrieve_k=MOST,
            return_n=MOST,
            max_chunks_per_document=0,
        )

    def paths(self, result: LookupResult) -> dict[str, set[str]]:
        """The keys that each path found."""
        found: dict[str, set[str]] = {"dense": set(), "dense_filtered": set(), "lexical": set()}
        for block in result.evidence:
            for reason in block.reasons:
                found[reason.path].add(block.evidence_key)
        return found

    def check(self, world: World, chance: random.Random, gone: Iterable[str]) -> None:
        """Every path, the catalogue and each key say what the model says."""
        expected = world.chunks
        self._check_paths(expected, chance)
        self._check_catalogue(world, expected)
        self._check_keys(world, expected)
        for word in gone:
            holders = {key for key, chunk in expected.items() if word in chunk.text.split()}
            same(f"chunks with {word!r}", self.paths(self.everything(word))["lexical"], holders)

    def _check_paths(self, expected: dict[str, Expected], chance: random.Random) -> None:
        category = chance.choice([name for name in CATEGORIES if name])
        result = self.everything(category=category)
        same("degraded", result.degraded, ())
        shown = {
            block.evidence_key: (block.text, block.title, block.category, block.metadata.get("team"))
            for block in result.evidence
        }
        same("evidence", shown, {key: chunk.shown for key, chunk in expected.items()})
        same("evidence keys", len(result.evidence), len(shown))
        paths = self.paths(result)
        same("dense", paths["dense"], set(expected))
        same("lexical", paths["lexical"], set(expected))
        within = {key for key, chunk in expected.items() if chunk.category == category}
        same(f"dense within {category!r}", paths["dense_filtered"], within)
        self._check_filters(expected, chance)

    def _check_filters(self, expected: dict[str, Expected], chance: random.Random) -> None:
        label, team = chance.choice(["t1", "t2", "t3"]), chance.choice([name for name in TEAMS if name])
        labelled = {key for key, chunk in expected.items() if label in (chunk.scope or ())}
        tagged = {key for key, chunk in expected.items() if chunk.team == team}
        for name, result, keys in (
            (f"scope {label}", self.everything(scope=label), labelled),
            (f"where team = {team}", self.everything(where={"team": team}), tagged),
        ):
            found = self.paths(result)
            same(f"dense with {name}", found["dense"], keys)
            same(f"lexical with {name}", found["lexical"], keys)

    def _check_catalogue(self, world: World, expected: dict[str, Expected]) -> None:
        shown = {
            info.doc_id: (info.title, info.category, info.scope, info.chunks) for info in self.knowledge.documents()
        }
        same(
            "catalogue",
            shown,
            {
                doc_id: (held.page.title, held.category, held.scope, len(held.page.chunks))
                for doc_id, held in world.held.items()
            },
        )
        status = self.knowledge.status()
        same("status", (status.documents, status.chunks), (len(world.held), len(expected)))

    def _check_keys(self, world: World, expected: dict[str, Expected]) -> None:
        same("show", {key: self.knowledge.show(key).text for key in expected}, {k: c.text for k, c in expected.items()})
        for doc_id, most in world.known.items():
            held = len(world.held[doc_id].page.chunks) if doc_id in world.held else 0
            for index in {held, max(held, most - 1)}:
                same(f"show {doc_id}#chunk-{index}", self.shown(f"{doc_id}#chunk-{index}"), None)

    def shown(self, key: str) -> str | None:
        """A chunk's text; None if there is none."""
        try:
            return self.knowledge.show(key).text
        except UnknownEvidence:
            return None

    def check_deeply(self, world: World) -> None:
        """`verify` finds nothing, no table holds a row too many, and vectors are those of a store filled in one go."""
        same("findings", self.knowledge.verify().findings, ())
        chunks = len(world.chunks)
        if isinstance(self.location, Path):
            same("rows", rows_of(self.location), {"documents": len(world.held), "chunks": chunks, "features": chunks})
        own = self.similarities()
        with tempfile.TemporaryDirectory() as folder:
            fresh = Observer(Path(folder) / "fresh")
            fresh.knowledge.ingest_documents([as_document(doc_id, held) for doc_id, held in world.held.items()])
            same("similarities", own, fresh.similarities())
            fresh.close()

    def similarities(self) -> dict[str, tuple[float, ...]]:
        """Of every chunk to a few queries."""
        found: dict[str, tuple[float, ...]] = {}
        for query in (ANCHOR, "what holds here", "says begins"):
            for block in self.everything(query).evidence:
                found[block.evidence_key] = (*found.get(block.evidence_key, ()), round(block.similarity or 0, 5))
        return found

    def reopen(self) -> None:
        """Close the store and open it again."""
        self.close()
        self.open()

    def open(self) -> None:
        """Take hold of the store."""
        self.knowledge = Knowledge.open(self.location, settings=_PATIENT, embedder=HashEmbedder())

    def close(self) -> None:
        """Let go of the store."""
        self.knowledge.close()


def rows_of(location: Path) -> dict[str, int]:
    """How many rows SQLite holds, by table."""
    connection = sqlite3.connect(location / "citewell.db")
    try:
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - constants
            for table in ("documents", "chunks", "features")
        }
    finally:
        connection.close()


def as_document(doc_id: str, held: Held) -> Document:
    """The same contents through the API."""
    metadata = {} if held.page.team is None else {"team": held.page.team}
    return Document(doc_id, held.page.text, category=held.category, scope=held.scope, metadata=metadata)
