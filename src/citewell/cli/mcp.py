"""The command that serves agents on standard input and output; the store opens when the client has been answered."""

from __future__ import annotations

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

_SCOPE_HELP = "A label that the client holds; may be repeated. Default: everything. A call can only narrow it."


@edge
def mcp(
    *,
    scope: Annotated[list[str] | None, typer.Option("--scope", help=_SCOPE_HELP)] = None,
    kb: KbOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve one agent by the Model Context Protocol on standard input and output, until it closes them."""
    serve = _stdio()
    from citewell import __version__
    from citewell.admission import check_labels
    from citewell.server.callers import Caller

    settings, labels = load_settings(config), check_labels(scope or None)
    serve(
        partial(_open, kb, settings),
        caller=Caller("stdio", labels, ingest=False, bound=labels is not None),
        version=__version__,
        workers=settings.server.workers,
        timeout_s=settings.server.timeout_s,
    )


def _open(kb: str | None, settings: Settings) -> Knowledge:
    from citewell.app import Knowledge

    return Knowledge.open(kb, settings=settings, create=False)


def _stdio() -> Callable[..., None]:
    try:
        from citewell.server.mcp.stdio import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise ConfigError(
            "serving agents needs the extra `server`, which is not installed",
            way_out="Install it: pip install 'citewell[server]'.",
        ) from error
    return serve
