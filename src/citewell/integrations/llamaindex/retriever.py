"""A LlamaIndex retriever over a Knowledge: what a lookup finds, in its order, as nodes with their similarity (API-6).

It knows LlamaIndex's retrievers, and nothing of how evidence is found.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores import MetadataFilters

from citewell.admission import check_names
from citewell.integrations.llamaindex.filters import conditions_of
from citewell.integrations.llamaindex.nodes import nodes
from citewell.integrations.passages import OPTIONS, find, where_of

if TYPE_CHECKING:
    from citewell.app import Knowledge


class CitewellRetriever(BaseRetriever):
    """Looks up evidence; each node's id is its evidence key, its score the similarity (None if unknown).

    The order is the lookup's, not that of the scores. Whatever sorts nodes by their score, as LlamaIndex's fusion does,
    orders them by similarity. A query's own embedding is not used: Citewell's embedder made the store.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        *,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Any,  # noqa: ANN401 - checked by name here, by value in the lookup
    ) -> None:
        """Nothing is looked up yet.

        Args:
            knowledge: to ask; whoever opened it closes it.
            similarity_top_k: the most nodes; None = `rag.return-n`.
            filters: equalities that must all hold, beside `where`; any other is refused.
            callback_manager: LlamaIndex's.
            verbose: LlamaIndex's.
            options: further arguments of `Knowledge.lookup`: `where`, `category`, `scope`, `mode`, `retrieve_k`,
                `min_similarity`, `max_chunks_per_document`, `session`, `neighbours`, `repeat` (here true by default).

        Raises:
            InvalidRequest: an option is unknown, or filters hold more than equalities.
        """
        check_names(list(options), OPTIONS)
        self._knowledge, self._count, self._options = knowledge, similarity_top_k, dict(options)
        if filters is not None:
            self._options["where"] = where_of(conditions_of(filters), options.get("where"))
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = find(self._knowledge, query_bundle.query_str, count=self._count, options=self._options)
        return nodes(found.passages)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
