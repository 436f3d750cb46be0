"""Errors become exit codes and text here, and nowhere else on the command line.

A message goes to stderr; with `--json` the error is also the one JSON document on stdout.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
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

_P = ParamSpec("_P")
_R = TypeVar("_R")

DONE, IN_PART, USAGE, UNREACHABLE, REJECTED = 0, 1, 2, 3, 4
_INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


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
            typer.echo(f"citewell: {error}", err=True)
            raise typer.Exit(exit_code(error)) from error
        except KeyboardInterrupt:
            typer.echo("citewell: stopped; what was stored stays, and the same command goes on from there", err=True)
            raise typer.Exit(_INTERRUPTED) from None
        except BrokenPipeError:
            sys.stderr.close()  # the reader has gone; nobody is left to complain to
            raise typer.Exit(DONE) from None

    return guarded


def emit(document: object) -> None:
    """Print the one JSON document of a command."""
    print(json.dumps(document, ensure_ascii=False, indent=2, default=str))
