"""Tables of Citewell's own figures, each from the JSON that one script of bench/ wrote; pure but for `load`.

It knows the shapes of those files and how figures are written: shares without the leading zero, times with
three digits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_QUALITY = {
    "runbooks desc, return-n 10": "runbooks, 114 descriptions, by document",
    "runbooks summ, return-n 10": "runbooks, 106 summaries",
    "runbooks name, return-n 10": "runbooks, 108 alert names",
    "cmrc2018-dev, return-n 10": "cmrc2018-dev, 3,219 Chinese questions, by paragraph",
    "chunking-eval, cap off": "chunking-eval, characters of the references in five chunks: recall / precision",
}
_CURVE = {"recall@5": 2, "precision@5": 3, "recall in budget": 2}
_DEFAULT_TARGET = 800
_PATHS = ("dense", "lexical")
_MODES = (*_PATHS, "hybrid")


def load(path: Path) -> Any:  # noqa: ANN401 - JSON
    """The JSON of a file, or of each file of a folder by its name; None if there is none."""
    if path.is_dir():
        return {each.stem: load(each) for each in sorted(path.glob("*.json"))} or None
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """As Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join("| " + " | ".join(cells) + " |" for cells in lines).replace("| --- ", "|---").replace("---|", "---|")
    )


def share(value: float) -> str:
    """`.900`; 1 stays `1.000`."""
    return f"{value:.3f}".removeprefix("0") if value >= 0 else f"-{share(-value)}"


def signed(value: float) -> str:
    """`+.012`."""
    return ("+" if value >= 0 else "-") + share(abs(value))


def number(value: float) -> str:
    """Three digits at least, thousands set apart: `0.34`, `12.3`, `1,562`."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def bold(text: str, *, when: bool) -> str:
    """Bold where it is the best."""
    return f"**{text}**" if when else text


def ran(result: Mapping[str, Any]) -> str:
    """When it was measured, as a sentence: commit and day."""
    return f"Commit {result['commit']}, {result['date']}."


def quality(rows: Sequence[Mapping[str, Any]]) -> str:
    """bench/quality.py: the product by mode; the best of a row in bold."""
    by_name = {row["set"]: row["figures"] for row in rows}
    lines = []
    for name, label in _QUALITY.items():
        found = by_name.get(name)
        if found is None:
            continue
        first, second = list(found["hybrid"])[:2]
        best = max(round(found[mode][first], 3) for mode in _MODES)
        cells = [
            bold(
                f"{share(found[mode][first])} / {share(found[mode][second])}", when=round(found[mode][first], 3) == best
            )
            for mode in _MODES
        ]
        lines.append([label, *cells])
    return table(["set", "dense alone", "lexical alone", "hybrid"], lines)


def engine(figures: Sequence[Mapping[str, Any]]) -> str:
    """bench/engine.py: beside its bound and the plain alternative of the same run."""
    rows = []
    for each in figures:
        plain = each["flat"] if each["flat"] is not None else each["pair"]
        bound = f"{'>=' if each['at_least'] else '<='} {each['bound']:g}" + ("" if each["passed"] else ", missed")
        value = f"{each['value']:.3f}" if not each["unit"] else f"{number(each['value'])} {each['unit']}"
        rows.append([each["name"], value, bound, "" if plain is None else number(plain)])
    return table(["what", "Citewell", "bound", "plain"], rows)


def filled(modes: Mapping[str, Any]) -> str:
    """bench/context.py: recall by budget and neighbours; the best of each mode in bold."""
    counts = sorted({row["neighbours"] for row in modes["hybrid"]["filled"]})
    budgets = sorted({row["budget"] for row in modes["hybrid"]["filled"]})
    head = ["tokens", *(f"{mode}: {count}" if count == 0 else f"{count}" for mode in modes for count in counts)]
    rows = []
    for budget in budgets:
        cells = []
        for mode in modes.values():
            found = [row["recall"] for row in mode["filled"] if row["budget"] == budget]
            cells += [bold(share(value), when=value == max(found)) for value in found]
        rows.append([f"{budget:,}", *cells])
    return table(head, rows)


def as_it_is(modes: Mapping[str, Any]) -> str:
    """bench/context.py: what fits into the default budget."""
    rows = []
    for at, row in enumerate(modes["hybrid"]["as it is"]):
        found = [modes[mode]["as it is"][at] for mode in ("hybrid", "dense")]
        cells = [cell for each in found for cell in (share(each["recall"]), f"{each['tokens']:,}")]
        rows.append([str(row["return_n"]), str(row["neighbours"]), *cells])
    return table(["hits", "neighbours", "hybrid", "tokens", "dense", "tokens"], rows)


_CATEGORY = {"runbooks": "folder", "anthropic-docs": "two steps of the id"}


def hints_filter(result: Mapping[str, Any]) -> str:
    """bench/hints.py: with and without the filter."""
    head = ["set", "category is", "hint@3", "category", "off", "on", "better, worse", "p"]
    rows = []
    for row in result["filter"]:
        kind = _CATEGORY.get(row["set"].split()[0], "none")
        category = "" if kind == "none" else share(row["category"])
        quality = (share(row["nDCG@10 off"]), share(row["nDCG@10 on"]))
        changed = f"{row['better']}, {row['worse']}"
        rows.append([row["set"], kind, share(row["hint@3"]), category, *quality, changed, f"{row['p']:.2f}"])
    return table(head, rows)


def hints_cost(result: Mapping[str, Any]) -> str:
    """bench/hints.py: times and memory by the number of documents."""
    costs = result["cost"]
    names = [name for name in costs[0] if name != "documents"]
    rows = [[name, *(number(each[name]) for each in costs)] for name in names]
    return table(["documents", *(f"{each['documents']:,}" for each in costs)], rows)


def session(result: Mapping[str, Any]) -> str:
    """bench/session.py: what an agent is given, without and within a session."""
    rows = [[name, *(f"{each[key]:,}" for key in ("tokens", "texts", "repeats"))] for name, each in result.items()]
    return table(["", "tokens", "of which texts", "repeats of a text"], rows)


def chunk_size(rows: Sequence[Mapping[str, Any]]) -> str:
    """bench/chunk_size.py: hybrid, by the target of the splitter; the default in bold."""
    lines = []
    for row in rows:
        found = row["hybrid"]
        values = [f"{found[name]:.{places}f}".removeprefix("0") for name, places in _CURVE.items()]
        lines.append([bold(f"{row['target']:,}", when=row["target"] == _DEFAULT_TARGET), *values])
    return table(["target", "recall in five chunks", "precision", "recall in 4,000 characters"], lines)


def weighing(result: Mapping[str, Any]) -> str:
    """bench/weighing.py: each path alone, one weight for all queries, and each query's own."""
    fixed = [name for name in result["rows"][0] if name.startswith("fixed ")]
    head = ["set", *_PATHS, *fixed, "the best one", "chosen without it", "in force", "p against the better path"]
    lines = []
    for row in result["rows"]:
        left_out, one = row["chosen without it"], row["best fixed"]
        constants = ", ".join(f"{value:g}" for value in left_out["constants"])
        values = [share(row[name]) for name in (*_PATHS, *fixed)]
        values.append(f"{share(one['nDCG@10'])} ({one['weight']:.2g})")
        own = bold(share(row["in force"]), when=True)
        chosen = f"{share(left_out['nDCG@10'])} ({constants})"
        lines.append([row["set"], *values, chosen, own, f"{row['p against the better path']:.2f}"])
    return table(head, lines)


