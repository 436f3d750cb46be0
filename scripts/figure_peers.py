"""The tables of docs/benchmarks.md: Citewell beside its peers, from bench/results/peers and peers_scale.json; pure.

Losing rows are in it, and marked: `^` where a peer's hybrid is above Citewell's with p < .05, `v` where it is below
with p < .05 (paired randomisation test over the questions), nothing where chance explains the difference.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from figure_tables import bold, number, share, signed, table

LABELS: Mapping[str, str] = {
    "citewell": "**Citewell**, the given chunks",
    "citewell-own": "Citewell, the files by itself",
    "textbook": "textbook RRF (numpy, bm25s)",
    "txtai": "txtai",
    "txtai-content": "txtai with its texts (`content`)",
    "lancedb": "LanceDB",
    "lancedb-hnsw": "LanceDB with a graph (IVF_HNSW_SQ)",
    "langchain": "LangChain EnsembleRetriever",
    "langchain-milvus": "langchain-milvus on Milvus Lite",
    "llamaindex": "LlamaIndex QueryFusionRetriever",
    "haystack": "Haystack DocumentJoiner",
}
_SETS = ("chunking-eval", "anthropic-docs", "xquad-en", "cmrc2018-dev", "runbooks")
_OWN = ("citewell", "citewell-own")
_GIVEN = ", the given chunks"
_METRICS = ("nDCG@10", "recall@5")
_TIMED = "chunking-eval"
_LEVEL = 0.05
Results = Mapping[str, Any]


def _stacks(results: Results) -> list[str]:
    return [stack for stack in LABELS if any(stack in found["stacks"] for found in results.values())]


def _sets(results: Results) -> list[str]:
    return [name for name in _SETS if name in results]


def _way(results: Results, name: str, stack: str, way: str) -> Mapping[str, float] | None:
    found = results[name]["stacks"].get(stack)
    figures: Mapping[str, float] | None = found and found["ways"].get(way)
    return figures


def _mark(results: Results, name: str, other: str, metric: str) -> str:
    test = results[name]["stacks"]["citewell"]["against"].get(other)
    if test is None or test[metric]["p"] >= _LEVEL:
        return ""
    return "^" if test[metric]["difference"] < 0 else "v"


def hybrid(results: Results) -> str:
    """Quality of every stack's hybrid search; the best of a set in bold."""
    names = _sets(results)
    rows = []
    for stack in _stacks(results):
        cells, values = [], []
        for name in names:
            found = _way(results, name, stack, "hybrid")
            if found is None:
                cells.append("")
                continue
            values.append(found)
            cells.append(" / ".join(_cell(results, name, stack, metric) for metric in _METRICS))
        means = [statistics.mean(each[metric] for each in values) for metric in _METRICS]
        whole = " / ".join(map(share, means)) if len(values) == len(names) else ""
        rows.append([LABELS[stack], *cells, whole])
    return table(["nDCG@10 / recall@5", *names, "mean"], rows)


def best(results: Results) -> str:
    """Citewell's paths and hybrid, and the best peer's hybrid on each set; the mean of each column."""
    names, rows = _sets(results), []
    columns: list[list[float]] = []
    for name in names:
        own = [_way(results, name, "citewell", way) or {} for way in ("dense", "lexical", "hybrid")]
        peers = {
            stack: found["ways"]["hybrid"]["nDCG@10"]
            for stack, found in results[name]["stacks"].items()
            if stack not in _OWN
        }
        first = max(peers, key=lambda stack: peers[stack])
        values = [*(each["nDCG@10"] for each in own), peers[first]]
        columns.append(values)
        mark = _mark(results, name, f"{first} hybrid", "nDCG@10")
        cells = [bold(share(value), when=round(value, 3) >= round(max(values), 3)) for value in values]
        rows.append([name, *cells[:3], f"{cells[3]}{mark} ({LABELS[first].partition(' (')[0]})"])
    means = [share(statistics.mean(values)) for values in zip(*columns, strict=True)]
    rows.append(["mean", *means])
    return table(["nDCG@10", "dense alone", "lexical alone", "hybrid", "best peer's hybrid"], rows)


def _cell(results: Results, name: str, stack: str, metric: str) -> str:
    found = {each: _way(results, name, each, "hybrid") for each in _stacks(results) if each != "citewell-own"}
    best = max(round(each[metric], 3) for each in found.values() if each)
    figures = _way(results, name, stack, "hybrid") or {}
    value = round(figures[metric], 3)
    return bold(share(value), when=value >= best) + _mark(results, name, f"{stack} hybrid", metric)


def paired(results: Results) -> str:
    """Citewell's hybrid less each other run: difference, questions better and worse, p."""
    names = _sets(results)
    others = dict.fromkeys(key for name in names for key in results[name]["stacks"]["citewell"]["against"])
    rows = []
    for other in others:
        stack, _, way = other.rpartition(" ")
        for metric in _METRICS:
            tests = [results[name]["stacks"]["citewell"]["against"].get(other) for name in names]
            cells = [_tested(test[metric]) if test else "" for test in tests]
            label = f"{LABELS[stack].replace('**', '').removesuffix(_GIVEN)}, {way}"
            rows.append([label, metric, *cells])
    return table(["Citewell's hybrid less", "", *names], rows)


