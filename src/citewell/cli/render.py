"""Values as text for people: evidence, the explanation of a lookup, reports, status.

Everything reads well at 80 columns, without colour and through a pipe. Document text is printed as text: it is never
taken for markup. Nothing is computed here that a result doesn't already say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from citewell import projection
from citewell.cli.streams import reader_has_gone
from citewell.model import (
    Candidate,
    DocumentInfo,
    EvidenceBlock,
    LookupOutcome,
    PathReport,
    StoreStatus,
)
from citewell.printable import printable

_LINES, _LINE = 6, 200


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise SystemExit(reader_has_gone())


def console(*, stderr: bool = False) -> Console:
    """Plain text through a pipe, colour on a terminal; `NO_COLOR` is respected."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)


def said(text: str, style: str = "") -> Text:
    """Text from anywhere: no markup is read in it, and no control character in it reaches the terminal."""
    return Text(printable(text), style=style)


def row(grid: Table, *cells: str) -> None:
    """A row of such texts."""
    grid.add_row(*map(printable, cells))


def number(value: float | None, places: int = 3) -> str:
    """`none` for what is not known; 0 is a value."""
    return "none" if value is None else f"{value:.{places}f}"


def why(candidate: Candidate) -> str:
    """`dense #1, lexical #3`: every path that found it, and its rank there."""
    return ", ".join(f"{reason.path} #{reason.rank}" for reason in candidate.reasons) or "asked for by its key"


def _preview(text: str) -> str:
    """The first lines, as they stand; what is left out is said."""
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [line if len(line) <= _LINE else f"{line[:_LINE].rstrip()} ..." for line in lines[:_LINES]]
    rest = len(lines) - len(shown)
    return "\n".join([*shown, f"... {rest} more lines"] if rest else shown)


def heading(item: Candidate) -> str:
    """`Title > Heading > Subheading`, each once."""
    return " > ".join(dict.fromkeys(part for part in [item.title, *item.breadcrumb.split(" > ")] if part))


def folded(key: str, width: int) -> str:
    """A key for a column of this width: it breaks after a `/` or before the chunk, not within a name."""
    lines = [""]
    for piece in re.split(r"(?<=/)|(?=#)", key):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


_STATUS = {
    "ok": "evidence found",
    "empty_store": "the store holds no documents yet",
    "no_match": "nothing matches within the filters",
    "below_similarity": "nothing reaches the similarity floor",
    "all_already_shown": "everything that matches was shown before",
}


def _summary(result: LookupOutcome) -> str:
    trace = result.trace
    beside = sum(item.role == "neighbour" for item in result.evidence)
    kept = f"{len(result.evidence) - beside} of {len(trace.candidates)} candidates"
    blocks = f"{kept} from {trace.distinct_documents} documents{f', {beside} neighbours' if beside else ''}"
    return f"{trace.mode}: {_STATUS[result.status]}; {blocks}; {trace.milliseconds.get('total', 0.0):.0f} ms"


def evidence(result: LookupOutcome) -> None:
    """Each block: its key, why it was found, where it stands, the beginning of its text."""
    out = console()
    out.print(said(_summary(result), "bold"))
    _remarks(out, result)
    for place, item in enumerate(result.evidence, start=1):
        _evidence_item(out, place, item, repeat=item.evidence_key in result.already_shown)


def _remarks(out: Console, result: LookupOutcome) -> None:
    for cause in result.degraded:
        out.print(said(f"degraded: {cause}", "yellow"))
    for note in result.trace.notes:
        out.print(said(f"note: {note}", "yellow"))
    if result.hints:
        pointers = ", ".join(f"{hint.kind} {hint.value}" for hint in result.hints)
        out.print(said(f"hints, no evidence: {pointers}", "dim"))


def _evidence_item(out: Console, place: int, item: EvidenceBlock, *, repeat: bool) -> None:
    found = f"similarity {number(item.similarity)}; found by {why(item)}"
    facts = "a neighbour of a hit" if item.role == "neighbour" else found
    out.print()
    out.print(said(f"[{place}] {item.evidence_key}", "bold cyan"))
    out.print(Padding(said(f"{facts}; shown before in this session" if repeat else facts, "green"), (0, 0, 0, 4)))
    if heading(item):
        out.print(Padding(said(heading(item), "dim"), (0, 0, 0, 4)))
    out.print(Padding(said(_preview(item.text)), (0, 0, 0, 4)))


def block(item: EvidenceBlock) -> None:
    """One chunk, whole."""
    out = console()
    out.print(said(item.evidence_key, "bold cyan"))
    if heading(item):
        out.print(said(heading(item), "dim"))
    line = f", line {item.locator.line}" if item.locator.line else ""
    out.print(said(f"{item.source}{line}", "dim"))
    out.print()
    out.print(said(item.text))


def agent(seen: Mapping[str, object]) -> None:
    """What an agent sees, to the letter."""
    print(projection.to_text(seen))


def explanation(result: LookupOutcome) -> None:
    """Every path's ranking side by side, the fused order, what was dropped and why, then the evidence."""
    out = console()
    out.print(said(_summary(result), "bold"))
    _remarks(out, result)
    out.print()
    _paths_table(out, result)
    _rankings_table(out, result)
    _fusion_table(out, result)
    _dropped_table(out, result)
    for place, item in enumerate(result.evidence, start=1):
        _evidence_item(out, place, item, repeat=item.evidence_key in result.already_shown)


