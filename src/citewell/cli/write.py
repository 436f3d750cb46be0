"""The commands that write: ingest, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from citewell.cli import render
from citewell.cli.edge import IN_PART, edge, emit
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge


@edge
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    *,
    category: Annotated[
        str | None, typer.Option(help="Of every document; default: what its front matter says.")
    ] = None,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="A label that they bear; repeatable.")] = None,
    prefix: Annotated[str, typer.Option(help="Put before every document id.")] = "",
    prune: Annotated[bool, typer.Option("--prune", help="Delete stored documents whose files are gone.")] = False,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the store in line with files and folders."""
    with open_knowledge(kb, config, create=True) as knowledge, render.ingestion_progress(quiet=as_json) as progress:
        report = knowledge.ingest(
            paths, category=category, scope=scope or None, prefix=prefix, prune=prune, progress=progress
        )
    if as_json:
        emit(report.to_dict())
    else:
        render.ingestion(report)
    if not report.ok:
        raise typer.Exit(IN_PART)


@edge
def delete(
    doc_id: Annotated[str, typer.Argument(help="The document's id, as `citewell list` shows it.")],
    *,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a document."""
    with open_knowledge(kb, config) as knowledge:
        removed = knowledge.delete(doc_id)
    if as_json:
        emit({"doc_id": doc_id, "chunks": removed})
    else:
        typer.echo(f"{removed} chunks of {doc_id!r} removed" if removed else f"there is no document {doc_id!r}")
