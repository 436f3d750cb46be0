"""The command line: argv and files in, exit codes and text out; no vendor, no rule.

    edge       errors -> exit codes, once
    options    the options that every command shares, and how they become a Knowledge
    read       lookup, show, list, status
    check      check
    evaluate   eval
    tuning     tune
    calibration    calibrate
    fragment   the file that the last two write
    write      ingest, delete
    upkeep     verify
    sessions   sessions
    export     export
    foreign    attach, reindex
    mcp        mcp
    serve      serve
    setup      config, model
    demo       the tour
    brief      what commands that answer once and end do without
    codes      the exit codes
    streams    the standard streams: closed, full, or without a reader
    render     values -> text for people

A command's module is loaded when its command is called: most of them need libraries that a lookup has no use for.

Exit codes: 0 done (nothing found is 0), 1 the work failed in part, 2 bad usage or configuration, 3 the store or a
model is unreachable or locked, 4 the guard rejected, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from citewell.cli import brief, streams
from citewell.cli.codes import INTERRUPTED

if TYPE_CHECKING:
    import typer

_COMMANDS = {
    "demo": "demo.demo",
    "ingest": "write.ingest",
    "lookup": "read.lookup",
    "show": "read.show",
    "list": "read.list_documents",
    "check": "check.check",
    "eval": "evaluate.evaluate",
    "tune": "tuning.tune",
    "calibrate": "calibration.calibrate",
    "delete": "write.delete",
    "status": "read.status",
    "verify": "upkeep.verify",
    "sessions": "sessions.sessions",
    "export": "export.export",
    "attach": "foreign.attach",
    "reindex": "foreign.reindex",
    "mcp": "mcp.mcp",
    "serve": "serve.serve",
    "config": "setup.config",
}
"""Each command's place in this package, in the order of `--help`."""

_BRIEF = {"lookup", "show", "list", "check", "status", "--help"}
"""What answers once and ends."""

app: typer.Typer


def __getattr__(name: str) -> object:
    """`app`, with every command, made when it is first asked for."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = _app(_COMMANDS)
    made.add_typer(import_module("citewell.cli.setup").model, name="model")
    return made


def _app(names: Collection[str]) -> typer.Typer:
    """A command line of these commands."""
    import typer

    made = typer.Typer(
        name="citewell",
        help="Evidence for agents: look knowledge up, see why each chunk was found, cite it.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name in names:
        module, _, command = _COMMANDS[name].partition(".")
        made.command(name)(getattr(import_module(f"citewell.cli.{module}"), command))
    return made


def _wanted(arguments: Sequence[str]) -> typer.Typer:
    """A command line that knows the command that is called, and no other; the whole one where that can't be told."""
    if not arguments or arguments[0] not in _COMMANDS:
        whole: typer.Typer = import_module(__name__).app
        return whole
    one = _app(arguments[:1])
    one.callback()(_nothing)  # with it a command is called by its name, as beside others
    return one


def _nothing() -> None:
    """Before the command there is nothing to do."""


def main() -> None:
    """The `citewell` command."""
    arguments = sys.argv[1:]
    is_brief = bool(_BRIEF.intersection(arguments[:1]))
    streams.ready()
    if is_brief:
        brief.hasten()
    code = streams.settle(_code(arguments))
    if is_brief or code == INTERRUPTED:
        brief.end(code)
    sys.exit(code)


def _code(arguments: Sequence[str]) -> int:
    """The exit code of the command that these arguments name, after it has run."""
    try:
        from citewell.cli.edge import run

        return run(_wanted(arguments), arguments)
    except KeyboardInterrupt:  # while it was loaded
        from citewell.cli.edge import stopped

        return stopped(as_json="--json" in arguments)
