"""Chunks by their names, without a search: one by its evidence key, with those around it, or a document's one by one.

What is read comes as a lookup's result, so that it is shown, cited and remembered as what was found is (GUARD-1). It
knows no search, no ranking and no engine; scope is checked here as `show` checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from citewell import context
from citewell.checks import shown
from citewell.errors import UnknownEvidence
from citewell.fetched import fetched
from citewell.identity import format_key, normalize_id, parse_key
from citewell.lookup import LookupResult
from citewell.model import Budget, DocumentRecord, EvidenceBlock, StoredChunk, StoredDocument, Trace
from citewell.ports import Snapshot, Store
from citewell.scope import is_visible
from citewell.sessions import SessionMemory

Scope = tuple[str, ...] | None

_WHOLE_DOCUMENT = Budget(max_items=None, max_chars_per_item=None, max_chars=400_000, max_tokens=None)
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads chunks of one store; safe to use from several threads.

    Attributes:
        store: whose chunks.
        memory: of sessions.
        budget: of what a session is shown; no limit for one passage holds here, for it was asked for by name.
        count_tokens: what the budget counts tokens with; None = a bound by script.
    """

    store: Store
    memory: SessionMemory
    budget: Budget
    count_tokens: Callable[[str], float] | None = None

    def block(self, evidence_key: str, scope: Scope) -> EvidenceBlock:
        """One chunk.

        Raises:
            UnknownEvidence: there is none within the scope; outside it reads the same.
        """
        with self.store.snapshot() as view:
            return _block(view, evidence_key, scope)

    def chunk(self, evidence_key: str, *, scope: Scope, session: str | None, neighbours: int) -> LookupResult:
        """One chunk, and those up to `neighbours` before and after it, in reading order (CONTEXT-1, CONTEXT-2).

        Raises:
            UnknownEvidence: as `block`.
        """
        with self.store.snapshot() as view:
            block = _block(view, evidence_key, scope)
            around = _visible(view, context.wanted([block], neighbours), scope)
        beside = {key: chunk.as_block("neighbour") for key, chunk in around.items()}
        evidence = context.place([block], beside, neighbours)
        budget = replace(self.budget, max_items=None, max_chars_per_item=None)
        return self._result(evidence_key, evidence, scope, session, budget)

    def document(self, doc_id: str, *, scope: Scope, session: str | None) -> LookupResult:
        """A document's chunks in reading order; beyond 400,000 characters they are named without their text.

        Raises:
            UnknownEvidence: there is no such document within the scope; outside it reads the same.
        """
        stored = self._stored(doc_id, scope)
        with self.store.snapshot() as view:
            chunks = _chunks(view, stored)
            evidence = tuple(chunk.as_block() for chunk in chunks if is_visible(chunk.scope, scope))
        return self._result(doc_id, evidence, scope, session, _WHOLE_DOCUMENT)

    def record(self, doc_id: str, scope: Scope) -> DocumentRecord:
        """A document without its chunks; raises as `document`."""
        return self._stored(doc_id, scope).record

    def _stored(self, doc_id: str, scope: Scope) -> StoredDocument:
        name = normalize_id(doc_id)
        stored = None if name is None or self._is_hidden(name, scope) else self.store.stored(name)
        if stored is None or not is_visible(stored.record.scope, scope):
            raise UnknownEvidence(
                f"there is no document {shown(doc_id)}", way_out="Give an id that a list of them has."
            )
        return stored

    def _is_hidden(self, doc_id: str, scope: Scope) -> bool:
        """Whether it begins with a chunk outside the scope: told as fast as that there is none, however long it is."""
        with self.store.snapshot() as view:
            return any(
                not is_visible(chunk.scope, scope) for chunk in fetched(view.fetch([format_key(doc_id, 0)])).values()
            )

    def _result(
        self,
        name: str,
        evidence: tuple[EvidenceBlock, ...],
        scope: Scope,
        session: str | None,
        budget: Budget,
    ) -> LookupResult:
        return LookupResult(
            query=name,
            status="ok",
            degraded=(),
            evidence=evidence,
            trace=Trace(mode="read"),
            budget=budget,
            count_tokens=self.count_tokens,
            on_shown=None if session is None else partial(self.memory.record, session, scope),
        )


def _block(view: Snapshot, evidence_key: str, scope: Scope) -> EvidenceBlock:
    key = parse_key(evidence_key).evidence_key
    chunk = _visible(view, [key], scope).get(key)
    if chunk is None:
        raise UnknownEvidence(
            f"there is no evidence {shown(evidence_key)}", way_out="Copy the id of a lookup's evidence."
        )
    return chunk.as_block()


def _chunks(view: Snapshot, stored: StoredDocument) -> Iterator[StoredChunk]:
    """A document's chunks in reading order; of an attached store, which doesn't count them, up to a gap of 1,000."""
    known = len(stored.context_digests)
    start, found = 0, True
    while found and (start < known or not known):
        end = min(start + _AT_ONCE, known) if known else start + _AT_ONCE
        keys = [format_key(stored.record.doc_id, index) for index in range(start, end)]
        chunks = fetched(view.fetch(keys))
        yield from (chunks[key] for key in keys if key in chunks)
        start, found = end, bool(chunks)


def _visible(view: Snapshot, keys: Sequence[str], scope: Scope) -> Mapping[str, StoredChunk]:
    """Those of these chunks that there are within the scope."""
    return {key: chunk for key, chunk in fetched(view.fetch(keys)).items() if is_visible(chunk.scope, scope)}
