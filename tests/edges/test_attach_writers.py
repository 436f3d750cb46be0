"""Collections written by the tools themselves: langchain-milvus, llama-index-vector-stores-milvus, milvus-haystack.

Slow: the tools pin another pymilvus than ours, so they get an environment of their own, in the user's cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from citewell import Knowledge, Settings
from citewell.foreign import attach, reindex
from citewell.identity import format_key as key
from citewell.testing.fakes import HashEmbedder

pytestmark = [pytest.mark.slow, pytest.mark.requirement("ENGINE-3")]

WRITER = Path(__file__).resolve().parents[1] / "support" / "foreign_writers.py"
PINS = (
    "langchain-milvus==0.3.3", "langchain-core==1.8.3", "llama-index-core==0.14.25", "haystack-ai==3.4.1",
    "pymilvus==2.6.7", "milvus-lite==3.2.2",
)  # fmt: skip
WITHOUT_THEIR_PINS = ("llama-index-vector-stores-milvus==1.2.0", "milvus-haystack==0.1.0")
EMBEDDER = HashEmbedder(64)
SETTINGS = Settings.of({"rag.max-chunks-per-document": 0})
TEXTS = {
    "etcd.md": (
        "etcd loses its leader when the disk is slow",
        "restart etcd one node at a time",
        "error E1207 of etcd",
    ),
    "pay.md": ("salaries are paid on the last day",),
}
CATEGORIES = {"etcd.md": "ops", "pay.md": "hr"}


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment with the tools; made at the first time."""
    home = Path(platformdirs.user_cache_dir("citewell-tests")) / f"writers-1-py{sys.version_info.minor}"
    found = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        for chosen in (PINS, ("--no-deps", *WITHOUT_THEIR_PINS)):
            install = [str(found), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *chosen]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"the tools can't be installed: {done.stderr[-300:]}")
        (home / "ready").touch()
    return found


def _passages() -> list[dict[str, object]]:
    return [
        {
            "doc_id": doc_id,
            "index": index,
            "text": text,
            "vector": EMBEDDER.embed_query(text).tolist(),
            "category": CATEGORIES[doc_id],
            "start": sum(len(each) for each in texts[:index]),
        }
        for doc_id, texts in TEXTS.items()
        for index, text in enumerate(texts)
    ]


def _by_number(prefix: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(prefix)


@pytest.mark.parametrize(
    ("tool", "preset", "lexical", "is_key"),
    [
        ("langchain", "langchain", "derived words", _by_number("vector:")),
        ("langchain-dynamic", "langchain", "derived words", _by_number("vector:")),
        ("langchain-json", "langchain", "derived words", _by_number("vector:")),
        ("langchain-bm25", "langchain", "the engine's BM25 over text (sparse)", _by_number("vector:")),
        ("llama-index", "llama-index", "derived words", _by_number("vector:node-")),
        ("haystack", "haystack", "derived words", lambda name: "#" in name),
    ],
)
def test_what_the_tool_wrote_is_found_with_right_keys_scores_and_filters_and_can_be_copied(
    python: Path, tmp_path: Path, tool: str, preset: str, lexical: str, is_key: Callable[[str], bool]
) -> None:
    database, kb, copy = tmp_path / "theirs.db", tmp_path / "kb", tmp_path / "copy"
    written = subprocess.run(
        [str(python), str(WRITER), tool, str(database), "theirs"],
        input=json.dumps(_passages()), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert written.returncode == 0, written.stderr[-2000:]
    found = attach(f"milvus:{database}", "theirs", kb, settings=SETTINGS, embedder=EMBEDDER)
    assert (found.preset, found.lexical, found.rows, found.unit) == (preset, lexical, 4, True)
    question = "etcd error E1207"
    near = {
        text: pytest.approx(float(np.dot(EMBEDDER.embed_query(question), EMBEDDER.embed_query(text))), abs=1e-6)
        for texts in TEXTS.values()
        for text in texts
    }
    with Knowledge.open(kb, settings=SETTINGS, embedder=EMBEDDER) as knowledge:
        dense = knowledge.lookup(question)
        hybrid = knowledge.lookup(question, mode="hybrid")
        assert {block.text: block.similarity for block in dense.evidence} == near
        assert {block.text: block.similarity for block in hybrid.evidence} == near
        assert (hybrid.evidence[0].text, hybrid.degraded) == (TEXTS["etcd.md"][2], ())
        assert hybrid.evidence[0].lexical_score
        assert all(is_key(block.evidence_key) for block in dense.evidence)
        assert {block.doc_id for block in dense.evidence} == {"etcd.md", "pay.md"}
        only = knowledge.lookup(question, category="hr")
        assert [(block.doc_id, block.category) for block in only.evidence] == [("pay.md", "hr")]
        assert {info.doc_id: info.chunks for info in knowledge.documents()} == {"etcd.md": 3, "pay.md": 1}
    report = reindex(kb, copy, settings=SETTINGS, embedder=EMBEDDER)
    assert (report.count("added"), report.embedded) == (2, 0)
    with Knowledge.open(copy, settings=SETTINGS, embedder=EMBEDDER) as knowledge:
        assert [knowledge.show(key("etcd.md", index)).text for index in range(3)] == list(TEXTS["etcd.md"])
