"""The tool `lookup_knowledge` for Haystack's agents: a text for the model, made of the projection (API-6).

It knows Haystack's tools; what the tool is and does stands in `citewell.tool`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Unpack

from haystack.tools import Tool

from citewell.app.options import LookupOptions
from citewell.projection import to_text
from citewell.tool import DESCRIPTION, NAME, LookupTool

if TYPE_CHECKING:
    from citewell.app import Knowledge


def lookup_knowledge_tool(knowledge: Knowledge, **fixed: Unpack[LookupOptions]) -> Tool:
    """The tool over a Knowledge, for an Agent.

    Calling it gives the projection, `LookupResult.to_agent`; the model reads `to_text` of that: passages between
    fences, each under its id. What Citewell refuses is raised, and Haystack tells the model; nothing found is no error.
    The tool holds an open Knowledge and can't be written to a file.

    Args:
        knowledge: to ask; whoever opened it closes it.
        fixed: arguments of `Knowledge.lookup` that you decide, such as `scope` and `session`. The model can neither
            see nor change them.

    Raises:
        InvalidRequest: there is no such argument.
    """
    tool = LookupTool(knowledge, fixed)

    def looked_up(**arguments: Any) -> dict[str, object]:  # noqa: ANN401 - a model gives them
        return tool(arguments)

    async def alooked_up(**arguments: Any) -> dict[str, object]:  # noqa: ANN401 - see above
        return await asyncio.to_thread(tool, arguments)

    return Tool(
        name=NAME,
        description=DESCRIPTION,
        parameters=tool.arguments,
        function=looked_up,
        async_function=alooked_up,
        outputs_to_string={"handler": to_text},
    )
