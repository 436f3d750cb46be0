"""The command that serves HTTP and MCP until it is told to end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.edge import edge
from citewell.cli.options import ConfigOption, KbOption, load_settings
from citewell.errors import ConfigError

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.config import Settings

_VENDORS = (
    "fastapi",
    "starlette",
    "uvicorn",
    "mcp",
    "mcp_types",
    "prometheus_client",
    "structlog",
    "multipart",
    "jinja2",
)

_DENSE = (
    "citewell: lookups are dense unless a call says otherwise, as they are for those who upgrade;"
    " `citewell config --init` writes a configuration with hybrid, and says why"
)


@edge
def serve(
    *,
    host: Annotated[str | None, typer.Option("--host", help="The address to listen on. Default: server.host.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="The port; 0 = any free one. Default: server.port.")
    ] = None,
    kb: KbOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve HTTP (/v1, /metrics), MCP (/mcp) and the inspector (/) until Ctrl-C; the log goes to stderr as JSON."""
    run = _serving()
    from citewell import __version__

    settings = load_settings(config, {"server.host": host, "server.port": port})
    told = partial(_told, dense="retrieval.search.mode" not in settings.origins)
    run(lambda: _open(kb, settings), settings, version=__version__, log=sys.stderr, told=told)


def _open(kb: str | None, settings: Settings) -> Knowledge:
    from citewell.app import Knowledge

    return Knowledge.open(kb, settings=settings)


def _told(address: str, *, dense: bool) -> None:
    if dense:
        typer.echo(_DENSE, err=True)
    typer.echo(f"citewell: serving {address} (inspector there, MCP at {address}/mcp); Ctrl-C ends it", err=True)


def _serving() -> Callable[..., None]:
    try:
        from citewell.server.serve import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _VENDORS:
            raise
        raise ConfigError(
            "serving needs the extra `server`, which is not installed",
            way_out="Install it: pip install 'citewell[server]'.",
        ) from error
    return run
