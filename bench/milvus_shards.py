"""What shards do to BM25: rankings in which each shard counts its own passages, beside the one over all of them.

    python bench/milvus_shards.py [--texts ../shared/data/k8s-docs] [--json FILE]

Simulated, for docs/scale.md: no server is asked. Without a folder of Markdown the passages are random ones.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.milvus.foreign.postings import Postings, counted
from citewell.analysis import analyze, analyze_query
from recorded import record

_WIDTH = 20


def random_texts(chance: np.random.Generator) -> tuple[list[list[str]], list[list[str]]]:
    """20,000 passages of 60 words that follow Zipf's law, and questions of six."""
    texts = [[f"w{word}" for word in chance.zipf(1.3, 60) if word < 50_000] for _ in range(20_000)]
    asked = [[f"w{word}" for word in chance.zipf(1.3, 6) if word < 50_000] or ["w1"] for _ in range(500)]
    return texts, asked


def markdown(folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Terms of every paragraph of at least 20 words, and of every heading of at least three."""
    paragraphs: list[str] = []
    headings: list[str] = []
    for file in sorted(folder.rglob("*.md")):
        for paragraph in re.split(r"\n\s*\n", file.read_text("utf-8", errors="replace")):
            is_heading = paragraph.startswith("#") and len(paragraph.split()) >= 4
            headings += [paragraph.splitlines()[0].lstrip("# ")] if is_heading else []
            paragraphs += [paragraph] if len(paragraph.split()) >= 20 else []
    return [analyze(text) for text in paragraphs], [list(terms) for text in headings if (terms := analyze_query(text))]


def of_shards(folder: Path | None, queries: int = 200) -> list[dict[str, object]]:
    """BM25 where each shard counts its own passages alone: what of the best 20 by all statistics is found.

    Passages are the paragraphs of Markdown files in the folder, questions their headings; without a folder random ones.
    """
    chance = np.random.default_rng(5)
    texts, asked = random_texts(chance) if folder is None else markdown(folder)
    documents = len(texts)
    asked = [asked[at] for at in chance.permutation(len(asked))[:queries]]
    whole = Postings.of(map(counted, texts))
    best = [_best(whole.scores(terms)) for terms in asked]
    rows: list[dict[str, object]] = []
    for shards in (2, 4, 16, 64):
        owners = chance.integers(0, shards, documents)
        overlaps, tops = [], []
        parts = [np.flatnonzero(owners == shard) for shard in range(shards)]
        indexes = [Postings.of(counted(texts[row]) for row in part) for part in parts]
        for terms, wanted in zip(asked, best, strict=True):
            scores = np.zeros(documents)
            for part, index in zip(parts, indexes, strict=True):
                scores[part] = index.scores(terms)
            found = _best(scores)
            overlaps.append(len(set(found) & set(wanted)) / max(len(wanted), 1))
            tops.append(found[:1] == wanted[:1])
        rows.append(
            {
                "shards": shards, "documents_per_shard": documents // shards,
                "overlap@20": round(float(np.mean(overlaps)), 3), "same_top_1": round(float(np.mean(tops)), 3),
            }
        )  # fmt: skip
        print("  " + ", ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    return rows


def _best(scores: NDArray[np.float64]) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:_WIDTH]
    return [int(row) for row in order if scores[row] > 0]


def main() -> None:
    """Simulate, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="a folder of Markdown files")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    record(options.json, "bench/milvus_shards.py", {"shards": of_shards(options.texts)})


if __name__ == "__main__":
    main()
