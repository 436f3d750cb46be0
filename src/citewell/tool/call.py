"""A call of `lookup_knowledge` by a model: arguments in, what the agent sees out.

What the program fixed, such as the scope, a model can neither see nor change. It knows no framework and no protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from citewell.admission import check_names
from citewell.checks import check_mapping, check_text
from citewell.errors import InvalidRequest
from citewell.tool.definition import arguments
from citewell.tool.shapes import Schema

if TYPE_CHECKING:
    from citewell.app import Knowledge


@dataclass(frozen=True, slots=True)
class LookupTool:
    """The tool over a Knowledge; safe to call from several threads.

    Attributes:
        knowledge: to ask; whoever opened it closes it.
        fixed: arguments of `Knowledge.lookup` that the program decides. They are not in `arguments`, and a model that
            gives one is refused.
    """

    knowledge: Knowledge
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse names that no lookup knows, before a model meets them."""
        arguments(without=tuple(check_mapping("fixed", self.fixed)))

    @property
    def arguments(self) -> Schema:
        """What a model may give, as JSON Schema."""
        return arguments(without=tuple(self.fixed))

    def __call__(self, given: Mapping[str, Any]) -> dict[str, object]:
        """What `LookupResult.to_agent` gives; within a session it is recorded as shown (GUARD-1).

        An argument that is null counts as not given.

        Raises:
            InvalidRequest: one is unknown or can't be used, or the query is missing.
            ScopeDenied: the store demands a scope.
            StoreError, EmbedderError: every path failed.
        """
        check_names(list(check_mapping("arguments", given)), list(self.arguments["properties"]))
        chosen = {name: value for name, value in given.items() if value is not None}
        if "query" not in chosen:
            raise InvalidRequest("the argument 'query' is missing", way_out="Give `query` as a text.")
        query = check_text("query", chosen.pop("query"))
        return self.knowledge.lookup(query, **{**chosen, **self.fixed}).to_agent()
