"""What tuning and calibration found, as text for people and as a piece of a configuration file.

Nothing is computed here that the findings don't already say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from citewell.cli.render import console, row, said
from citewell.evaluation.calibrate import Calibration
from citewell.evaluation.model import Dataset
from citewell.evaluation.tune_fragment import fragment, toml
from citewell.evaluation.tune_result import FLOOR, Comparison, Floor, Latencies, Tuning

_LOOKS = 8
_TITLES = {
    "propose": "A change is proposed",
    "keep": "No change of the search is proposed",
    "too_few": "Nothing can be said",
}
_FLOORS = {"propose": "proposed", "offer": "not proposed, but possible", "none": "not proposed"}


def proposal(found: Tuning, dataset: Dataset) -> str:
    """The piece of configuration that is proposed; comments alone if nothing is."""
    floor = found.floor
    reasons = [
        f"From `citewell tune`, {found.queries} judged questions of {dataset.name}.",
        f"{_TITLES[found.verdict]}: {found.why}.",
    ]
    if floor is not None and floor.verdict != "none":
        reasons.append(f"Similarity floor: {_floor(floor)}")
    text = fragment(found.proposed, reasons)
    return f"{text}# {FLOOR} = {floor.value:g}\n" if floor is not None and floor.verdict == "offer" else text


def beside(dataset: Dataset, latencies: Latencies | None, text: str) -> dict[str, object]:
    """What the JSON document has beside the finding."""
    return {
        "grain": dataset.grain,
        "judged": len(dataset.queries),
        "latency": None if latencies is None else latencies.to_dict(),
        "fragment": text,
    }


def show(found: Tuning, dataset: Dataset, latencies: Latencies | None, text: str, out: Path | None) -> None:
    """Everything that tuning found."""
    to = console()
    to.print(said(_heading(found, dataset), "bold"), soft_wrap=True)
    to.print(said(f"{_TITLES[found.verdict]}: {found.why}."), soft_wrap=True)
    if found.verdict == "too_few":
        return
    to.print()
    if found.changes:
        to.print(said("All that is proposed, on questions that the choice was made without", "bold"))
        to.print(_comparisons(found.comparisons))
    for title, lines in _sections(found, latencies):
        to.print(said(title, "bold"))
        for line in lines:
            to.print(said(f"  {line}"), soft_wrap=True)
        to.print()
    _end(text, out)


def _heading(found: Tuning, dataset: Dataset) -> str:
    judged = len(dataset.queries)
    drawn = f"{found.queries} of {judged}" if found.queries < judged else f"{judged}"
    return f"{dataset.name}: {drawn} judged questions, labels by {dataset.grain} ({dataset.labels}); {found.metric}"


def _comparisons(comparisons: Sequence[Comparison]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("", "in force", "tuned", "gain", "95% interval", "p"):
        grid.add_column(name, justify="right" if name else "left", overflow="fold")
    for each in comparisons:
        interval = f"{each.low:+.4f} to {each.high:+.4f}"
        row(
            grid,
            each.measure,
            f"{each.current:.4f}",
            f"{each.tuned:.4f}",
            f"{each.gain:+.4f}",
            interval,
            f"{each.p:.4f}",
        )
    return grid


def _sections(found: Tuning, latencies: Latencies | None) -> Iterator[tuple[str, list[str]]]:
    for step in found.steps:
        gain = step.comparisons[0]
        yield (
            f"{', '.join(step.keys)}: {'proposed' if step.kept else 'not proposed'}",
            [
                f"{changed(step.changes)}; {step.why}",
                f"held out {gain.gain:+.4f}, p = {gain.p:.4f}; {step.agreeing} of {found.folds} folds chose the same",
                *(
                    f"without {fold.queries} questions, {fold.gain:+.4f} on them: {changed(fold.changes)}"
                    for fold in step.by_fold
                    if fold.changes != step.changes
                ),
            ],
        )
    yield (
        f"Looked at: {len(found.looks)} settings; {found.metric} of the best and of those in force",
        [
            f"{look.mean:.4f}  {changed(look.changes)}"
            for look in found.looks
            if look in found.looks[:_LOOKS] or not look.changes
        ],
    )
    yield "Each path alone", [", ".join(f"{path} {mean:.4f}" for path, mean in found.alone.items())]
    if found.floor is not None:
        yield "Similarity floor", [_floor(found.floor)]
    if latencies is not None:
        yield "Latency", [_latency(latencies)]


def changed(changes: Mapping[str, tuple[object, object]]) -> str:
    """`rag.retrieve-k 50 -> 100, ...`."""
    parts = [f"{key} {_value(before)} -> {_value(after)}" for key, (before, after) in changes.items()]
    return ", ".join(parts) or "nothing changed"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ":".join(toml(each) for each in value.values())
    return "unset" if value is None else toml(value).strip('"')


def _floor(floor: Floor) -> str:
    if floor.value is None:
        return f"none: {floor.why}"
    rejected, judged = floor.unanswerable
    outside = f", and {rejected} of {judged} questions that nothing answers get nothing" if judged else ""
    return (
        f"{floor.value:g}, {_FLOORS[floor.verdict]}: {floor.why}. It rejects {floor.rejected:.0%} of the blocks"
        f" returned and leaves {floor.silenced} questions with nothing{outside}"
    )


def _latency(found: Latencies) -> str:
    return (
        f"{found.current:.1f} ms in force, {found.tuned:.1f} ms with what is proposed (medians of {found.queries}"
        f" lookups, by turns, without embedding); {found.agreeing} of {found.queries} questions got the first ten that"
        " were worked out"
    )


def floor_proposal(found: Calibration, embedder: str) -> str:
    """The piece of configuration that is proposed; comments alone if none is."""
    reasons = [
        f"Proposed by `citewell calibrate` for the embedder {embedder}.",
        f"{'A floor is proposed' if found.proposed else 'No floor is proposed'}: {found.why}.",
    ]
    return fragment({FLOOR: found.choice.floor} if found.proposed else {}, reasons)


def show_calibration(found: Calibration, embedder: str, text: str, out: Path | None) -> None:
    """Everything that calibration found."""
    to = console()
    to.print(said(f"Best similarities in this store, embedder {embedder}", "bold"), soft_wrap=True)
    to.print(_spreads(found))
    low, high = found.interval
    kept_low, kept_high = found.kept_interval
    to.print(
        said(f"{'A floor is proposed' if found.proposed else 'No floor is proposed'}: {found.why}."), soft_wrap=True
    )
    to.print(
        said(
            f"Floor {found.choice.floor:g} (95% interval {low:.2f} to {high:.2f}); it keeps {found.choice.kept:.0%}"
            f" ({kept_low:.0%} to {kept_high:.0%}). One of the store's own questions scores above an unrelated one in"
            f" {found.separation:.0%} of all pairs."
        ),
        soft_wrap=True,
    )
    to.print(_choices(found))
    for line in _remarks(found):
        to.print(said(line), soft_wrap=True)
    to.print()
    _end(text, out)


def _spreads(found: Calibration) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    names = [name for name in found.unrelated if name.startswith("p")]
    for name in ("", "questions", *names):
        grid.add_column(name, justify="right" if name else "left", overflow="fold")
    for title, spread in (("unrelated", found.unrelated), ("the store's own", found.known)):
        row(grid, title, f"{spread['questions']:.0f}", *(f"{spread[name]:.2f}" for name in names))
    return grid


def _choices(found: Calibration) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("floor", "rejects of unrelated", "keeps of the store's own"):
        grid.add_column(name, justify="right", overflow="fold")
    for each in found.choices:
        row(grid, f"{each.floor:.2f}", f"{each.rejected:.0%}", f"{each.kept:.0%}")
    return grid


def _remarks(found: Calibration) -> Iterator[str]:
    for each in found.languages:
        if each.differs:
            yield (
                f"Questions in {each.language!r} score {each.difference:+.2f} beside the others (median"
                f" {each.median:.2f}, p90 {each.high:.2f}; {each.questions} questions)."
            )
    yield "The unrelated questions that come closest; if the store answers one after all, it should not count:"
    for asked in found.nearest:
        yield f"  {asked.similarity:.2f}  {asked.question}"


def _end(text: str, out: Path | None) -> None:
    if out is None:
        print(text, end="")
    else:
        console().print(said(f"wrote {out}", "dim"), soft_wrap=True)
