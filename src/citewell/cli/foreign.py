"""The commands that bring knowledge in from elsewhere: attach, reindex."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli import render, reports
from citewell.cli.codes import IN_PART
from citewell.cli.edge import edge, emit
from citewell.cli.options import ConfigOption, JsonOption, KbOption, load_settings
from citewell.errors import InvalidRequest

if TYPE_CHECKING:
    from citewell.foreign import Attached


@edge
def attach(
    uri: Annotated[str, typer.Argument(help="The Milvus: milvus:PATH.db or http://HOST:PORT.")],
    collection: Annotated[str, typer.Argument(help="The collection that someone else filled.")],
    *,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="ROLE=FIELD, such as docId=metadata.source; repeatable, wins.")
    ] = None,
    preset: Annotated[
        str, typer.Option(help="langchain, llama-index, haystack or spring-ai. Default: the one that fits exactly.")
    ] = "",
    no_index: Annotated[
        bool, typer.Option("--no-index", help="Don't scan the collection now; the first call that needs it does.")
    ] = False,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a Milvus collection that someone else filled; it is never written to."""
    from citewell import foreign

    settings = load_settings(config)
    with _scan_bar(quiet=as_json) as tell:
        attached = foreign.attach(
            uri,
            collection,
            kb or settings.store.location,
            mapping=mapping or (),
            preset=preset,
            index=not no_index,
            settings=settings,
            progress=tell,
        )
    if as_json:
        emit(attached.to_dict())
    else:
        _print(attached)


@edge
def reindex(
    source: Annotated[
        str | None, typer.Argument(help="The store or attachment to copy. Default: that of --kb.")
    ] = None,
    *,
    to: Annotated[str, typer.Option("--to", help="The store to fill: made if there is none.")] = "",
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a store into another one: analysed anew, embedded anew if need be; goes on where it was stopped."""
    from citewell import foreign

    if not to:
        raise InvalidRequest("reindex needs to know where to copy to", way_out="Give --to LOCATION.")
    settings = load_settings(config)
    latest = reports.Latest()
    try:
        with reports.progress_bar(quiet=as_json) as latest.tell:
            report = foreign.reindex(source or kb or settings.store.location, to, settings=settings, progress=latest)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(latest) from None
    if as_json:
        emit(report.to_dict())
    else:
        reports.ingestion(report)
    if not report.ok:
        raise typer.Exit(IN_PART)


def _print(attached: Attached) -> None:
    out = render.console()
    fields = render.table("what its fields are", "role", "field")
    for role, paths in attached.mapping.items():
        render.row(fields, role, ", else ".join(paths))
    out.print(fields)
    unit = "of length 1" if attached.unit else "of any length"
    lines = [
        f"{attached.collection}: {attached.rows:,} rows, {attached.dimensions} dimensions, {attached.metric}, {unit}",
        f"words: {attached.lexical}",
        *(f"note: {note}" for note in attached.notes),
    ]
    for line in lines:
        out.print(render.said(line), soft_wrap=True)
    out.print(
        render.said(f"attached at {attached.location}; `--kb {attached.location}` opens it", "bold"), soft_wrap=True
    )


@contextmanager
def _scan_bar(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr while rows are scanned; nothing where stderr is no terminal."""
    err = render.console(stderr=True)
    if quiet or not err.is_terminal:
        yield None
        return
    from rich.progress import Progress

    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