def _tested(test: Mapping[str, Any]) -> str:
    text = f"{signed(test['difference'])} ({test['better']}:{test['worse']}, p {test['p']:.3f})"
    return bold(text, when=test["p"] < _LEVEL)


def paths(results: Results) -> str:
    """Each stack's paths alone, nDCG@10: which path is the weak one on a set."""
    names = _sets(results)
    rows = []
    for stack in _stacks(results):
        for way in ("dense", "lexical"):
            found = [_way(results, name, stack, way) for name in names]
            rows.append(
                [LABELS[stack].replace("**", ""), way, *(share(each["nDCG@10"]) if each else "" for each in found)]
            )
    return table(["nDCG@10", "path", *names], rows)


def costs(results: Results) -> str:
    """Times, building and memory on one set, and each time as a multiple of Citewell's."""
    stacks = results[_TIMED]["stacks"]
    own = stacks["citewell"]["ways"]["hybrid"]["p50 ms"]
    rows = []
    for stack in _stacks(results):
        found = stacks.get(stack)
        if found is None:
            continue
        times = found["ways"]["hybrid"]
        build = found["build_processor_s"]
        rows.append(
            [
                LABELS[stack],
                f"{number(times['p50 ms'])} / {number(times['p95 ms'])}",
                f"{times['p50 ms'] / own:.2f}",
                *(number(found["ways"][way]["p50 ms"]) for way in ("dense", "lexical")),
                "" if build is None else number(build),
                number(found["memory_mb"]),
                number(found["disk_mb"]) if found["disk_mb"] else "none",
            ]
        )
    head = [
        "",
        "hybrid p50 / p95, ms",
        "times Citewell's",
        "dense p50",
        "lexical p50",
        "build, processor s",
        "memory, MB",
    ]
    return f"{table([*head, 'on disk, MB'], rows)}\n\n{_when(results[_TIMED])}"


def _when(result: Mapping[str, Any]) -> str:
    if result.get("fresh"):
        return f"All timed in one run, one stack after the other: commit {result['commit']}, {result['date']}."
    return "The peers' times were kept from an earlier run than Citewell's, so ratios between the two mean little."


def scale(result: Mapping[str, Any]) -> str:
    """Hybrid at 100,000 chunks; Citewell with hints, without, and as deep as its peers."""
    own = result["stacks"]["citewell"]["p50 ms"]
    rows = []
    for stack, found in result["stacks"].items():
        rows.append(
            [
                LABELS[stack].replace(_GIVEN, ""),
                f"{number(found['p50 ms'])} / {number(found['p95 ms'])}",
                f"{found['p50 ms'] / own:.2f}",
                number(found["dense p50 ms"]),
                share(found["dense recall@20"]),
                number(found["build_processor_s"]),
                number(found["memory_mb"]),
                number(found["disk_mb"]) if found["disk_mb"] else "when saved",
            ]
        )
        others = [name for name in found if name.startswith("p50 ms ")]
        rows += [_also(name, found[name], own) for name in others]
    head = ["", "hybrid p50 / p95, ms", "times Citewell's", "dense p50", "dense recall@20", "build, processor s"]
    ratios = [_judged(result[name], result["bound"]) for name in ("ratio, shallow", "ratio, plain", "ratio")]
    after = (
        f"\n\n{result['chunks']:,} chunks, commit {result['commit']}: Citewell's p50 is {ratios[0]} of that"
        f" of the fastest peer that keeps texts on disk, {LABELS[result['fastest']]}, where both do the same;"
        f" {ratios[1]} at its own depth, {ratios[2]} with hints as well (bound {result['bound']:g})."
    )
    return table([*head, "memory, MB", "on disk, MB"], rows) + after


def _judged(ratio: float, bound: float) -> str:
    return f"{ratio:.2f} ({verdict(ratio, bound)})"


def verdict(ratio: float, bound: float) -> str:
    """Whether a ratio keeps to its bound."""
    return "held" if ratio <= bound else "missed"


def _also(name: str, milliseconds: float, own: float) -> list[str]:
    return [name.replace("p50 ms", "the same"), number(milliseconds), f"{milliseconds / own:.2f}", *[""] * 5]


def versions(results: Results) -> str:
    """What ran, and at which commit of Citewell."""
    commits = sorted({f"{found['commit']} ({found['date']})" for found in results.values()})
    rows = []
    for stack in _stacks(results):
        found = next(each["stacks"][stack] for each in results.values() if stack in each["stacks"])
        packages = ", ".join(f"{package} {version}" for package, version in found["versions"].items())
        rows.append([LABELS[stack].replace("**", ""), packages])
    return table(["", "versions"], rows) + f"\n\nCitewell at {', '.join(commits)}."


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "peers-best": ("peers", best),
    "peers-hybrid": ("peers", hybrid),
    "peers-paired": ("peers", paired),
    "peers-paths": ("peers", paths),
    "peers-costs": ("peers", costs),
    "peers-versions": ("peers", versions),
    "peers-scale": ("peers_scale.json", scale),
}
