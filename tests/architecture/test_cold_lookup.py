"""What one `citewell lookup` may import: each library and room here costs every single command its time."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import Document, Knowledge
from citewell.testing.fakes import HashEmbedder

BENCH = Path(__file__).resolve().parents[2] / "bench" / "cold_cli.py"

LIBRARIES = {
    "Stemmer", "numpy", "platformdirs", "regex", "rich", "typer",
    # Typer's:
    "annotated_doc", "annotated_types", "pydantic", "pydantic_core", "shellingham", "typing_extensions",
    "typing_inspection",
}  # fmt: skip
"""Of others. The model's are not among them, for the embedder here needs none."""

NEEDLESS = (
    "asyncio", "http.client", "multiprocessing", "rjieba", "ssl", "tomllib", "unittest", "xml", "yaml",
    "citewell.adapters.milvus", "citewell.adapters.readers", "citewell.evaluation", "citewell.guard", "citewell.ingest",
    "citewell.projection.fit", "citewell.projection.tokens", "citewell.projection.view", "citewell.server",
)  # fmt: skip
"""Standard modules that take long, what only Chinese words, files of settings or agents need, and rooms of others."""

PROGRAM = """
import json, sys
from citewell.cli import brief, main
import citewell.adapters.embedders.models
import citewell.wiring
{embedder}
def end(code):
    homes = {{name.partition(".")[0]: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}}
    print(json.dumps([code, [name for name, home in homes.items() if "site-packages" in home], list(sys.modules)]))
brief.end = end
main()
"""
FAKE = """
class Fake:
    name, dimensions, fingerprint, max_tokens = {identity!r}
    def embed_query(self, text):
        import numpy
        return numpy.eye(self.dimensions, dtype="float32")[0]
citewell.wiring.open_embedder = lambda *_: Fake()
citewell.wiring.begin_embedder = lambda _: None
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """Libraries and modules of a process that has looked something up: hybrid, with hints, for people."""
    folder, fake = tmp_path_factory.mktemp("cold"), HashEmbedder()
    with Knowledge.open(folder / "kb", embedder=fake) as knowledge:
        knowledge.ingest_documents([Document("etcd.md", "# Etcd\n\n## Disk\n\nA slow disk makes etcd slow.")])
    identity = (fake.name, fake.dimensions, fake.fingerprint, fake.max_tokens)
    program = PROGRAM.format(embedder=FAKE.format(identity=identity))
    command = [sys.executable, "-c", program, "lookup", "why is etcd slow", "--mode", "hybrid", "--kb", "kb"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert "etcd.md#chunk-0" in done.stdout
    code, libraries, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    return set(libraries), set(modules)


@pytest.mark.requirement("API-2")
def test_a_lookup_loads_these_libraries_and_no_other(loaded: tuple[set[str], set[str]]) -> None:
    assert {name for name in loaded[0] if not name.startswith("_") and name != "citewell"} <= LIBRARIES


@pytest.mark.requirement("API-2")
def test_a_lookup_for_people_loads_none_of_what_it_does_not_use(loaded: tuple[set[str], set[str]]) -> None:
    assert [name for name in NEEDLESS if name in loaded[1]] == []


@pytest.mark.requirement("API-2")
def test_what_the_bench_counts_as_bare_is_what_a_lookup_loads(loaded: tuple[set[str], set[str]]) -> None:
    """Otherwise a lookup would be compared with more than it needs."""
    constants = [
        node.value
        for node in ast.parse(BENCH.read_text("utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BARE"
    ]
    names: set[str] = set()
    for node in ast.parse(ast.literal_eval(constants[0])).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    assert {"numpy", "typer", "rich.table"} <= names
    assert names - loaded[1] == {"onnxruntime", "onnxruntime_extensions"}  # the embedder here has no model
