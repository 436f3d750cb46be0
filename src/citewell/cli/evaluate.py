"""The command `eval`: labelled questions asked of modes and settings side by side, and what their answers are worth.

What is measured and compared is decided in `citewell.evaluation`; how a store is made ready, in `judging`; what is
judged side by side, in `systems`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from citewell.cli.codes import IN_PART
from citewell.cli.edge import edge, emit, leaving_nothing
from citewell.cli.options import ConfigOption, JsonOption, load_settings
from citewell.errors import InvalidRequest

if TYPE_CHECKING:
    from citewell.cli.judging import Bench
    from citewell.cli.systems import System
    from citewell.evaluation.measures import Judged
    from citewell.evaluation.model import Dataset
    from citewell.evaluation.run import Told
    from citewell.evaluation.truth import Truth

_WARM_UPS = 3


@edge
def evaluate(
    dataset: Annotated[Path, typer.Argument(help="A folder with queries.jsonl, labels, and documents.")],
    *,
    mode: Annotated[
        list[str] | None, typer.Option("--mode", help="dense, lexical or hybrid; repeatable. Default: all three.")
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option("--run", help="NAME:KEY=VALUE,KEY=VALUE: a run with these settings; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE: a setting of every run; repeatable.")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="What the others are compared with. Default: the first.")] = None,
    qrels: Annotated[str | None, typer.Option(help="Which of several files of labels, such as desc.")] = None,
    grain: Annotated[str | None, typer.Option(help="What labels name: document, chunk or span.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first questions, by id.", min=1)] = None,
    depth: Annotated[int, typer.Option(help="Blocks that each question gets, to be judged.", min=1)] = 20,
    cap: Annotated[int | None, typer.Option(help="Chunks per document in every run; 0 = no cap.", min=0)] = None,
    differences: Annotated[int, typer.Option(help="Gains and losses shown of each run.", min=0, max=10)] = 3,
    out: Annotated[Path | None, typer.Option(help="Write results, TREC runs and qrels to this folder.")] = None,
    plots: Annotated[bool, typer.Option("--plots", help="Write plots there, too (PNG and SVG).")] = False,
    kb: Annotated[
        str | None, typer.Option("--kb", help="A store to judge as it is. Default: a new one of the documents.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge answers to labelled questions in each mode: recall, nDCG, MRR, latency, and what is more than chance."""
    from citewell.cli import evaluation_text, judging
    from citewell.cli.systems import pairs, systems
    from citewell.evaluation.files import write_files
    from citewell.evaluation.report import evaluate as evaluated
    from citewell.evaluation.truth import hold_against

    shared = pairs(set_ or (), "--set") | ({} if cap is None else {"rag.max-chunks-per-document": cap})
    chosen = systems(mode or (), run or (), shared, config)
    _check(chosen, baseline, out, plots=plots)
    labelled = read(dataset, qrels, grain, limit)
    with leaving_nothing(), judging.bench(labelled, kb, load_settings(config, shared), quiet=as_json) as bench:
        if bench.report is not None and not as_json:
            evaluation_text.ingested(bench.report)
        truth = hold_against(labelled, bench.stored(), bench.chunks, texts=bench.texts)
        with evaluation_text.progress(len(labelled.queries) * len(chosen), quiet=as_json) as told:
            judged = [_judged(bench, system, labelled, truth, depth, told) for system in chosen]
        found = evaluated(labelled, truth, judged, baseline=baseline, store=bench.facts())
    written = [] if out is None else write_files(found, out, plots=plots)
    if as_json:
        emit(found.to_dict())
    else:
        evaluation_text.show(found, differences, written)
    if (bench.report is not None and not bench.report.ok) or any(each.run.refused for each in judged):
        raise typer.Exit(IN_PART)


def read(folder: Path, qrels: str | None, grain: str | None, limit: int | None) -> Dataset:
    """The labelled questions of a folder, as the options want them."""
    from citewell.evaluation.datasets import first_questions, read_dataset
    from citewell.evaluation.model import Grain

    if grain is not None and grain not in get_args(Grain):
        raise InvalidRequest(f"--grain can't be {grain!r}", way_out=f"Give one of {', '.join(get_args(Grain))}.")
    dataset = read_dataset(folder, qrels=qrels, grain=cast("Grain | None", grain))
    return dataset if limit is None else first_questions(dataset, limit)


def _check(chosen: Sequence[System], baseline: str | None, out: Path | None, *, plots: bool) -> None:
    """Refuse what would fail after hours of work."""
    from citewell.evaluation.files import check_folder
    from citewell.evaluation.report import check_baseline

    check_baseline(baseline, [system.name for system in chosen])
    if plots and out is None:
        raise InvalidRequest("--plots needs a folder", way_out="Name it with --out.")
    if out is not None:
        check_folder(out)
    if plots:
        from citewell.evaluation.plots import check_plots

        check_plots()


def _judged(bench: Bench, system: System, dataset: Dataset, truth: Truth, depth: int, told: Told) -> Judged:
    """What one system's answers are worth; no deeper than its paths are wide."""
    from citewell.evaluation.measures import judge
    from citewell.evaluation.run import ask_all

    deep = min(depth, system.settings.lookup.retrieve_k)
    with bench.system(system.settings, depth=deep, first=list(dataset.queries.values())[:_WARM_UPS]) as ask:
        run = ask_all(system.name, ask, dataset, settings=system.chosen, told=told)
    return judge(run, dataset, truth, depth=deep)
