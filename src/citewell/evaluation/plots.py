"""Plots of an evaluation as PNG and SVG, drawn by matplotlib (extra `plots`); same figures, same bytes.

It knows no screen and no file system but the folder that it is given.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.errors import InvalidRequest
from citewell.evaluation.report import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RECALL = re.compile(r"recall@(\d+)")
_BARS = ("nDCG@10", "MRR", "AP", "all-evidence@5", "all-evidence@10", "char-recall@5", "char-precision@5", "char-IoU@5")
_SUFFIXES = ("png", "svg")


def check_plots() -> None:
    """Refuse plots where there is nothing to draw them with.

    Raises:
        InvalidRequest: matplotlib is not installed.
    """
    _figure()


def write_plots(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write `TITLE.recall`, `TITLE.measures` and `TITLE.differences`, each as PNG and SVG; the files, in that order.

    Raises:
        InvalidRequest: matplotlib is not installed.
        OSError: the folder can't be written to.
    """
    drawings: dict[str, Callable[[Any, Evaluation], None]] = {"recall": _recall, "measures": _measures}
    if len(evaluation.judged) > 1:
        drawings["differences"] = _differences
    return [path for name, draw in drawings.items() for path in _written(name, draw, evaluation, folder)]


def _written(name: str, draw: Callable[[Any, Evaluation], None], evaluation: Evaluation, folder: Path) -> list[Path]:
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to load

    figure = _figure()(figsize=(8, 4.5), layout="constrained")
    paths = [folder / f"{evaluation.title}.{name}.{suffix}" for suffix in _SUFFIXES]
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "citewell", "axes.grid": True, "grid.alpha": 0.3}):
        warnings.simplefilter("ignore")  # a name in letters that the font lacks is drawn as boxes
        draw(figure, evaluation)
        for path in paths:
            # No date and no version in the files, so that the same figures give the same bytes.
            figure.savefig(path, dpi=144, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    return paths


def _figure() -> type[Figure]:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to load
    except ImportError as error:
        raise InvalidRequest(
            "plots need matplotlib, which is not installed", way_out="Run: pip install 'citewell[plots]'."
        ) from error
    return Figure


def _recall(figure: Figure, evaluation: Evaluation) -> None:
    """Recall by k, a line for each run."""
    axes = figure.add_subplot()
    for judged in evaluation.judged:
        curve = _curve(judged.means)
        axes.plot(list(curve), list(curve.values()), marker="o", label=_plain(judged.run.name))
    depths = sorted({k for judged in evaluation.judged for k in _curve(judged.means)})
    axes.set(xlabel="k", ylabel="recall@k", ylim=(0, 1.02), xticks=depths, title=_title(evaluation))
    axes.legend()


def _measures(figure: Figure, evaluation: Evaluation) -> None:
    """A group of bars for each measure, a bar for each run."""
    axes, count = figure.add_subplot(), len(evaluation.judged)
    names = [name for name in _BARS if all(name in judged.means for judged in evaluation.judged)]
    width = 0.8 / count
    for place, judged in enumerate(evaluation.judged):
        left = [group - 0.4 + width * (place + 0.5) for group in range(len(names))]
        axes.bar(left, [judged.means[name] for name in names], width, label=_plain(judged.run.name))
    axes.set(ylim=(0, 1.02), xticks=range(len(names)), title=_title(evaluation))
    axes.set_xticklabels(names, rotation=20, ha="right")
    axes.legend()


def _differences(figure: Figure, evaluation: Evaluation) -> None:
    """nDCG@10 of each query less the baseline's, sorted: how much is gained and lost, and by how many."""
    axes, (baseline, *others) = figure.add_subplot(), evaluation.judged
    before = baseline.values("nDCG@10")
    for judged in others:
        gains = sorted(after - first for after, first in zip(judged.values("nDCG@10"), before, strict=True))
        axes.step(range(1, len(gains) + 1), gains, where="mid", label=_plain(judged.run.name))
    axes.axhline(0, color="black", linewidth=0.8)
    label = f"nDCG@10 less that of {_plain(baseline.run.name)}"
    axes.set(xlabel="questions, sorted by difference", ylabel=label, ylim=(-1.02, 1.02), title=_title(evaluation))
    axes.legend()


def _curve(means: Mapping[str, float]) -> dict[int, float]:
    return {int(match[1]): value for name, value in means.items() if (match := _RECALL.fullmatch(name))}


def _title(evaluation: Evaluation) -> str:
    return _plain(f"{evaluation.title}, {len(evaluation.dataset.queries)} questions")


def _plain(text: str) -> str:
    r"""Without meaning for matplotlib, to which `$` begins a formula and a first `_` hides a label."""
    return text.replace("$", r"\$").replace("_", " _", 1) if text.startswith("_") else text.replace("$", r"\$")
