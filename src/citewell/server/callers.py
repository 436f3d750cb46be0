"""A bearer token -> the caller: who it is and which scope it holds (SAFE-3, API-4); no token is ever kept or logged.

It knows neither HTTP nor MCP: both hand it the value of an Authorization header.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from citewell.admission import admit_scope, check_session
from citewell.config import Token, digest_of
from citewell.errors import Forbidden, InvalidRequest, Unauthorized


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls.

    Attributes:
        name: for logs.
        scope: labels held; None = everything, () = nothing.
        ingest: whether documents may be added and deleted.
        bound: whether a token fixed the scope, so that a call can only narrow it.
        apart: whether its sessions are its own, which they are where callers have tokens.
    """

    name: str
    scope: tuple[str, ...] | None = None
    ingest: bool = True
    bound: bool = False
    apart: bool = False

    def narrowed(self, scope: object) -> tuple[str, ...] | None:
        """The labels for one call: those asked for, if the caller holds them all; without any, all that it holds.

        Raises:
            InvalidRequest: `scope` is no list of labels.
            Forbidden: it holds a label that the caller doesn't; the message is the same whether anyone bears it.
        """
        asked = admit_scope(scope)
        if asked is None or self.scope is None:
            return self.scope if asked is None else asked
        if not set(asked) <= set(self.scope):
            raise Forbidden("the scope holds a label that this token doesn't", way_out="Leave `scope` out.")
        return asked

    def session(self, given: object) -> str | None:
        """A session id as it is kept: with tokens, nobody reads or fills another's, though their scopes be equal.

        Raises:
            InvalidRequest: that can't be a session id.
        """
        name = check_session(given)
        if name is None or not self.apart:
            return name
        return f"{quote(self.name, safe='')}/{name}"  # no name of a caller holds a slash then

    def check_ingest(self) -> None:
        """Refuse who may only read.

        Raises:
            Forbidden: it may.
        """
        if not self.ingest:
            raise Forbidden("this token may look up, and not change documents", way_out="Use one with ingest = true.")


ANYONE = Caller("anyone")
"""Who calls a server without tokens, which listens on loopback alone."""


class Callers:
    """Knows the tokens of a server; safe to call from several threads."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tuple(tokens)

    @property
    def open(self) -> bool:
        """Whether anyone may call."""
        return not self._tokens

    @property
    def names(self) -> tuple[str, ...]:
        """Whom it can identify."""
        return tuple(token.name for token in self._tokens) or (ANYONE.name,)

    def identify(self, *authorizations: str | None) -> Caller:
        """The caller that the values of a request's Authorization headers name, of which there should be one.

        Every token is compared, in a time that doesn't depend on which one matches or how far.

        Raises:
            Unauthorized: none, of another kind, unknown, or two, of which whoever passed the request on may have looked
                at the other one; the message doesn't say which.
        """
        if not self._tokens:
            return ANYONE
        only = authorizations[0] if len(authorizations) == 1 else None
        scheme, _, token = (only or "").strip().partition(" ")
        presented = digest_of(token.strip() if scheme.lower() == "bearer" else "")
        found = None
        for known in self._tokens:
            if hmac.compare_digest(known.digest, presented):
                found = known
        if found is None:
            raise Unauthorized("a known bearer token is needed", way_out="Send `Authorization: Bearer TOKEN`.")
        return Caller(found.name, found.scope, found.ingest, bound=found.scope is not None, apart=True)


def check_exposure(host: str, callers: Callers) -> None:
    """A server that others can reach needs tokens.

    Raises:
        InvalidRequest: `host` is no loopback address, and anyone may call.
    """
    if callers.open and not _is_loopback(host):
        raise InvalidRequest(
            f"a server without tokens may listen on loopback alone, and {host!r} can be reached from elsewhere",
            way_out="Set server.tokens, or listen on 127.0.0.1.",
        )


def _is_loopback(host: str) -> bool:
    import ipaddress  # noqa: PLC0415 - asked once, when a server starts

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
