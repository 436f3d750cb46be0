"""Neighbours or more hits: characters of the references found at equal token budgets, with and without neighbours.

    python bench/context.py [--data ../shared/data/chunking-eval] [--json FILE]

The documents are ingested with the default model, each question is looked up with the cap off. Two tables per mode:

- filled: chunks are taken until the budget is full, hit by hit, each with its neighbours, the nearest first. With more
  neighbours there is room for fewer hits.
- as it is: what `to_agent` shows with five hits and the neighbours that fit beside them, and with ten hits and none.

Tokens are Citewell's own bound. The default of `neighbours` is the best column of the first table; a curve, no bound.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from citewell import Knowledge, LookupResult, Settings
from citewell.context import wanted
from citewell.evaluation.datasets import read_dataset
from citewell.model import Budget, EvidenceBlock
from citewell.projection import token_bound
from dataset_store import fill
from quality import MODES, References, Span, overlap, references

_BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
_NEIGHBOURS = (0, 1, 2, 3)
_AS_IT_IS = ((5, 0), (5, 1), (5, 2), (10, 0))
_HITS = 50
Row = dict[str, object]
_tokens = cache(token_bound)


def in_turn(
    hits: Sequence[EvidenceBlock], chunks: Mapping[str, EvidenceBlock], neighbours: int
) -> Iterator[EvidenceBlock]:
    """Hit by hit, each with its neighbours, the nearest first and that before it before that after it; each once."""
    taken: set[str] = set()
    for hit in hits:
        near = sorted(wanted([hit], neighbours), key=lambda key: abs(_index(chunks.get(key)) - _index(hit)))
        for key in (hit.evidence_key, *near):
            if key in chunks and key not in taken:
                taken.add(key)
                yield chunks[key]


def _index(block: EvidenceBlock | None) -> int:
    return block.chunk_index if block is not None and block.chunk_index is not None else 0


def filled(blocks: Iterator[EvidenceBlock], budget: int) -> list[EvidenceBlock]:
    """The first of these that together have no more tokens."""
    kept: list[EvidenceBlock] = []
    spent = 0
    for block in blocks:
        spent += _tokens(block.text)
        if spent > budget:
            break
        kept.append(block)
    return kept


def recall(blocks: Sequence[EvidenceBlock], wanted_spans: Sequence[tuple[str, Span]]) -> float:
    """The part of the characters of these references that lies in these blocks."""
    found = sum(
        overlap([span], [block.span for block in blocks if block.doc_id == name and block.span])
        for name, span in wanted_spans
    )
    return found / sum(end - start for _, (start, end) in wanted_spans)


def shown(result: LookupResult) -> list[EvidenceBlock]:
    """What `to_agent` shows whole, under the default limit of tokens alone."""
    seen = result.to_agent(Budget(max_items=None, max_chars_per_item=None, max_chars=None))
    items = seen["evidence"]
    assert isinstance(items, list)  # noqa: S101 - narrows the type for readers and mypy
    whole = {item["document_id"] for item in items if not item["truncated"]}
    return [block for block in result.evidence if block.evidence_key in whole]


def mean(values: Sequence[float]) -> float:
    """Of at least one."""
    return sum(values) / len(values)


def measure(knowledge: Knowledge, queries: Mapping[str, str], wanted_spans: References) -> tuple[list[Row], list[Row]]:
    """Both tables."""
    first: dict[tuple[int, int], list[float]] = {}
    second: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for name, spans in wanted_spans.items():
        widest = knowledge.lookup(
            queries[name], return_n=_HITS, max_chunks_per_document=0, neighbours=max(_NEIGHBOURS)
        ).evidence
        hits = [block for block in widest if block.role == "hit"]
        chunks = {block.evidence_key: block for block in widest}
        for neighbours in _NEIGHBOURS:
            for budget in _BUDGETS:
                kept = filled(in_turn(hits, chunks, neighbours), budget)
                first.setdefault((budget, neighbours), []).append(recall(kept, spans))
        for return_n, neighbours in _AS_IT_IS:
            kept = shown(
                knowledge.lookup(queries[name], return_n=return_n, max_chunks_per_document=0, neighbours=neighbours)
            )
            spent = sum(_tokens(block.text) for block in kept)
            second.setdefault((return_n, neighbours), []).append((recall(kept, spans), spent))
    return (
        [
            {"budget": budget, "neighbours": neighbours, "recall": round(mean(values), 4)}
            for (budget, neighbours), values in sorted(first.items())
        ],
        [
            {
                "return_n": return_n,
                "neighbours": neighbours,
                "recall": round(mean([value for value, _ in values]), 4),
                "tokens": round(mean([spent for _, spent in values])),
            }
            for (return_n, neighbours), values in second.items()
        ],
    )


def print_tables(mode: str, first: Sequence[Row], second: Sequence[Row]) -> None:
    """Both tables of a mode."""
    print(f"{mode}, filled\n\n| tokens | " + " | ".join(f"{n} neighbours" for n in _NEIGHBOURS) + " |")
    print("|---|" + "---|" * len(_NEIGHBOURS))
    for budget in _BUDGETS:
        row = [f"{each['recall']:.3f}" for each in first if each["budget"] == budget]
        print(f"| {budget:,} | " + " | ".join(row) + " |")
    print(f"\n{mode}, as it is\n\n| hits | neighbours | recall | tokens |\n|---|---|---|---|")
    for each in second:
        print(f"| {each['return_n']} | {each['neighbours']} | {each['recall']:.3f} | {each['tokens']:,} |")
    print(flush=True)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/chunking-eval"))
    parser.add_argument("--json", type=Path, help="where to write the figures too")
    arguments = parser.parse_args()
    dataset = read_dataset(arguments.data)
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "kb"
        fill(location, dataset)
        for mode in ("hybrid", "dense"):
            settings = Settings.of({**MODES[mode], "rag.hints": False})
            with Knowledge.open(location, settings=settings) as knowledge:
                first, second = measure(knowledge, dataset.queries, references(dataset))
            print_tables(mode, first, second)
            figures[mode] = {"filled": first, "as it is": second}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
