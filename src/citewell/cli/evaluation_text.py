"""An evaluation as text for people: what was judged, measures side by side, recall by k as bars, gains and losses.

Nothing is computed here that the evaluation doesn't already say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from citewell.cli import reports
from citewell.cli.render import console, row, said
from citewell.evaluation.compare import Change, Comparison
from citewell.evaluation.measures import Judged
from citewell.evaluation.report import Evaluation
from citewell.model import IngestReport

_RECALL = re.compile(r"recall@(\d+)")
_BAR, _EIGHTHS, _LINE = 24, " ▏▎▍▌▋▊▉", 96
_SIGNIFICANT, _NAMED = 0.05, 3


def ingested(report: IngestReport) -> None:
    """What went into the store, on stderr; each document that was not plainly fine has a line."""
    err = console(stderr=True)
    for file in report.files:
        if file.status in ("failed", "skipped", "no_text"):
            err.print(said(f"{file.status:<9} {file.doc_id}: {file.detail}"), soft_wrap=True)
    err.print(said(reports.summary(report)), soft_wrap=True)


@contextmanager
def progress(total: int, *, quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """A bar on stderr: questions asked in all runs; nothing where stderr is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    err = console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda _name, _asked: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("questions", total=total)
        yield lambda name, _asked: bar.update(task, advance=1, description=said(name).plain)


def show(found: Evaluation, differences: int, written: Sequence[Path] = ()) -> None:
    """The whole evaluation, and the files that were written of it."""
    out = console()
    out.print(said(_heading(found), "bold"), soft_wrap=True)
    for remark in _remarks(found):
        out.print(said(remark, "yellow"), soft_wrap=True)
    out.print()
    out.print(_measures(found.judged))
    out.print()
    out.print(_recall(out, found.judged))
    if found.comparisons:
        _show_comparisons(out, found, differences)
    for path in written:
        out.print(said(f"wrote {path}", "dim"), soft_wrap=True)


def _heading(found: Evaluation) -> str:
    dataset, store = found.dataset, found.store
    held = [_counted(store[name], name[:-1]) for name in ("documents", "chunks") if name in store]
    asked = f"{_counted(len(dataset.queries), 'question')}, labels by {dataset.grain} ({dataset.labels})"
    return f"{found.title}: {asked}; {', '.join([*held, str(store.get('embedder', ''))])}"


def _counted(count: object, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _remarks(found: Evaluation) -> Iterator[str]:
    missing, dataset = found.truth.missing, found.dataset
    if missing:
        yield (
            f"{len(missing)} of {found.truth.labels} labels are not in the store and can't be found, such as"
            f" {missing[0]!r}"
        )
    if found.truth.misplaced:
        yield f"{len(found.truth.misplaced)} references have other words than stand there: {found.truth.misplaced[0]}"
    if dataset.unanswerable:
        yield f"{len(dataset.unanswerable)} questions are left out: nothing answers them"
    for judged in found.judged:
        refused = sorted(judged.run.refused.items())
        for query, why in refused[:_NAMED]:
            yield f"{judged.run.name} refused {query!r}, which counts as zero: {why}"
        if len(refused) > _NAMED:
            yield f"{judged.run.name} refused {_counted(len(refused) - _NAMED, 'more question')}; --json names them"
        if judged.degraded:
            yield f"{judged.degraded} answers of {judged.run.name} are degraded: {_first_cause(judged)}"


def _first_cause(judged: Judged) -> str:
    return next(answer.degraded[0] for answer in judged.run.answers.values() if answer.degraded)


def _measures(runs: Sequence[Judged]) -> Table:
    """A row for each measure, a column for each run."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("")
    for judged in runs:
        grid.add_column(said(judged.run.name), justify="right", overflow="fold")
    for name in dict.fromkeys(name for judged in runs for name in judged.means):
        row(grid, name, *(_figure(name, judged.means.get(name)) for judged in runs))
    row(grid, "unanswered", *(str(judged.unanswered) for judged in runs))
    for label, values in _latencies(runs).items():
        row(grid, label, *("-" if value is None else f"{value:.1f}" for value in values))
    return grid


def _latencies(runs: Sequence[Judged]) -> Mapping[str, list[float | None]]:
    return {
        "ms p50": [judged.latency.p50 for judged in runs],
        "ms p95": [judged.latency.p95 for judged in runs],
        "ms p50 with embedding": [judged.latency.embedded_p50 for judged in runs],
        "ms p95 with embedding": [judged.latency.embedded_p95 for judged in runs],
    }


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if name == "tokens" else f"{value:.2f}" if name == "documents" else f"{value:.3f}"


def _recall(out: Console, runs: Sequence[Judged]) -> Table:
    """A bar for each run and k."""
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(no_wrap=True, min_width=_BAR)
    grid.add_column(no_wrap=True)
    ascii_only = out.options.ascii_only
    for name in dict.fromkeys(name for judged in runs for name in judged.means if _RECALL.fullmatch(name)):
        for place, judged in enumerate(runs):
            value = judged.means.get(name, 0.0)
            row(grid, "" if place else name, judged.run.name, bar(value, ascii_only=ascii_only), f"{value:.3f}")
    return grid


def bar(value: float, *, ascii_only: bool = False) -> str:
    """A value from 0 to 1 as a bar of 24 characters and eighths of one, at most."""
    if ascii_only:
        return "#" * round(value * _BAR)
    whole, part = divmod(round(value * _BAR * 8), 8)
    return "█" * whole + _EIGHTHS[part].strip()


def _show_comparisons(out: Console, found: Evaluation, differences: int) -> None:
    first = found.judged[0].run.name
    out.print()
    out.print(said(f"against {first}", "bold"), soft_wrap=True)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("run", overflow="fold")
    grid.add_column("measure", no_wrap=True)
    for name in ("difference", "p", "p (Holm)", "better/equal/worse"):
        grid.add_column(name, justify="right", overflow="fold")
    for each in found.comparisons:
        counts = f"{each.better}/{each.equal}/{each.worse}"
        row(grid, each.run, each.measure, f"{each.after - each.before:+.3f}", _p(each.p), _p(each.p_holm), counts)
    out.print(grid)
    out.print(said(_verdict(found.comparisons), "dim"), soft_wrap=True)
    for each in found.comparisons:
        if differences and each.measure == "nDCG@10":
            _show_changes(out, f"{each.run} gained", each.gained[:differences])
            _show_changes(out, f"{each.run} lost", each.lost[:differences])


def _verdict(comparisons: Sequence[Comparison]) -> str:
    made = _counted(len(comparisons), "comparison")
    sure = sum(each.p_holm < _SIGNIFICANT for each in comparisons)
    return (
        f"Paired randomisation test, two-sided. {made}: by Holm's p, which holds for all of them together,"
        f" {sure} below {_SIGNIFICANT}."
    )


def _show_changes(out: Console, title: str, changes: Sequence[Change]) -> None:
    if not changes:
        return
    out.print()
    out.print(said(f"{title} (nDCG@10)", "bold"), soft_wrap=True)
    for change in changes:
        line = f"{change.before:.2f} -> {change.after:.2f}  {change.query}: {' '.join(change.text.split())}"
        out.print(said(line if len(line) <= _LINE else f"{line[: _LINE - 4].rstrip()} ..."), soft_wrap=True)


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}"
