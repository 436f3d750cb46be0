"""The command `eval`: labelled questions asked of modes and settings side by side, and what their answers are worth.

What is measured and compared is decided in `citewell.evaluation`; how a store is made ready, in `judging`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast, get_args

import typer

from citewell.cli.edge import IN_PART, edge, emit, leaving_nothing
from citewell.cli.options import ConfigOption, JsonOption, load_settings
from citewell.errors import InvalidRequest

if TYPE_CHECKING:
    from citewell.cli.judging import Bench
    from citewell.config import Settings
    from citewell.evaluation.model import Dataset
    from citewell.evaluation.report import Evaluation
    from citewell.evaluation.run import Told

Chosen = dict[str, object]

MODES: Final[Mapping[str, Chosen]] = {
    "dense": {"retrieval.search.mode": "dense"},
    "lexical": {"retrieval.search.mode": "hybrid", "retrieval.search.paths": ["lexical"]},
    "hybrid": {"retrieval.search.mode": "hybrid"},
}
"""What each run that `--mode` names sets."""

_NEXT_PAIR = re.compile(r",(?=[a-z]+(?:\.[a-z_-]+)+=)")
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
    from citewell.evaluation.files import write_files

    check_plots(out, plots=plots)
    labelled = read(dataset, qrels, grain, limit)
    shared = pairs(set_ or (), "--set") | ({} if cap is None else {"rag.max-chunks-per-document": cap})
    systems = {name: {**shared, **chosen} for name, chosen in runs(mode or (), run or ()).items()}
    settings = {name: load_settings(config, chosen) for name, chosen in systems.items()}
    _check_baseline(baseline, systems)
    with leaving_nothing(), judging.bench(labelled, kb, load_settings(config, shared), quiet=as_json) as bench:
        if bench.report is not None and not as_json:
            evaluation_text.ingested(bench.report)
        with evaluation_text.progress(len(labelled.queries) * len(systems), quiet=as_json) as told:
            found = _evaluation(bench, labelled, systems, settings, baseline, depth, told)
    written = [] if out is None else write_files(found, out, plots=plots)
    if as_json:
        emit(found.to_dict())
    else:
        evaluation_text.show(found, differences, written)
    if (bench.report is not None and not bench.report.ok) or any(each.run.refused for each in found.judged):
        raise typer.Exit(IN_PART)


def read(folder: Path, qrels: str | None, grain: str | None, limit: int | None) -> Dataset:
    """The labelled questions of a folder, as the options want them."""
    from citewell.evaluation.datasets import first_questions, read_dataset
    from citewell.evaluation.model import Grain

    if grain is not None and grain not in get_args(Grain):
        raise InvalidRequest(f"--grain can't be {grain!r}", way_out=f"Give one of {', '.join(get_args(Grain))}.")
    dataset = read_dataset(folder, qrels=qrels, grain=cast("Grain | None", grain))
    return dataset if limit is None else first_questions(dataset, limit)


def runs(modes: Sequence[str], named: Sequence[str]) -> dict[str, Chosen]:
    """The settings of each run by its name: the modes', then the named ones'; all modes where nothing is asked for.

    Raises:
        InvalidRequest: a mode is unknown, a name is missing or taken, or a setting can't differ between runs.
    """
    found: dict[str, Chosen] = {}
    for mode in modes or ([] if named else MODES):
        if mode not in MODES:
            raise InvalidRequest(f"--mode can't be {mode!r}", way_out=f"Give one of {', '.join(MODES)}.")
        found[mode] = dict(MODES[mode])
    for text in named:
        name, sign, rest = text.partition(":")
        if not sign or not name.strip() or name in found:
            problem = "names a run that there is already" if name in found else "has no NAME: in front"
            raise InvalidRequest(f"--run {text!r} {problem}", way_out="Write --run wide:rag.retrieve-k=100.")
        found[name] = _of_one_run(pairs(_NEXT_PAIR.split(rest), f"--run {name}"))
    return found


def pairs(texts: Sequence[str], where: str) -> Chosen:
    """KEY=VALUE texts as settings.

    Raises:
        InvalidRequest: one has no `=`.
    """
    found: Chosen = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise InvalidRequest(f"{where} {text!r} is no KEY=VALUE", way_out="Write rag.retrieve-k=100.")
        found[key.strip()] = value.strip()
    return found


def check_plots(out: Path | None, *, plots: bool) -> None:
    """Refuse plots that could not be drawn or kept, before hours of work.

    Raises:
        InvalidRequest: there is no folder for them, or nothing to draw them with.
    """
    if not plots:
        return
    from citewell.evaluation.plots import check_plots as check

    if out is None:
        raise InvalidRequest("--plots needs a folder", way_out="Name it with --out.")
    check()


def _of_one_run(chosen: Chosen) -> Chosen:
    from citewell.cli.judging import FREE

    fixed = [key for key in chosen if not key.startswith(FREE)]
    if fixed:
        raise InvalidRequest(
            f"{fixed[0]} can't differ between runs, which share a store",
            way_out="Judge another store with --kb, or set it for all runs with --set.",
        )
    return chosen


def _check_baseline(baseline: str | None, systems: Mapping[str, object]) -> None:
    from citewell.evaluation.report import check_baseline

    check_baseline(baseline, list(systems))


def _evaluation(
    bench: Bench,
    dataset: Dataset,
    systems: Mapping[str, Chosen],
    settings: Mapping[str, Settings],
    baseline: str | None,
    depth: int,
    told: Told,
) -> Evaluation:
    from citewell.evaluation.measures import judge
    from citewell.evaluation.report import evaluate as evaluated
    from citewell.evaluation.run import ask_all
    from citewell.evaluation.truth import hold_against

    truth = hold_against(dataset, bench.stored(), bench.chunks, texts=bench.texts)
    judged = []
    for name, chosen in systems.items():
        deep = min(depth, settings[name].lookup.retrieve_k)
        with bench.system(settings[name], depth=deep, first=list(dataset.queries.values())[:_WARM_UPS]) as ask:
            answers = ask_all(name, ask, dataset, settings=chosen, told=told)
        judged.append(judge(answers, dataset, truth, depth=deep))
    return evaluated(dataset, truth, judged, baseline=baseline, store=bench.facts())
