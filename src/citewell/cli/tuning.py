"""The command `tune`: settings proposed from labelled questions, and what they are worth on questions held out.

What is tried, chosen and judged is decided in `citewell.evaluation`; how a store is made ready, in `judging`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from citewell.cli.codes import IN_PART
from citewell.cli.edge import edge, emit
from citewell.cli.fragment import check_out, write_out
from citewell.cli.options import ConfigOption, JsonOption, load_settings
from citewell.errors import InvalidRequest, StoreError

if TYPE_CHECKING:
    from citewell.cli.judging import Bench
    from citewell.config import Settings
    from citewell.evaluation.model import Dataset
    from citewell.evaluation.recorded import Recording
    from citewell.evaluation.tune import Task
    from citewell.evaluation.tune_result import Latencies, Tuning

SEED: Final = 20_090_719
METRICS: Final = ("nDCG@10", "recall@5", "recall@10", "MRR", "AP", "all-evidence@5", "all-evidence@10")

_DEPTH: Final = 20
"""Blocks that each question gets, to be judged: as many as `eval` looks at."""

_TIMED, _WARM_UPS, _COMPARED = 50, 3, 10


@edge
def tune(
    dataset: Annotated[Path, typer.Argument(help="A folder: queries.jsonl, labels, and documents.")],
    *,
    metric: Annotated[str, typer.Option(help=f"What to choose by: {', '.join(METRICS)}.")] = METRICS[0],
    mode: Annotated[str | None, typer.Option(help="Start from dense or hybrid. Default: the mode in force.")] = None,
    folds: Annotated[int, typer.Option(help="Parts of the cross-validation.", min=2, max=30)] = 5,
    seed: Annotated[int, typer.Option(help="Of folds, sample, test and bootstrap.", min=0)] = SEED,
    tolerance: Annotated[
        float, typer.Option(help="What a similarity floor may cost of nDCG@10 and recall@5.", min=0.0, max=1.0)
    ] = 0.005,
    qrels: Annotated[str | None, typer.Option(help="Which of several files of labels, such as desc.")] = None,
    grain: Annotated[str | None, typer.Option(help="What labels name: document, chunk or span.")] = None,
    limit: Annotated[int, typer.Option(help="The most judged questions, drawn by the seed; 0 = all.", min=0)] = 1_000,
    out: Annotated[Path | None, typer.Option(help="Write what is proposed to this TOML file.")] = None,
    kb: Annotated[
        str | None, typer.Option("--kb", help="A store to tune for as it is. Default: a new one of the documents.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose settings from labelled questions by cross-validation; a change that may be chance is not proposed."""
    from citewell.cli import evaluate, judging, tuning_text
    from citewell.evaluation.tune import sample, too_few
    from citewell.evaluation.tune import tune as tuned

    check_out(out)
    if metric not in METRICS:
        raise InvalidRequest(f"--metric can't be {metric!r}", way_out=f"Give one of {', '.join(METRICS)}.")
    labelled = evaluate.read(dataset, qrels, grain, None)
    drawn = sample(labelled, limit, seed)
    load = partial(_load, config, {"retrieval.search.mode": mode})
    settings, latencies, whole = load({}), None, True
    found = too_few(len(drawn.queries), metric, folds, seed)
    if found is None:
        with judging.bench(drawn, kb, settings, quiet=as_json) as bench:
            whole = _ingested(bench, quiet=as_json)
            task = _task(bench, drawn, settings, quiet=as_json)
            task = replace(task, metric=metric, folds=folds, seed=seed, tolerance=tolerance)
            found = tuned(task)
            latencies = _timed(bench, task, found, drawn, settings, load)
    text = tuning_text.proposal(found, labelled)
    if out is not None:
        write_out(out, text)
    if as_json:
        emit({"dataset": labelled.name, **found.to_dict(), **tuning_text.beside(labelled, latencies, text)})
    else:
        tuning_text.show(found, labelled, latencies, text, out)
    if not whole:
        raise typer.Exit(IN_PART)


def _ingested(bench: Bench, *, quiet: bool) -> bool:
    """Say what went into a store made for the purpose, and whether all of the dataset's documents did."""
    from citewell.cli import evaluation_text

    if bench.report is not None and not quiet:
        evaluation_text.ingested(bench.report)
    return bench.report is None or bench.report.ok


