"""The options that every command shares, and how they become Settings and a Knowledge.

The environment is read here (`CITEWELL_KB`, `CITEWELL_CONFIG`) and by Settings.load; a `citewell.toml` in the working
folder is taken if no other file is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.config import Settings

KbOption = Annotated[
    str | None,
    typer.Option(
        "--kb",
        envvar="CITEWELL_KB",
        help="The store: a directory, milvus:PATH.db, or the URI of a Milvus server. Default: ./.citewell.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", envvar="CITEWELL_CONFIG", help="A TOML or YAML file. Default: ./citewell.toml if there."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]

IN_WORKING_FOLDER = Path("citewell.toml")


def load_settings(config: Path | None, given: Mapping[str, object | None] | None = None) -> Settings:
    """The settings in force for this call; what is `given` by dotted key, and not None, wins."""
    from citewell.config import Settings

    if config is None and IN_WORKING_FOLDER.is_file():
        config = IN_WORKING_FOLDER
    overrides = {name: value for name, value in (given or {}).items() if value is not None}
    return Settings.load(config, overrides=overrides)


def open_knowledge(kb: str | None, config: Path | None, *, create: bool = False, asks: bool = False) -> Knowledge:
    """Open the store that the options name; reading commands never make one.

    Who `asks` it a question will need the embedder, which then loads while the rest is imported and opened.
    """
    settings = load_settings(config)
    if asks:
        from citewell.wiring import begin_embedder

        begin_embedder(settings.embedder)
    from citewell.app import Knowledge

    return Knowledge.open(kb, settings=settings, create=create)
