"""One server object for both eras of the protocol: handlers that check, hand on to a desk, and translate errors.

It knows the protocol and who calls; what is answered, tools, resources and prompts know. An error that Citewell raises
on purpose is told as it is, any other is masked and goes to the log (API-3, API-8).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

from citewell.checks import shown
from citewell.errors import CitewellError, Forbidden, InvalidRequest, ScopeDenied, Unauthorized, UnknownEvidence
from citewell.server.discreet import told
from citewell.server.mcp import prompts, resources
from citewell.server.mcp.answers import MASKED, Answer, masked, refused, result_of
from citewell.server.mcp.conversation import Conversation, conversation_of, new_conversation
from citewell.server.mcp.tools import TOOLS, Call, Tool
from citewell.server.mcp.uris import EVIDENCE

if TYPE_CHECKING:
    from citewell.server.callers import Caller
    from citewell.server.desk import Desk
    from citewell.server.mcp.opening import Source

_Context = ServerRequestContext[Conversation, Any]

_log = logging.getLogger("citewell.server.mcp")

_BY_NAME: Final = {tool.name: tool for tool in TOOLS}
_READS: Final = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_AN_HOUR: Final = CacheHint(ttl_ms=3_600_000, scope="public")
_STEPS: Final = 2.0


def build(
    source: Source,
    *,
    desk: Desk,
    caller_of: Callable[[_Context], Caller],
    version: str,
    base_url: str = EVIDENCE,
) -> Server[Conversation]:
    """A server over a Knowledge; it runs once, so that each transport and each test builds its own.

    Args:
        source: where the Knowledge comes from; opened after the first request is answered, closed by its owner.
        desk: where blocking work is done.
        caller_of: who sent a request; raises Unauthorized if nobody known did.
        version: of Citewell, as clients are told it.
        base_url: of pages that show a passage by its evidence key; `search` and `fetch` point there.
    """
    handlers = _Handlers(source, desk, caller_of, base_url)
    server: Server[Conversation] = Server(
        "citewell",
        title="Citewell",
        version=version,
        instructions=prompts.INSTRUCTIONS,
        lifespan=_lasting,
        cache_hints=dict.fromkeys(("tools/list", "prompts/list", "resources/templates/list"), _AN_HOUR),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_completion=handlers.complete,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware.append(handlers.open_after)
    return server


@asynccontextmanager
async def _lasting(_: Server[Conversation]) -> AsyncIterator[Conversation]:
    """For as long as a connection over streams lasts, its calls belong to one conversation."""
    yield new_conversation()


class _Handlers:
    """What answers each method of the protocol."""

    def __init__(self, source: Source, desk: Desk, caller_of: Callable[[_Context], Caller], base_url: str) -> None:
        self._source, self._desk, self._caller_of, self._base_url = source, desk, caller_of, base_url

    async def open_after(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Begin to open the store when the first request has its answer: opening it would only hold that up."""
        result = await call_next(ctx)
        self._source.start()
        return result

    async def list_tools(self, _: _Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All of them; they are the same for every caller."""
        return types.ListToolsResult(tools=[_shown(tool) for tool in TOOLS])

    async def call_tool(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The tool's answer, or why there is none, for a model to read."""
        try:
            return result_of(await self._answer(context, _tool(params.name), params.arguments or {}))
        except CitewellError as error:
            return refused(told(error, self._known(context)))
        except Exception:  # noqa: BLE001 - whatever it is, the client must not read it
            _log.exception("the tool %s failed", params.name)
            return masked()

    async def _answer(self, context: _Context, tool: Tool, given: dict[str, Any]) -> Answer:
        caller, conversation = self._caller_of(context), conversation_of(context)
        arguments = tool.check(given)
        if not self._source.ready:
            await context.session.report_progress(0.0, _STEPS, "opening the knowledge base")
        knowledge = await self._source.get()
        await context.session.report_progress(1.0, _STEPS, tool.doing)
        answer = await self._desk.run(tool.run, Call(knowledge, caller, conversation, arguments, self._base_url))
        await context.session.report_progress(_STEPS, _STEPS, "done")
        return answer

    def _known(self, context: _Context) -> Caller | None:
        """Who sent a request; None if that can't be told."""
        try:
            return self._caller_of(context)
        except Unauthorized:
            return None

    async def list_resources(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The documents that the caller may see; one page, without a next one."""
        with _translated(self._known(context)):
            if params is not None and params.cursor is not None:
                raise InvalidRequest(f"there is no page {shown(params.cursor)}", way_out="Leave `cursor` out.")
            caller, knowledge = self._caller_of(context), await self._source.get()
            return types.ListResourcesResult(resources=await self._desk.run(resources.listed, knowledge, caller))

    async def list_templates(
        self, _: _Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Both."""
        return types.ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """What the URI names."""
        with _translated(self._known(context), {"uri": params.uri}):
            caller, conversation = self._caller_of(context), conversation_of(context)
            session = caller.session(conversation.name) if conversation.lasting else None
            knowledge = await self._source.get()
            contents = await self._desk.run(resources.read, knowledge, caller, session, params.uri)
            return types.ReadResourceResult(contents=[contents])

    async def complete(self, context: _Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Ids for a template; a prompt's question has none."""
        if isinstance(params.ref, types.PromptReference):
            return types.CompleteResult(completion=types.Completion(values=[]))
        with _translated(self._known(context)):
            caller, knowledge = self._caller_of(context), await self._source.get()
            argument = params.argument
            found = await self._desk.run(
                resources.completed, knowledge, caller, params.ref.uri, argument.name, argument.value
            )
            return types.CompleteResult(completion=found)

    async def list_prompts(self, _: _Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """The one."""
        return types.ListPromptsResult(prompts=[prompts.CITE])

    async def get_prompt(self, _: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The one, filled in."""
        with _translated(None):
            return prompts.filled(params.name, params.arguments or {})


def _tool(name: str) -> Tool:
    """The tool of this name; a model that asks for another can read which ones there are."""
    tool = _BY_NAME.get(name)
    if tool is None:
        raise InvalidRequest(f"there is no tool {shown(name)}", way_out=f"There are {', '.join(_BY_NAME)}.")
    return tool


def _shown(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes,
        output_schema=tool.gives,
        annotations=_READS,
    )


@contextmanager
def _translated(caller: Caller | None, data: Mapping[str, str] | None = None) -> Iterator[None]:
    """Errors as the protocol has them and this caller may read them; one that nobody foresaw says nothing of itself."""
    try:
        yield
    except MCPError:
        raise
    except CitewellError as raised:
        error = told(raised, caller)
        raise MCPError(_code(error), str(error), {**(data or {}), "code": error.code}) from raised
    except Exception as error:
        _log.exception("a request failed")
        raise MCPError(types.INTERNAL_ERROR, MASKED) from error


def _code(error: CitewellError) -> int:
    if isinstance(error, InvalidRequest | UnknownEvidence):
        return types.INVALID_PARAMS
    return types.INVALID_REQUEST if isinstance(error, ScopeDenied | Forbidden | Unauthorized) else types.INTERNAL_ERROR
