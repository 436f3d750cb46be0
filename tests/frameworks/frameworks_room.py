"""What the tests of all frameworks share: the demo's runbooks in memory, and a hundred questions to ask of them.

A plugin of pytest. It switches Haystack's reports to its maker off before Haystack is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import resources

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import pytest

from citewell import Document, Knowledge, Settings
from citewell.testing.fakes import HashEmbedder

SETTINGS = Settings.of({"retrieval.search.mode": "hybrid", "rag.hints": False})
ETCD, TWIN, DNS = "etcd.md#chunk-0", "copy/etcd.md#chunk-0", "dns.md#chunk-0"
SMALL = [
    Document("etcd.md", "# Disk\n\nEtcd is slow when its disk is slow.", title="Etcd", metadata={"team": "a", "n": 1}),
    Document("copy/etcd.md", "# Disk\n\nEtcd is slow when its disk is slow.", title="Etcd", metadata={"team": "b"}),
    Document("dns.md", "# Names\n\nRestart the resolver when names are slow.", scope="net", category="network"),
]


@pytest.fixture(scope="session")
def runbooks() -> Iterator[Knowledge]:
    """The 27 runbooks of the demo."""
    with Knowledge.open("memory:", settings=SETTINGS, embedder=HashEmbedder()) as kb:
        with resources.as_file(resources.files("citewell.demo").joinpath("corpus")) as corpus:
            kb.ingest(corpus)
        yield kb


@pytest.fixture(scope="session")
def questions(runbooks: Knowledge) -> list[str]:
    """A hundred: words from the middle of every chunk in turn, so that each has an answer, and some several."""
    blocks = [
        block for info in runbooks.documents() for block in runbooks.read_document(info.doc_id).evidence if block.text
    ]
    words = [block.text.split() for block in blocks]
    found = [" ".join(each[len(each) // 2 :][:7]) for each in words if len(each) > 20]
    asked = list(dict.fromkeys(found))[:100]
    assert len(asked) == 100
    return asked


@pytest.fixture
def kb() -> Iterator[Knowledge]:
    """Three chunks of three documents, two of which say the same."""
    with Knowledge.open("memory:", settings=SETTINGS, embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents(SMALL)
        yield knowledge


def keys_of(kb: Knowledge, question: str, **options: object) -> list[str]:
    """What the library itself finds, in its order."""
    result = kb.lookup(question, **options)  # type: ignore[arg-type]  # the tests name lookups' own arguments
    return [block.evidence_key for block in result.evidence]
