"""What an ingestion tells a person: a bar while it runs, one line per file that was not plainly fine, the summary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from citewell.cli.render import console, said
from citewell.model import FileReport, FileStatus, IngestReport
from citewell.printable import code_point

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from citewell.ingest import Progress

    Tell = Callable[[Progress], None]

_BREAKS = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_REPORTED: tuple[FileStatus, ...] = ("added", "updated", "unchanged", "deleted", "skipped", "failed", "no_text")


def ingestion(report: IngestReport) -> None:
    """One line per file that was not plainly fine, then the summary."""
    out = console()
    for file in report.files:
        if file.detail or file.status in ("failed", "skipped", "no_text", "deleted"):
            out.print(said(_line(file)), soft_wrap=True)
    out.print(said(summary(report), "bold"), soft_wrap=True)


def _line(file: FileReport) -> str:
    r"""A line that stays one: a name or an error may hold line breaks, which are shown as `\x0a`."""
    line = f"{file.status:<9} {file.doc_id}{': ' if file.detail else ''}{file.detail}"
    return _BREAKS.sub(lambda match: code_point(match[0]), line)


def summary(report: IngestReport) -> str:
    """`2 added, 1 failed, 3 ignored; 14 chunks, 9 embedded, 0.4 s`."""
    counts = [f"{report.count(status)} {status.replace('_', ' ')}" for status in _REPORTED if report.count(status)]
    counts += [f"{report.ignored} ignored"] if report.ignored else []
    return (
        f"{', '.join(counts) or 'no files'}; {report.chunks} chunks, {report.embedded} embedded, {report.seconds:.1f} s"
    )


def changes(report: IngestReport, before: IngestReport) -> list[FileReport]:
    """What a further run did, and what is wrong that was not wrong in the run before."""
    known = set(before.files)
    return [
        file
        for file in report.files
        if file.status in ("added", "updated", "deleted") or (file.status != "unchanged" and file not in known)
    ]


def further_ingestion(files: list[FileReport]) -> None:
    """One line for each of these files."""
    out = console()
    for file in files:
        written = f" ({file.chunks} chunks, {file.embedded} embedded)" if file.status in ("added", "updated") else ""
        out.print(said(f"{_line(file)}{written}"), soft_wrap=True)


def stopping() -> None:
    """Say to whoever looks on that an interrupted run comes to its end."""
    err = console(stderr=True)
    if err.is_terminal:
        err.print(said("stopping: what is embedded and written right now comes to its end; Ctrl-C again doesn't wait"))


class Latest:
    """Remembers how far a run has come, and passes it on."""

    def __init__(self) -> None:
        self.tell: Tell | None = None
        self._progress: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Take note."""
        if progress.stopping and not (self._progress and self._progress.stopping):
            stopping()
        self._progress = progress
        if self.tell:
            self.tell(progress)

    @property
    def at_work(self) -> bool:
        """Whether a run is in the middle."""
        return self._progress is not None and bool(self._progress.doc_id)

    def __str__(self) -> str:
        """` after 12 of 40 files, with 3 documents brought up to date`; empty before the first."""
        told = self._progress
        if told is None:
            return ""
        of = f" of {told.files_total:,}" if told.files_total is not None else ""
        return f" after {told.files_done:,}{of} files, with {_counted(told.changed)} brought up to date"


def _counted(documents: int) -> str:
    return "1 document" if documents == 1 else f"{documents:,} documents"


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Tell | None]:
    """A bar on stderr: files done, chunks embedded and their rate, time left; nothing where stderr is no terminal."""
    err = console(stderr=True)
    if quiet or not err.is_terminal:
        yield None
        return
    with _bar() as bar:
        task = bar.add_task("files", total=None, embedded="")

        def advance(progress: Progress) -> None:
            seconds = bar.tasks[0].elapsed or 0.0
            embedded = f"{progress.embedded:,} chunks, {progress.embedded / max(seconds, 0.1):,.0f}/s"
            bar.update(task, completed=progress.files_done, total=progress.files_total, embedded=embedded)

        yield advance


def _bar() -> Bar:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("files"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[embedded]}"),
        TimeRemainingColumn(compact=True),
    )
    return Bar(*columns, console=console(stderr=True), transient=True)
