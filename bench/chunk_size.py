"""How large a chunk should be: reference characters found in the first five chunks, by the target of the splitter.

    python bench/chunk_size.py [--data ../shared/data/chunking-eval] [--targets 400 600 800 1000 1200 1600 2000]
        [--json FILE]

For each target the documents are ingested anew with the default model, and each question is looked up with the cap off.
Printed per mode: recall, precision and IoU (characters found / all shown and wanted) of the reference spans in the
first five chunks; and the recall at an equal budget, the first chunks that together hold 4,000 characters. Larger
chunks find more with five of them, and show more beside it: the choice is a compromise, for which bench/quality.py has
the other half. A curve, no bound.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from citewell import Knowledge, LookupResult, Settings
from citewell.adapters.local import LocalStore
from citewell.adapters.readers import TEXTS, FileReader
from citewell.analysis import ANALYZER_VERSION, analyze
from citewell.evaluation.datasets import read_dataset
from citewell.ingest import Ingestion
from citewell.model import EvidenceBlock, StoreBinding
from citewell.ports import Embedder, embedder_identity
from citewell.wiring import open_embedder
from quality import MODES, References, Span, characters, references

_FIRST = 5
_BUDGET = 4_000


def fill(location: Path, documents: Path, embedder: Embedder, target: int) -> tuple[int, float]:
    """Ingest the documents with this target; how many chunks, and their mean length."""
    store = LocalStore.open(location, create=True)
    binding = StoreBinding(embedder_identity(embedder), ANALYZER_VERSION)
    maximum = max(2_000, 2 * target)
    Ingestion(
        store,
        embedder,
        analyze=analyze,
        binding=binding,
        reader=FileReader(),
        texts=TEXTS,
        target=target,
        maximum=maximum,
    ).paths([documents])
    infos = list(store.documents())
    store.close()
    chunks = sum(info.chunks for info in infos)
    return chunks, sum(info.characters for info in infos) / chunks


def within_budget(blocks: Sequence[EvidenceBlock]) -> tuple[EvidenceBlock, ...]:
    """The first blocks that together hold at most the budget, and always one."""
    kept: list[EvidenceBlock] = []
    for block in blocks:
        if kept and sum(len(each.text) for each in kept) + len(block.text) > _BUDGET:
            break
        kept.append(block)
    return tuple(kept)


def score(result: LookupResult, wanted: Sequence[tuple[str, Span]]) -> tuple[float, float, float, float]:
    """Recall, precision and IoU of the first five, and recall within the budget."""
    first = characters(replace(result, evidence=result.evidence[:_FIRST]), wanted)
    return (*first, characters(replace(result, evidence=within_budget(result.evidence)), wanted)[0])


def print_target(
    data: Path, target: int, queries: Mapping[str, str], spans: References, embedder: Embedder
) -> dict[str, object]:
    """One line per mode, and the same as figures."""
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "kb"
        chunks, length = fill(location, data / "docs", embedder, target)
        print(f"target {target}: {chunks} chunks of {length:.0f} characters", flush=True)
        figures: dict[str, object] = {"target": target, "chunks": chunks, "characters": length}
        for mode, values in MODES.items():
            with Knowledge.open(location, settings=Settings.of(values), embedder=embedder) as knowledge:
                results = [
                    score(knowledge.lookup(queries[name], return_n=20, max_chunks_per_document=0), wanted)
                    for name, wanted in spans.items()
                ]
            recall, precision, iou, at_budget = (sum(column) / len(results) for column in zip(*results, strict=True))
            print(
                f"  {mode:<8} recall@5 {recall:.4f}  precision@5 {precision:.4f}  IoU@5 {iou:.4f}"
                f"  recall in {_BUDGET} characters {at_budget:.4f}",
                flush=True,
            )
            figures[mode] = {"recall@5": recall, "precision@5": precision, "IoU@5": iou, "recall in budget": at_budget}
    return figures


def main() -> int:
    """Print the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/chunking-eval"))
    parser.add_argument("--targets", type=int, nargs="+", default=[400, 600, 800, 1_000, 1_200, 1_600, 2_000])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    dataset, embedder = read_dataset(arguments.data), open_embedder(Settings().embedder)
    wanted = references(dataset)
    rows = [print_target(arguments.data, target, dataset.queries, wanted, embedder) for target in arguments.targets]
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
