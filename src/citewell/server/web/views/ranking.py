"""Rankings side by side, with a line wherever one chunk stands in both: places and widths of a drawing; pure.

A unit is a pixel at full size. Columns stand left to right, ranks go down; nothing here draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from citewell.server.web.views.lookup import LookupView, Row
from citewell.server.web.views.text import short_key
from citewell.server.web.views.values import scored

DEPTH = 12
"""Ranks that are drawn unless more are asked for."""

NODE_WIDTH, NODE_HEIGHT, ROW_HEIGHT, HEAD = 236, 24, 30, 30
_GAP, _WIDEST_GAP, _FULL_WIDTH = 80, 200, 1184
_LABEL_COLUMNS = 22
_DEEPEST = 50

FUSED = "fused"
NAMES = {
    "dense": "dense",
    "dense_filtered": "dense, category",
    "lexical": "lexical",
    FUSED: "fused order",
    "dense_order": "dense",
    "hybrid_order": "hybrid",
    "fused_order": "fused",
    "rerank_order": "reranked",
}
_ORDER = ("dense_filtered", "dense", FUSED, "lexical")


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk in one ranking; `share` of the column's best score, from 0 to 1, None without a score."""

    key: str
    rank: int
    score: float | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A chunk's box: its left upper corner, what it says, and how long its bar is."""

    key: str
    rank: int
    x: int
    y: int
    label: str
    score: str
    bar: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Column:
    """One ranking; `more` counts the ranks that are not drawn."""

    name: str
    title: str
    x: int
    nodes: tuple[Node, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Line:
    """From a place in one ranking to the same chunk's place in another, as an SVG path; `path` names the ranking."""

    key: str
    path: str
    d: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing."""

    columns: tuple[Column, ...] = ()
    lines: tuple[Line, ...] = ()
    width: int = 0
    height: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict)


def paths_figure(view: LookupView, depth: int = DEPTH) -> Figure:
    """Every path's ranking around the fused order; in dense mode the one path alone."""
    rankings: dict[str, list[Entry]] = {}
    for name in (report.path for report in view.paths if report.status == "ran" and not report.refill):
        rankings[name] = _ranking(view.rows, name)
    if view.mode != "dense":
        rankings[FUSED] = _fused(view.rows)
    ordered = {name: rankings[name] for name in (*_ORDER, *rankings) if rankings.get(name)}
    joins = [(name, FUSED) for name in ordered if name != FUSED and FUSED in ordered]
    return figure(ordered, joins, depth, gap=_spread(len(ordered)))


def rerank_figure(view: LookupView, depth: int = DEPTH) -> Figure:
    """The fused order, or the dense one, beside what a reranker made of it."""
    before = _fused(view.rows) if view.mode != "dense" else _ranking(view.rows, "dense")
    after = [Entry(row.key, row.place, row.rerank, row.kept) for row in view.rows]
    return figure({"fused_order": before, "rerank_order": after}, [("fused_order", "rerank_order")], depth)


def compare_figure(dense: Sequence[str], hybrid: Sequence[str]) -> Figure:
    """What dense found beside what hybrid found, both in order; the first fifty of each."""
    both = set(dense) & set(hybrid)
    rankings = {
        "dense_order": [Entry(key, rank, kept=key in both) for rank, key in enumerate(dense, start=1)],
        "hybrid_order": [Entry(key, rank, kept=key in both) for rank, key in enumerate(hybrid, start=1)],
    }
    return figure(rankings, [("dense_order", "hybrid_order")], _DEEPEST)


def figure(
    rankings: Mapping[str, Sequence[Entry]], joins: Iterable[tuple[str, str]], depth: int, *, gap: int = _GAP
) -> Figure:
    """Columns in the order of the rankings, and the lines between each two that are joined."""
    columns = tuple(
        _column(name, place * (NODE_WIDTH + gap), entries, depth)
        for place, (name, entries) in enumerate(rankings.items())
    )
    by_name = {column.name: column for column in columns}
    lines = [line for start, end in joins for line in _lines(by_name[start], by_name[end])]
    keys = dict.fromkeys(node.key for column in columns for node in column.nodes)
    rows = max((len(column.nodes) for column in columns), default=0)
    return Figure(
        columns=columns,
        lines=tuple(sorted(lines, key=lambda line: line.kept)),  # those that were kept lie on top
        width=max(0, len(columns) * (NODE_WIDTH + gap) - gap),
        height=HEAD + rows * ROW_HEIGHT,
        numbers={key: number for number, key in enumerate(keys)},
    )


def _spread(columns: int) -> int:
    """The space between so many columns on a page of full width."""
    return min(_WIDEST_GAP, (_FULL_WIDTH - columns * NODE_WIDTH) // max(1, columns - 1))


def _ranking(rows: Iterable[Row], path: str) -> list[Entry]:
    """Without what a further request found: its ranks are of another search."""
    found = [
        Entry(r.key, r.ranks[path], r.scores.get(path), r.kept) for r in rows if path in r.ranks and not r.refilled
    ]
    return sorted(found, key=lambda entry: entry.rank)


def _fused(rows: Sequence[Row]) -> list[Entry]:
    """The order of fusion (RRF-3), which a reranker may have changed since; refilled ones stand behind."""
    if any(row.rerank is not None for row in rows):
        rows = sorted(rows, key=lambda row: (row.refilled, -(row.fused or 0.0), _best(row), -_similarity(row), row.key))
    return [Entry(row.key, rank, row.fused, row.kept) for rank, row in enumerate(rows, start=1)]


def _best(row: Row) -> int:
    return min(row.ranks.values(), default=0)


def _similarity(row: Row) -> float:
    return -2.0 if row.similarity is None else row.similarity


def _column(name: str, x: int, entries: Sequence[Entry], depth: int) -> Column:
    best = max((entry.score or 0.0 for entry in entries), default=0.0)
    places = 4 if name in (FUSED, "fused_order") else 3
    nodes = tuple(
        Node(
            key=entry.key,
            rank=entry.rank,
            x=x,
            y=HEAD + place * ROW_HEIGHT,
            label=short_key(entry.key, _LABEL_COLUMNS),
            score="" if entry.score is None else scored(entry.score, places),
            bar=max(0.0, (entry.score or 0.0) / best) if best > 0 else 0.0,
            kept=entry.kept,
        )
        for place, entry in enumerate(entries[:depth])
    )
    return Column(name, NAMES.get(name, name), x, nodes, max(0, len(entries) - depth))


def _lines(start: Column, end: Column) -> list[Line]:
    ends = {node.key: node for node in end.nodes}
    joined = [(node, ends[node.key]) for node in start.nodes if node.key in ends]
    return [Line(a.key, start.name, _curve(a, b), a.kept or b.kept) for a, b in joined]


def _curve(a: Node, b: Node) -> str:
    """From the edge of one box to the nearer edge of the other."""
    left, right = (a, b) if a.x < b.x else (b, a)
    x1, x2 = left.x + NODE_WIDTH, right.x
    y1, y2 = left.y + NODE_HEIGHT // 2, right.y + NODE_HEIGHT // 2
    bend = min(_WIDEST_GAP, x2 - x1) // 2
    return f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
