"""What the pages ask of a Knowledge; each caller's scope is applied here, and nothing is recorded as shown (API-5).

It knows no request, no template and no drawing; all of it blocks.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from citewell.admission import admit_scope
from citewell.errors import Forbidden
from citewell.identity import format_key
from citewell.projection import token_bound
from citewell.scope import is_visible
from citewell.server import discreet
from citewell.server.web.views.corpus import CorpusView, corpus_view

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.model import Budget
    from citewell.server.callers import Caller

_KEPT: Final = 16
"""Views of the corpus that are remembered, one for each set of labels."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A lookup: what was found and what an agent sees of it, within a budget counted so."""

    result: Mapping[str, Any]
    seen: Mapping[str, Any]
    budget: Budget
    count_tokens: Callable[[str], float]


class Questions:
    """Asks one Knowledge; safe to use from several threads."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._lock = threading.Lock()
        self._corpus: OrderedDict[tuple[str, ...] | None, tuple[int, CorpusView]] = OrderedDict()

    @property
    def knowledge(self) -> Knowledge:
        """Whom it asks."""
        return self._knowledge

    def lookup(self, caller: Caller, query: str, labels: Sequence[str], arguments: Mapping[str, Any]) -> Looked:
        """A lookup outside any session."""
        found = discreet.found(self._knowledge.lookup(query, scope=self._scope(caller, labels), **arguments), caller)
        return Looked(found.to_dict(), found.to_agent(), found.budget, found.count_tokens or token_bound)

    def read(self, caller: Caller, key: str, neighbours: int) -> dict[str, object]:
        """A chunk and those around it, as `to_dict`; outside the scope there is none."""
        return self._knowledge.read(key, scope=caller.narrowed(None), neighbours=neighbours).to_dict()

    def document(self, caller: Caller, doc_id: str, index: int, neighbours: int) -> dict[str, object]:
        """The same by document; a document that isn't there is named as such."""
        record = self._knowledge.document(doc_id, scope=caller.narrowed(None))
        return self.read(caller, format_key(record.doc_id, index), neighbours)

    def labels(self, caller: Caller, doc_id: str) -> tuple[str, ...]:
        """Those that the document bears and the caller holds: whom else it is for is not the caller's business."""
        scope = caller.narrowed(None)
        bears = self._knowledge.document(doc_id, scope=scope).scope or ()
        return tuple(label for label in bears if scope is None or label in scope)

    def corpus(self, caller: Caller, labels: Sequence[str] = ()) -> CorpusView:
        """Figures of the documents that the caller may see; made anew when something was written."""
        scope = self._scope(caller, labels)
        sequence = self._knowledge.status().sequence
        with self._lock:
            known = self._corpus.get(scope)
        if known is not None and known[0] == sequence:
            return known[1]
        view = corpus_view((info for info in self._knowledge.documents() if is_visible(info.scope, scope)), scope)
        with self._lock:
            self._corpus[scope] = (sequence, view)
            self._corpus.move_to_end(scope)
            while len(self._corpus) > _KEPT:
                self._corpus.popitem(last=False)
        return view

    def store(self, caller: Caller) -> dict[str, object] | None:
        """What the store says of itself; only for who may see all of it."""
        return None if caller.scope is not None else self._knowledge.status().to_dict()

    def check_everything(self, caller: Caller) -> None:
        """Refuse who may not see everything: queries and figures of an evaluation tell of any document.

        Raises:
            Forbidden: a scope binds the caller.
        """
        if caller.scope is not None:
            raise Forbidden("evaluation runs tell of all documents", way_out="Use a token without a scope.")

    def _scope(self, caller: Caller, labels: Sequence[str]) -> tuple[str, ...] | None:
        required = self._knowledge.settings.store.require_scope
        return admit_scope(caller.narrowed(list(labels) or None), require_scope=required)
