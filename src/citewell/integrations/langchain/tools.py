"""The tool `lookup_knowledge` for LangChain's agents: a text for the model, the projection as the artifact (API-6).

It knows LangChain's tools; what the tool is and does stands in `citewell.tool`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, Unpack

from langchain_core.tools import StructuredTool, ToolException

from citewell.app.options import LookupOptions
from citewell.checks import refusal
from citewell.errors import CitewellError
from citewell.printable import printable
from citewell.projection import to_search_results, to_text
from citewell.tool import DESCRIPTION, NAME, LookupTool

if TYPE_CHECKING:
    from citewell.app import Knowledge

Form = Literal["text", "search_results"]
_FORMS = {"text": to_text, "search_results": to_search_results}


def lookup_knowledge_tool(
    knowledge: Knowledge, *, form: Form = "text", **fixed: Unpack[LookupOptions]
) -> StructuredTool:
    """The tool over a Knowledge, for `bind_tools`, `create_agent` and whatever else takes a tool.

    Its content is what the model reads: passages between fences, each under its id. Its artifact is the projection,
    `LookupResult.to_agent`, which `Knowledge.check(answer, shown=...)` takes. What Citewell refuses, such as an unknown
    argument, comes as a message of status `error` that the model can act on; nothing found is no error.

    Args:
        knowledge: to ask; whoever opened it closes it.
        form: `text`, or `search_results`: blocks that Claude cites by itself (`langchain-anthropic` hands them on).
        fixed: arguments of `Knowledge.lookup` that you decide, such as `scope` and `session`. The model can neither
            see nor change them.

    Raises:
        InvalidRequest: there is no such form, or no such argument.
    """
    if form not in _FORMS:
        raise refusal("form", form, f"one of {', '.join(_FORMS)}")
    tool = LookupTool(knowledge, fixed)

    def looked_up(**arguments: Any) -> tuple[Any, dict[str, object]]:  # noqa: ANN401 - a model gives them
        try:
            seen = tool(arguments)
        except CitewellError as error:
            raise ToolException(f"{printable(str(error))} [{error.code}]") from error
        return _FORMS[form](seen), seen

    async def alooked_up(**arguments: Any) -> tuple[Any, dict[str, object]]:  # noqa: ANN401 - see above
        return await asyncio.to_thread(lambda: looked_up(**arguments))

    return StructuredTool(
        name=NAME,
        description=DESCRIPTION,
        args_schema=tool.arguments,
        func=looked_up,
        coroutine=alooked_up,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
