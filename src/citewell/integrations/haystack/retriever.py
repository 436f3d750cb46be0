"""A Haystack component over a Knowledge: what a lookup finds, in its order, as Haystack's documents (API-6).

It knows Haystack's components, and nothing of how evidence is found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy, apply_filter_policy
from haystack.utils import Secret

from citewell.admission import check_names
from citewell.app import Knowledge
from citewell.integrations.haystack.documents import documents
from citewell.integrations.haystack.filters import conditions_of
from citewell.integrations.haystack.source import Source, secrets_of
from citewell.integrations.passages import OPTIONS, find, plain, where_of


@component
class CitewellRetriever:
    """Looks up evidence; each document's id is its evidence key, its score the similarity (None if unknown).

    The order is the lookup's, not that of the scores: a DocumentJoiner keeps it with `reciprocal_rank_fusion`, and
    sorts by similarity in its other modes. Beside `documents` it puts out the lookup's `status` and the causes of
    degradation, so that "nothing found" can be told from "a path failed".
    """

    def __init__(
        self,
        knowledge: Knowledge | None = None,
        *,
        location: str | None = None,
        config: str | None = None,
        settings: Mapping[str, Any] | None = None,
        secrets: Mapping[str, Secret] | None = None,
        top_k: int | None = None,
        filters: Mapping[str, Any] | None = None,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            knowledge: open already; whoever opened it closes it. Such a component can't be written to a file.
            location: instead: what `Knowledge.open` takes; opened by `warm_up` or the first run, closed by `close`.
            config: path of a TOML or YAML file with its settings.
            settings: dotted keys, such as `{"retrieval.search.mode": "hybrid"}`; they win over file and environment.
            secrets: of those keys, the ones that are secret, such as
                `{"embedder.api-key": Secret.from_env_var("EMBEDDER_KEY")}`.
            top_k: the most documents; None = `rag.return-n`.
            filters: equalities that must all hold (`==`, `AND`); any other is refused.
            filter_policy: whether the filters of a run replace these or are merged with them.
            options: further arguments of `Knowledge.lookup`: `where`, `category`, `scope`, `mode`, `retrieve_k`,
                `min_similarity`, `max_chunks_per_document`, `session`, `neighbours`, `repeat` (here true by default).

        Raises:
            ConfigError: both or neither of `knowledge` and `location`, or a secret where it would be written down.
            InvalidRequest: an option is unknown, or filters hold more than equalities.
        """
        self._source = Source(knowledge, location, config, settings, secrets)
        self._options = dict(options or {})
        check_names(list(self._options), OPTIONS)
        self._top_k, self._filters = top_k, None if filters is None else dict(filters)
        policy = FilterPolicy.from_str(filter_policy) if isinstance(filter_policy, str) else filter_policy
        self._policy = policy
        self._where(None)

    def warm_up(self) -> None:
        """Open the Knowledge, if that is this component's business; once."""
        self._source.knowledge()

    def close(self) -> None:
        """Close what `warm_up` opened; a further run opens it again."""
        self._source.close()

    def to_dict(self) -> dict[str, Any]:
        """As a pipeline's file holds it; secrets by the environment variables that hold them.

        Raises:
            ConfigError: it was given an open Knowledge.
            ValueError: a secret is a token itself.
        """
        written: dict[str, Any] = default_to_dict(
            self,
            **self._source.to_dict(),
            top_k=self._top_k,
            filters=self._filters,
            filter_policy=self._policy.value,
            options=plain({name: _listed(value) for name, value in self._options.items()}),
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CitewellRetriever:
        """Of what `to_dict` gave. A pipeline's file is read with `allowed_modules=["citewell.*"]`."""
        parameters = data.get("init_parameters", {})
        read = {**parameters, "secrets": secrets_of(parameters.get("secrets"))}
        made: CitewellRetriever = default_from_dict(cls, {**data, "init_parameters": read})
        return made

    @component.output_types(documents=list[Document], status=str, degraded=list[str])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        category: str | None = None,
        scope: list[str] | None = None,
        session: str | None = None,
    ) -> dict[str, Any]:
        """Look up; what is given here wins over what the constructor was given.

        Args:
            query: a question, an error code, a command.
            filters: as the constructor has them; the policy says what becomes of those.
            top_k: the most documents.
            category: soft; a guess of where the answer is.
            scope: hard; the labels that the caller holds.
            session: remembers what was handed out as shown.

        Returns:
            `documents`, best first; `status` (`ok`, `no_match`, ...); `degraded`, a cause each.

        Raises:
            InvalidRequest: an argument can't be used.
            StoreError, EmbedderError: every path failed.
        """
        asked = {"category": category, "scope": scope, "session": session}
        given = {name: value for name, value in asked.items() if value is not None}
        options = {**self._options, **given, "where": self._where(filters)}
        count = self._top_k if top_k is None else top_k
        found = find(self._source.knowledge(), query, count=count, options=options)
        return {
            "documents": documents(found.passages),
            "status": found.status,
            "degraded": list(found.degraded),
        }

    @component.output_types(documents=list[Document], status=str, degraded=list[str])
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        category: str | None = None,
        scope: list[str] | None = None,
        session: str | None = None,
    ) -> dict[str, Any]:
        """`run` in a worker thread, with the same arguments."""
        return await asyncio.to_thread(self.run, query, filters, top_k, category, scope, session)

    def _where(self, filters: dict[str, Any] | None) -> dict[str, Any] | None:
        chosen = apply_filter_policy(self._policy, self._filters, filters)
        where = self._options.get("where")
        return where if not chosen else where_of(conditions_of(chosen), where)


def _listed(value: object) -> object:
    """Labels may be a set, which JSON has not."""
    return sorted(value) if isinstance(value, set | frozenset) else value
