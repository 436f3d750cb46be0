"""Under which names a server answers: a page of a stranger's, whose name was made to lead here, gets nothing (API-4).

It knows settings and names, and no request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from citewell.config.settings import ServerSettings

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_ANY: Final = ("0.0.0.0", "::", "[::]")  # noqa: S104 - compared with, not listened on


class Hosts:
    """The names that a request's Host may be: those that are set; else the address listened on, and the public one.

    A name holds for every port, unless it is set with one. A server that listens on every address takes any name, over
    HTTP and MCP alike: it can't know them, and it has tokens, which a page that was led here by a false name has not.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._names = frozenset(name.lower() for name in _names(settings))
        self._any = not settings.allowed_hosts and settings.host in _ANY
        self._origins = settings.cors_origins

    def takes(self, host: str | None) -> bool:
        """Whether a request that names this host is taken."""
        if self._any:
            return True
        name = (host or "").lower()
        return name in self._names or _without_port(name) in self._names

    def takes_origin(self, origin: str | None, host: str | None) -> bool:
        """Whether a page of this origin may have a browser change something: the server's own, and those named.

        Reading is not asked about: a browser shows no page an answer that isn't meant for it.
        """
        if origin is None or origin in self._origins or "*" in self._origins:
            return True
        scheme, slashes, own = origin.lower().partition("://")
        return scheme in ("http", "https") and bool(slashes) and own == (host or "").lower() != ""


def _names(settings: ServerSettings) -> Iterator[str]:
    if settings.allowed_hosts:
        yield from settings.allowed_hosts
        return
    host = f"[{settings.host}]" if ":" in settings.host and not settings.host.startswith("[") else settings.host
    yield from _LOOPBACK if host in _LOOPBACK else (host,)
    if settings.public_url is not None and (public := urlsplit(settings.public_url).netloc):
        yield public


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
