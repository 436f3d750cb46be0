"""Vectors of windows: each chunk of a case cut to pieces of about 400 characters, for one more ranking in a replay.

A window ends where a sentence or a line ends, if one does so nearby, else at white space. Before each window of a
runbook stands the first line of its chunk, `title > heading`; the other sets' chunks are bare, as every stack gets
them. The vectors are kept beside the case, for embedding takes a minute or two. It knows no question and no ranking.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedders.onnx import UseMultilingual
from peers_case import Case

SIZE = 400
NEAR = 0.4
"""How far from where a window should end it may end, in windows."""
_END = re.compile(r"(?<=[.!?。！？；])\s+|(?<=[。！？；])|\n+")
_SPACE = re.compile(r"\s")


def cut(text: str, size: int = SIZE) -> list[str]:
    """The windows of a text, in order, about equally long; a text that has none of its own is its one window."""
    text = text.strip()
    count = max(1, round(len(text) / size))
    length = len(text) / count
    ends = [[match.end() for match in pattern.finditer(text)] for pattern in (_END, _SPACE)]
    cuts = [0]
    for number in range(1, count):
        at = _nearest(ends, length * number, NEAR * length, after=cuts[-1])
        if at > cuts[-1]:
            cuts.append(at)
    return [piece for start, end in pairwise([*cuts, len(text)]) if (piece := text[start:end].strip())] or [text]


def _nearest(ends: list[list[int]], ideal: float, near: float, after: int) -> int:
    """The nearest end of the first kind that has one near."""
    for found in ends:
        close = [end for end in found if abs(end - ideal) <= near and end > after]
        if close:
            return min(close, key=lambda end: abs(end - ideal))
    return int(ideal)


def of_case(case: Case, folder: Path) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Where each chunk's windows begin, and the vectors of all windows, a row each."""
    pieces = [_of_chunk(case, each.text) for each in case.chunks]
    begin = np.cumsum([0, *map(len, pieces)])
    kept = folder / f"windows-{SIZE}-{UseMultilingual.fingerprint[:8]}.npy"
    if not kept.exists():
        np.save(kept, UseMultilingual().embed_passages([piece for found in pieces for piece in found]))
    vectors = np.load(kept)
    if len(vectors) != begin[-1]:
        raise SystemExit(f"{kept} is of other windows; delete it")
    return begin[:-1], vectors


def _of_chunk(case: Case, text: str) -> list[str]:
    if case.name != "runbooks":
        return cut(text)
    head, _, body = text.partition("\n")
    return [f"{head}: {piece}" for piece in cut(body or head)]
