"""A LangChain retriever over a Knowledge: what a lookup finds, in its order, as LangChain's documents (API-6).

It knows LangChain's retrievers, and nothing of how evidence is found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from citewell.admission import check_names
from citewell.app import Knowledge
from citewell.integrations.langchain.documents import documents
from citewell.integrations.passages import OPTIONS, find
from citewell.model import Mode, Scalar


class CitewellRetriever(BaseRetriever):
    """Looks up evidence; `invoke` and `ainvoke` take each setting again, for one call, under the same name.

    None in a call counts as not given: it never takes away a scope or a filter that the constructor was given.

    Each document has the evidence key as its `id`, and in its metadata `evidence_key`, `similarity`, `reasons`,
    `breadcrumb`, `source`, `doc_id`, `chunk_index`, `locator` and the rest of an EvidenceBlock. In an EnsembleRetriever
    use `id_key="evidence_key"`: without it documents of the same text are taken for one.

    An unknown setting is refused by name, in the constructor by pydantic, in a call as InvalidRequest. Nothing found is
    an empty list, a store that is down an error.

    Attributes:
        knowledge: to ask; whoever opened it closes it.
        k: the most documents; None = `rag.return-n`.
        where: hard; metadata fields and the values that they must equal.
        category: soft; a guess of where the answer is.
        scope: hard; the labels that the caller holds. None = everything, [] = nothing.
        mode: `dense` or `hybrid`; None = the setting, as for the numbers below.
        retrieve_k: candidates asked of each path.
        min_similarity: in [-1, 1], or "off".
        max_chunks_per_document: 0 = no cap.
        session: remembers what was handed out as shown, so that `Knowledge.check` can tell.
        neighbours: how many chunks before and after each hit to add; they don't count as `k`.
        repeat: hand out again, with its text, what the session was shown before.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", strict=True)

    knowledge: Knowledge
    k: int | None = None
    where: Mapping[str, Scalar] | None = None
    category: str | None = None
    scope: str | Sequence[str] | set[str] | frozenset[str] | None = None
    mode: Mode | None = None
    retrieve_k: int | None = None
    min_similarity: float | Literal["off"] | None = None
    max_chunks_per_document: int | None = None
    session: str | None = None
    neighbours: int = 0
    repeat: bool = True

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        **settings: Any,  # noqa: ANN401 - checked by name
    ) -> list[Document]:
        return self._found(query, settings)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **settings: Any,  # noqa: ANN401 - see above
    ) -> list[Document]:
        return await asyncio.to_thread(self._found, query, settings)

    def _found(self, query: str, settings: Mapping[str, Any]) -> list[Document]:
        given = {name: value for name, value in settings.items() if name != "verbose"}  # LangChain's own
        check_names(list(given), ["k", *OPTIONS])
        told = {name: value for name, value in given.items() if value is not None}  # None must not widen a scope
        options = {**{name: getattr(self, name) for name in ("k", *OPTIONS)}, **told}
        count = options.pop("k")
        return documents(find(self.knowledge, query, count=count, options=options).passages)
