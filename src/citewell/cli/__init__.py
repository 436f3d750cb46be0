"""The command line: argv and files in, exit codes and text out; no vendor, no rule.

    edge       errors -> exit codes, once
    options    the options that every command shares, and how they become a Knowledge
    read       lookup, show, list, status
    check      check
    evaluate   eval
    write      ingest, delete
    upkeep     verify
    sessions   sessions
    foreign    attach, reindex
    mcp        mcp
    serve      serve
    setup      config, model
    demo       the tour
    render     values -> text for people

Exit codes: 0 done (nothing found is 0), 1 the work failed in part, 2 bad usage or configuration, 3 the store or a
model is unreachable or locked, 4 the guard rejected, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys

import typer

from citewell.cli import check, demo, evaluate, foreign, mcp, read, serve, sessions, setup, upkeep, write
from citewell.cli.edge import INTERRUPTED, leave, run

app = typer.Typer(
    name="citewell",
    help="Evidence for agents: look knowledge up, see why each chunk was found, cite it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo.demo)
app.command()(write.ingest)
app.command()(read.lookup)
app.command()(read.show)
app.command("list")(read.list_documents)
app.command()(check.check)
app.command("eval")(evaluate.evaluate)
app.command()(write.delete)
app.command()(read.status)
app.command()(upkeep.verify)
app.command()(sessions.sessions)
app.command()(foreign.attach)
app.command()(foreign.reindex)
app.command()(mcp.mcp)
app.command()(serve.serve)
app.command()(setup.config)
app.add_typer(setup.model, name="model")


def main() -> None:
    """The `citewell` command."""
    code = run(app, sys.argv[1:])
    if code == INTERRUPTED:
        leave(code)
    sys.exit(code)
