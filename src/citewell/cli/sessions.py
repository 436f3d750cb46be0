"""The command that lists sessions, and forgets one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from citewell.cli import render
from citewell.cli.edge import edge, emit
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge
from citewell.model import SessionInfo


@edge
def sessions(
    *,
    forget: Annotated[
        str | None, typer.Option("--forget", help="Forget this session in every scope, instead of listing.")
    ] = None,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the sessions and how much evidence each was shown, or forget one."""
    with open_knowledge(kb, config) as knowledge:
        forgotten = 0 if forget is None else knowledge.forget_session(forget)
        infos = list(knowledge.sessions()) if forget is None else []
    if forget is not None:
        _tell(forget, forgotten, as_json=as_json)
    elif as_json:
        emit([info.to_dict() for info in infos])
    else:
        _print(infos)


def _tell(session: str, forgotten: int, *, as_json: bool) -> None:
    if as_json:
        emit({"session": session, "forgotten": forgotten})
    else:
        render.console().print(render.said(f"forgot {forgotten} pieces of evidence of session {session!r}"))


def _print(infos: Sequence[SessionInfo]) -> None:
    grid = render.table(f"{len(infos)} sessions", "session", "scope", "shown", "last used (UTC)", numbers=("shown",))
    for info in infos:
        scope = "everything" if info.scope is None else ", ".join(info.scope) or "nothing"
        used = datetime.fromtimestamp(info.last_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        render.row(grid, info.session, scope, str(info.shown), used)
    render.console().print(grid)