def _load(config: Path | None, given: Mapping[str, object | None], values: Mapping[str, object]) -> Settings:
    """The settings in force with these values, without what recordings can't have: a reranker, and hints."""
    from citewell.config import RerankerSettings

    settings = load_settings(config, {**given, **values})
    return replace(settings, lookup=replace(settings.lookup, hints=False), reranker=RerankerSettings())


def _task(bench: Bench, dataset: Dataset, settings: Settings, *, quiet: bool) -> Task:
    """Everything recorded, and the judge of it."""
    from citewell.cli import evaluation_text
    from citewell.evaluation.measures import judge
    from citewell.evaluation.truth import hold_against
    from citewell.evaluation.tune import Task
    from citewell.evaluation.tune_grid import stages
    from citewell.evaluation.tune_replay import Rules, Setting

    truth = hold_against(dataset, bench.stored(), bench.chunks, texts=bench.texts)
    with evaluation_text.progress(len(dataset.queries) + len(dataset.unanswerable), quiet=quiet) as told:
        recording = _recorded(bench, dataset.queries, told)
        outside = _recorded(bench, dataset.unanswerable, told) if dataset.unanswerable else None
    _check_whole(recording, outside)
    lookup = settings.lookup
    return Task(
        recording=recording,
        current=Setting.of(settings.search, lookup),
        rules=Rules(_depth(settings), lookup.keep_identifiers, lookup.refill),
        stages=stages(dataset.grain, settings.search.paths, return_n=_depth(settings), depth=recording.depth),
        judge=partial(judge, dataset=dataset, truth=truth, depth=_DEPTH),
        unanswerable=outside,
    )


def _check_whole(*recordings: Recording | None) -> None:
    """A path that failed for some questions would read as one that finds nothing.

    Raises:
        StoreError: one did.
    """
    causes = [cause for recording in recordings if recording is not None for cause in recording.degraded]
    if causes:
        raise StoreError(f"not every path answered every question: {causes[0]}", way_out="Mend that, then tune again.")


def _depth(settings: Settings) -> int:
    """How many blocks each question gets; a lookup returns no more than it retrieves (POST-5)."""
    return min(_DEPTH, settings.lookup.retrieve_k)


def _recorded(bench: Bench, queries: Mapping[str, str], told: Callable[[str, int], None]) -> Recording:
    from citewell.evaluation.recorded import record

    return record(
        queries, lambda text, deep: bench.knowledge.lookup(text, **deep), told=lambda done: told("questions", done)
    )


def _timed(
    bench: Bench,
    task: Task,
    found: Tuning,
    dataset: Dataset,
    settings: Settings,
    load: Callable[[Mapping[str, object]], Settings],
) -> Latencies | None:
    """Real lookups with the settings in force and with what is proposed, by turns; None if nothing is."""
    from citewell.evaluation.measures import percentile, ranked
    from citewell.evaluation.tune_folds import shuffled
    from citewell.evaluation.tune_replay import Setting, replay
    from citewell.evaluation.tune_result import Latencies

    if not found.proposed:
        return None
    changed = load(found.proposed)
    queries = shuffled(list(dataset.queries), task.seed)[:_TIMED]
    first = [dataset.queries[query] for query in queries[:_WARM_UPS]]
    took: dict[bool, list[float]] = {False: [], True: []}
    agreeing = 0
    depth = task.rules.return_n
    with (
        bench.system(settings, depth=depth, first=first) as now,
        bench.system(changed, depth=depth, first=first) as new,
    ):
        for query in queries:
            same = True
            for tuned, ask, each in ((False, now, settings), (True, new, changed)):
                answer = ask(dataset.queries[query])
                took[tuned].append(answer.milliseconds)
                setting = Setting.of(each.search, each.lookup)
                worked_out = replay(setting, task.rules, task.recording.queries[query], task.recording.chunks)
                same = same and ranked(answer, dataset)[:_COMPARED] == ranked(worked_out, dataset)[:_COMPARED]
            agreeing += same
    return Latencies(len(queries), percentile(took[False], 50), percentile(took[True], 50), agreeing)