def table(title: str, *columns: str, numbers: Sequence[str] = ()) -> Table:
    """An empty table in the house's style; `numbers` names the columns that are right-aligned."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        right = column in numbers
        table.add_column(column, justify="right" if right else "left", no_wrap=right, overflow="fold")
    return table


def _paths_table(out: Console, result: LookupOutcome) -> None:
    grid = table("Paths", "path", "status", "hits", "ms", "weight", "filter", numbers=("hits", "ms", "weight"))
    for report in result.trace.paths:
        weight = result.trace.weights.get(report.path)
        row(
            grid,
            report.path,
            _path_status(report),
            f"{report.hits}{'+' if report.cut else ''}",
            f"{report.milliseconds:.1f}",
            "" if weight is None else f"{weight:g}",
            report.filter,
        )
    out.print(grid)


def _path_status(report: PathReport) -> str:
    return f"{report.status}: {report.cause}" if report.cause else report.status


_ROWS = 10


def _rankings_table(out: Console, result: LookupOutcome) -> None:
    """The first rows of each ranking, each with its raw score; scores of two columns are never compared."""
    ran = [report.path for report in result.trace.paths if report.hits]
    if not ran:
        return
    grid = table("Rankings (raw scores; not comparable across paths)", "#", *ran, numbers=("#",))
    width = (out.width - 6) // len(ran) - 3
    rankings = {path: _ranking(result.trace.candidates, path, width) for path in ran}
    for rank in range(1, min(_ROWS, max(map(len, rankings.values()))) + 1):
        row(grid, str(rank), *(rankings[path].get(rank, "") for path in ran))
    out.print(grid)


def _ranking(candidates: Sequence[Candidate], path: str, width: int) -> dict[int, str]:
    return {
        reason.rank: f"{folded(candidate.evidence_key, width - 7)} {number(reason.score)}"
        for candidate in candidates
        for reason in candidate.reasons
        if reason.path == path
    }


def _fusion_table(out: Console, result: LookupOutcome) -> None:
    reranked = any(candidate.rerank_score is not None for candidate in result.trace.candidates)
    if result.trace.mode != "hybrid" and not reranked:
        return
    fates = {dropped.evidence_key: dropped.reason for dropped in result.trace.dropped}
    scores = (*(("rerank",) if reranked else ()), "fused", "similarity")
    columns = ("#", "evidence key", *scores, "found by", "outcome")
    grid = table("Reranked order" if reranked else "Fused order", *columns, numbers=("#", *scores))
    for rank, candidate in enumerate(result.trace.candidates[:_ROWS], start=1):
        row(
            grid,
            str(rank),
            folded(candidate.evidence_key, max(20, out.width - 60 - 9 * reranked)),
            *([number(candidate.rerank_score)] if reranked else []),
            number(candidate.fused_score, 5),
            number(candidate.similarity),
            why(candidate).replace(", ", "\n"),
            fates.get(candidate.evidence_key, "kept"),
        )
    out.print(grid)


def _dropped_table(out: Console, result: LookupOutcome) -> None:
    """Grouped by reason, each with the first few keys and their numbers."""
    if result.trace.out_of_scope:
        out.print(said(f"{result.trace.out_of_scope} hits outside the scope were dropped", "red"))
    groups: dict[str, list[str]] = {}
    for dropped in result.trace.dropped:
        groups.setdefault(dropped.reason, []).append(f"{dropped.evidence_key} ({dropped.detail})")
    if not groups:
        return
    grid = table("Dropped", "reason", "count", "the first of them", numbers=("count",))
    for reason, lines in groups.items():
        row(grid, reason, str(len(lines)), "\n".join(lines[:3]))
    out.print(grid)


def documents(infos: Sequence[DocumentInfo]) -> None:
    """The catalogue as a table."""
    grid = table(
        f"{len(infos)} documents",
        "document",
        "title",
        "category",
        "chunks",
        "characters",
        numbers=("chunks", "characters"),
    )
    for info in infos:
        row(grid, info.doc_id, info.title, info.category or "", str(info.chunks), str(info.characters))
    console().print(grid)


def status(found: StoreStatus) -> None:
    """Figures of the store, one a line."""
    rows: dict[str, object] = {
        "location": found.location,
        "engine": found.engine,
        "documents": found.documents,
        "chunks": found.chunks,
        "sequence": found.sequence,
    }
    if found.binding:
        embedder = found.binding.embedder
        rows["embedder"] = f"{embedder.name}, {embedder.dimensions} dimensions, {embedder.fingerprint[:12]}"
        rows["analyzer"] = found.binding.analyzer
    _pairs({**rows, **dict(found.details)})


def settings(rows: Sequence[tuple[str, object, str]]) -> None:
    """Every key, its value and origin."""
    grid = table("Settings", "key", "value", "origin")
    for name, value, origin in rows:
        row(grid, name, "(unset)" if value is None else str(value), origin)
    console().print(grid)


def _pairs(rows: Mapping[str, object]) -> None:
    grid = Table(show_header=False, box=None, pad_edge=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        row(grid, name, str(value))
    console().print(grid)
