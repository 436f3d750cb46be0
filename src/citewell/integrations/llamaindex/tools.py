"""The tool `lookup_knowledge` for LlamaIndex's agents: a text for the model, the projection as the raw output (API-6).

It knows LlamaIndex's tools; what the tool is and does stands in `citewell.tool`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Unpack

from llama_index.core.bridge.pydantic import BaseModel, ConfigDict
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from citewell.app.options import LookupOptions
from citewell.projection import to_text
from citewell.tool import DESCRIPTION, NAME, LookupTool
from citewell.tool.shapes import Schema

if TYPE_CHECKING:
    from citewell.app import Knowledge


class CitewellToolSpec(BaseToolSpec):
    """`lookup_knowledge` as a tool spec; `to_tool_list` gives the tool.

    A call's content is what the model reads: passages between fences, each under its id. Its raw output is the
    projection, `LookupResult.to_agent`, which `Knowledge.check(answer, shown=...)` takes. What Citewell refuses is
    raised, and LlamaIndex's agents tell the model; nothing found is no error.
    """

    spec_functions: list[SPEC_FUNCTION_TYPE] = [(NAME, f"a{NAME}")]  # noqa: RUF012 - as LlamaIndex declares it

    def __init__(self, knowledge: Knowledge, **fixed: Unpack[LookupOptions]) -> None:
        """Nothing is looked up yet.

        Args:
            knowledge: to ask; whoever opened it closes it.
            fixed: arguments of `Knowledge.lookup` that you decide, such as `scope` and `session`. The model can
                neither see nor change them.

        Raises:
            InvalidRequest: there is no such argument.
        """
        self._tool = LookupTool(knowledge, fixed)

    def lookup_knowledge(self, **arguments: Any) -> dict[str, object]:  # noqa: ANN401 - a model gives them
        """The projection of a lookup; arguments as `citewell.tool.LOOKUP_ARGUMENTS` describes them."""
        return self._tool(arguments)

    async def alookup_knowledge(self, **arguments: Any) -> dict[str, object]:  # noqa: ANN401 - see above
        """`lookup_knowledge` in a worker thread."""
        return await asyncio.to_thread(self._tool, arguments)

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """The tool, with the arguments as the one definition has them; your own metadata go before that."""
        own = ToolMetadata(name=NAME, description=DESCRIPTION, fn_schema=_model_of(self._tool.arguments))
        mapping = {NAME: own, **(func_to_metadata_mapping or {})}
        plain = super().to_tool_list(spec_functions, mapping)
        return [
            FunctionTool(fn=tool.fn, async_fn=tool.async_fn, metadata=tool.metadata, callback=to_text) for tool in plain
        ]


def _model_of(schema: Schema) -> type[BaseModel]:
    """A pydantic model whose JSON schema is the given one; the arguments themselves are checked by the lookup."""

    class LookupArguments(BaseModel):
        """What `lookup_knowledge` takes."""

        model_config = ConfigDict(extra="allow")

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> Schema:  # noqa: ANN401 - as pydantic has them
            return schema

    return LookupArguments
