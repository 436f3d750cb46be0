"""Errors become exit codes and text here, and nowhere else on the command line.

A message goes to stderr; with `--json` the error is also the one JSON document on stdout.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import ParamSpec, TypeVar

import typer

from citewell.cli.codes import DONE, IN_PART, INTERRUPTED, UNREACHABLE, USAGE
from citewell.cli.streams import is_of_output, not_printed, reader_has_gone
from citewell.errors import (
    CitewellError,
    ConfigError,
    EmbedderError,
    InvalidRequest,
    ScopeDenied,
    StoreError,
)
from citewell.printable import printable

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a command that leaves nothing to go on from; says what there is to say."""


@contextlib.contextmanager
def leaving_nothing() -> Iterator[None]:
    """What is stopped in here leaves nothing behind, and is told so."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped("stopped; nothing was written") from None


def exit_code(error: CitewellError) -> int:
    """The documented exit code of an error."""
    if isinstance(error, ConfigError | InvalidRequest | ScopeDenied):
        return USAGE
    if isinstance(error, StoreError | EmbedderError):
        return UNREACHABLE
    return IN_PART


def edge(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """Wrap a command so that it ends with the documented exit code, whatever is raised on purpose."""

    @functools.wraps(command)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return command(*args, **kwargs)
        except CitewellError as error:
            if kwargs.get("as_json"):
                emit({"error": error.to_dict()})
            typer.echo(f"citewell: {printable(str(error))}", err=True)
            raise typer.Exit(exit_code(error)) from error
        except KeyboardInterrupt as stop:
            usual = f"stopped{stop}; what was stored stays, and the same command goes on from there"
            message = str(stop) if isinstance(stop, Stopped) else usual
            raise typer.Exit(stopped(message, as_json=bool(kwargs.get("as_json")))) from None

    return guarded


class _Said(int):
    """An exit code whose reason was told."""


def stopped(message: str = "stopped", *, as_json: bool) -> int:
    """Say that the command was stopped, and how it left things; the exit code."""
    if as_json:
        emit({"error": {"code": "interrupted", "message": message, "way_out": ""}})
    typer.echo(f"citewell: {message}", err=True)
    return _Said(INTERRUPTED)


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name and return its exit code; usage errors are said as the others are."""
    try:
        code: int = app(list(arguments), standalone_mode=False) or DONE
    except SystemExit as end:  # how Typer ends on a pipe without a reader, and our console
        if isinstance(end.__context__, BrokenPipeError):
            return reader_has_gone()
        raise
    except Exception as error:
        if isinstance(error, OSError) and is_of_output(error):
            return not_printed(error)
        if _misused(error, arguments):
            return USAGE
        raise
    if code == INTERRUPTED and not isinstance(code, _Said):  # Typer's own, before the command had begun
        return stopped(as_json="--json" in arguments)
    return code


def _misused(error: Exception, arguments: Sequence[str]) -> bool:
    """Whether the arguments are wrong, which is said then."""
    say = getattr(error, "format_message", None)
    if say is None:
        return False
    if "--json" in arguments:
        emit({"error": {"code": "usage", "message": say(), "way_out": "`citewell --help` lists what there is."}})
    error.show()  # type: ignore[attr-defined]  # it has what says the usage
    return True


def emit(document: object) -> None:
    """Print the one JSON document of a command."""
    print(json.dumps(document, ensure_ascii=False, indent=2, default=str))
