"""Errors become exit codes and text here, and nowhere else on the command line.

A message goes to stderr; with `--json` the error is also the one JSON document on stdout.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import ParamSpec, TypeVar

import typer

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

DONE, IN_PART, USAGE, UNREACHABLE, REJECTED = 0, 1, 2, 3, 4
INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


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
            if kwargs.get("as_json"):
                emit({"error": {"code": "interrupted", "message": message, "way_out": ""}})
            typer.echo(f"citewell: {message}", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return guarded


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name and return its exit code; usage errors are said as the others are."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that can't show a character shows its number
    try:
        return app(list(arguments), standalone_mode=False) or DONE
    except BrokenPipeError:
        return reader_has_gone()
    except Exception as error:
        say = getattr(error, "format_message", None)
        if say is None:
            raise
        if "--json" in arguments:
            emit({"error": {"code": "usage", "message": say(), "way_out": "`citewell --help` lists what there is."}})
        error.show()  # type: ignore[attr-defined]  # it has what says the usage
        return USAGE


def leave(code: int) -> None:
    """End the process without waiting for threads: whoever pressed Ctrl-C twice may not want to wait for an embedder.

    A write that is under way is rolled back when the store is opened next, as after a kill.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def reader_has_gone() -> int:
    """`citewell ... | head` is no failure: write the rest to nowhere and be done."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def emit(document: object) -> None:
    """Print the one JSON document of a command."""
    print(json.dumps(document, ensure_ascii=False, indent=2, default=str))
