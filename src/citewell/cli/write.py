"""The commands that write: ingest, delete."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli import reports
from citewell.cli.codes import IN_PART
from citewell.cli.edge import edge, emit
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge
from citewell.errors import CitewellError

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.ingest import IngestOptions
    from citewell.model import IngestReport


@edge
def ingest(
    paths: Annotated[list[str], typer.Argument(help="Files and folders.")],
    *,
    category: Annotated[
        str | None, typer.Option(help="Of every document; default: what its front matter says.")
    ] = None,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="A label that they bear; repeatable.")] = None,
    prefix: Annotated[str, typer.Option(help="Put before every document id.")] = "",
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Delete stored documents whose files are gone or that a .citewellignore leaves out."
        ),
    ] = False,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", help="Only what this glob matches, such as '*.md' or 'api/'; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", help="Not what this glob matches; repeatable, wins.")
    ] = None,
    no_gitignore: Annotated[
        bool, typer.Option("--no-gitignore", help="Take what .gitignore files leave out, too.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on with what changes, until Ctrl-C; --json: one document a line.")
    ] = False,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the store in line with files and folders."""
    latest = reports.Latest()
    options: IngestOptions = {
        "category": category,
        "scope": scope or None,
        "prefix": prefix,
        "prune": prune,
        "include": include or (),
        "exclude": exclude or (),
        "respect_gitignore": not no_gitignore,
        "progress": latest,
    }
    with open_knowledge(kb, config, create=True) as knowledge:
        if watch:
            _watch(knowledge, paths, options, latest, as_json=as_json)
            return
        report = _ingest_once(knowledge, paths, options, latest, quiet=as_json)
    if as_json:
        emit(report.to_dict())
    else:
        reports.ingestion(report)
    if not report.ok:
        raise typer.Exit(IN_PART)


def _ingest_once(
    knowledge: Knowledge, paths: list[str], options: IngestOptions, latest: reports.Latest, *, quiet: bool
) -> IngestReport:
    try:
        with reports.progress_bar(quiet=quiet) as latest.tell:
            return knowledge.ingest(paths, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(latest) from None


def _watch(
    knowledge: Knowledge, paths: list[str], options: IngestOptions, latest: reports.Latest, *, as_json: bool
) -> None:
    """Ctrl-C is how watching ends: done while nothing happens, interrupted in the middle of a run."""
    try:
        runs = knowledge.watch(paths, trouble=_tell_trouble, **options)
        with reports.progress_bar(quiet=as_json) as latest.tell:
            before = next(runs)
        latest.tell = None
        _print_run(before, None, as_json=as_json)
        _say(f"watching {', '.join(paths)}; Ctrl-C ends it")
        for report in runs:
            _print_run(report, before, as_json=as_json)
            before = report
    except KeyboardInterrupt:
        if latest.at_work:
            raise KeyboardInterrupt(latest) from None
        _say("stopped watching")


def _print_run(report: IngestReport, before: IngestReport | None, *, as_json: bool) -> None:
    files = list(report.files) if before is None else reports.changes(report, before)
    if as_json:
        if files or before is None:
            document = report.to_dict() | {"files": [file.to_dict() for file in files]}
            print(json.dumps(document, ensure_ascii=False), flush=True)
    elif before is None:
        reports.ingestion(report)
    else:
        reports.further_ingestion(files)


def _tell_trouble(error: CitewellError, pause_s: float) -> None:
    _say(f"{error} Trying again in {pause_s:.0f} s.")


def _say(text: str) -> None:
    typer.echo(f"citewell: {text}", err=True)


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
