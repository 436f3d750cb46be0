"""Writes what an evaluation found to a folder: one JSON document, a TREC run for each run, the qrels, plots if wanted.

TITLE.json          what the inspector's Evaluations page reads
TITLE.NAME.run      a ranking for trec_eval
TITLE.qrels         what it is judged by there
TITLE.*.png, .svg   plots
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

from citewell.errors import InvalidRequest
from citewell.evaluation.report import Evaluation
from citewell.evaluation.trec import qrels_text, run_text


def write_files(evaluation: Evaluation, folder: Path, *, plots: bool = False) -> list[Path]:
    """Write the files, making the folder if need be, and name them. Same evaluation, same bytes, but for latencies.

    Raises:
        InvalidRequest: the folder can't be written to, or plots are wanted and can't be drawn.
    """
    texts = {f"{evaluation.title}.json": json.dumps(evaluation.to_dict(), ensure_ascii=False, indent=1) + "\n"}
    for judged in evaluation.judged:
        texts[f"{evaluation.title}.{file_name(judged.run.name)}.run"] = run_text(judged.run, evaluation.dataset)
    texts[f"{evaluation.title}.qrels"] = qrels_text(evaluation.truth.qrels)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [_write(folder / name, text) for name, text in texts.items()]
        return [*written, *_plots(evaluation, folder)] if plots else written
    except OSError as error:
        raise InvalidRequest(
            f"{folder} can't be written to: {error.strerror}", way_out="Name another folder with --out."
        ) from error


def check_folder(folder: Path) -> None:
    """Refuse a folder that could not be made or written to.

    Raises:
        InvalidRequest: it is a file, or lies in one, or its owner doesn't let us.
    """
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise InvalidRequest(f"{folder} can't be written to", way_out="Name another folder with --out.")


def file_name(name: str) -> str:
    """A run's name as part of a file's: different ones stay different."""
    return quote(name, safe="+,= ")


def _write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8", "backslashreplace"))
    return path


def _plots(evaluation: Evaluation, folder: Path) -> list[Path]:
    from citewell.evaluation.plots import write_plots  # noqa: PLC0415 - an extra

    return write_plots(evaluation, folder)
