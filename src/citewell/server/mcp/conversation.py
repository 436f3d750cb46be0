"""Which session a call belongs to when it names none: the one of its connection, or a new one (SESSION-1, GUARD-1).

    stdio, in memory            one for as long as the connection lasts
    HTTP with a handshake       one for each Mcp-Session-Id
    HTTP without one            none: a call gets a new one, whose name its answer tells

It knows no store; names are kept as `Caller.session` makes them.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

_HEADER = "mcp-session-id"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a call without `session` belongs to.

    Attributes:
        name: of the session.
        lasting: whether further calls of this connection belong to it by themselves.
    """

    name: str
    lasting: bool = True


def new_conversation(*, lasting: bool = True) -> Conversation:
    """One that nobody has heard of."""
    return Conversation(f"mcp-{secrets.token_hex(8)}", lasting)


def conversation_of(context: ServerRequestContext[Conversation, Any]) -> Conversation:
    """The conversation of a request."""
    if context.request is None:
        return context.lifespan_context
    given = context.request.headers.get(_HEADER)
    if given is None:
        return new_conversation(lasting=False)
    # The header opens the connection to whoever has it; a digest in the store opens nothing.
    return Conversation(f"mcp-{hashlib.sha256(given.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}")
