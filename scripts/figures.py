"""Writes the tables of README.md and docs/ that come out of bench/results, each between its markers.

    python scripts/figures.py [--check]

A table stands between `<!-- figures: NAME -->` and `<!-- /figures -->`; the `figure_*.py` beside this, each for one
subject, make it from the JSON that a script of bench/ wrote. A table whose JSON is not there yet
is left as it is. With --check nothing is written; exit code 1 says that a page differs, and names a marker that no
table belongs to.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import figure_milvus
import figure_peers
import figure_scale
import figure_sentences
import figure_server
import figure_tables
import figure_times
import figure_tried
import figure_tuning
from pages import asked_to_check, settle

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGES = (
    "README.md",
    *(f"docs/{name}.md" for name in ("figures", "benchmarks", "scale", "tuning", "projections", "mcp", "milvus")),
)
_BETWEEN = re.compile(r"(<!-- figures: (?P<name>[\w-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)
Maker = Callable[[Any], str]
TABLES: Mapping[str, tuple[str, Maker]] = {
    **figure_tables.TABLES,
    **figure_peers.TABLES,
    **figure_tried.TABLES,
    **figure_scale.TABLES,
    **figure_server.TABLES,
    **figure_milvus.TABLES,
    **figure_tuning.TABLES,
    **figure_sentences.TABLES,
    **figure_times.TABLES,
}
"""Name -> the result that it is made of (a file, or a folder of files under bench/results) and how."""


def written(page: str) -> str:
    """The page with every table as the results have it.

    Raises:
        KeyError: a marker names no table.
    """
    return _BETWEEN.sub(lambda found: found[1] + _body(found) + found[3], page)


def _body(found: re.Match[str]) -> str:
    source, make = TABLES[found["name"]]
    result = figure_tables.load(RESULTS / source)
    return found[0].removeprefix(found[1]).removesuffix(found[3]) if result is None else f"\n{make(result)}\n\n"


def main() -> int:
    """Write or check every page."""
    wanted = {name: written((ROOT / name).read_text("utf-8")) for name in PAGES}
    return settle(ROOT, wanted, check=asked_to_check(__doc__))


if __name__ == "__main__":
    sys.exit(main())