def ingestion(rounds: Sequence[Mapping[str, Any]]) -> str:
    """bench/ingest.py: beside the bare embedder over the same chunks, round by round."""
    head = [
        "documents",
        "chunks",
        "titles",
        "seconds",
        "of the bare embedder's speed",
        "by processor time",
        "bound",
        "a second run, s",
    ]
    rows = [
        [
            *(f"{each[name]:,}" for name in ("documents", "chunks", "titles")),
            number(each["seconds"]),
            bold(share(each["ratio"]), when=each["ratio"] >= each["bound"]),
            share(each["ratio of processor time"]),
            share(each["bound"]) + ("" if each["held"] else ", missed"),
            number(each["second run, seconds"]),
        ]
        for each in rounds
    ]
    return table(head, rows)


def rerun(figures: Mapping[str, Mapping[str, float]]) -> str:
    """bench/rerun.py: what a run after a change takes, with a small hashed embedder."""
    rows = []
    for name, found in figures.items():
        amount = f"{found['files']:,} files" if "files" in found else f"{found['embedded']:,} of {found['chunks']:,}"
        rows.append([name, number(found["seconds"]), amount])
    return table(["run", "seconds", "chunks embedded"], rows)


def memory(found: Mapping[str, Any]) -> str:
    """bench/memory.py: how memory grows with small files."""
    row = [f"{found['files']:,}", number(found["seconds"]), number(found["most MB"]), number(found["KB per file"])]
    return table(["small files", "seconds", "most memory, MB", "more per file, KB"], [row])


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "quality": ("quality.json", quality),
    "engine": ("engine.json", engine),
    "context-filled": ("context.json", filled),
    "context-as-it-is": ("context.json", as_it_is),
    "hints-filter": ("hints.json", hints_filter),
    "hints-cost": ("hints.json", hints_cost),
    "session": ("session.json", session),
    "chunk-size": ("chunk_size.json", chunk_size),
    "weighing": ("weighing.json", weighing),
    "ingestion": ("ingest.json", ingestion),
    "rerun": ("rerun.json", rerun),
    "memory": ("memory.json", memory),
}
