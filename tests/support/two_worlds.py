"""Two stores that a caller must not be able to tell apart: its own documents alone, and the same among others'.

What others hold is made to be found if anything lets it: their texts, titles, ids and categories are like the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from citewell import Document, Knowledge, LookupResult, Settings
from citewell.errors import CitewellError
from citewell.identity import format_key
from citewell.testing.fakes import HashEmbedder

SCOPE = ("blue",)
LONG = "\n\n".join(f"## Step {step}\n\n{f'Turn the wheel number {step} slowly. ' * 40}" for step in range(3))

OURS = (
    Document("ours/pump.md", "# Pump\n\nThe pump PX-7 stops when the filter clogs.", scope="blue", category="water"),
    Document("ours/steps.md", f"# Wheels\n\n{LONG}", scope=["blue", "red"], metadata={"team": "wheels"}),
    Document("ours/valve.md", "# Valve\n\nOpen the valve before the pump starts.", scope="blue", category="water"),
)
THEIRS = (
    Document(
        "ours/pump.md.bak", "# Pump\n\nThe pump PX-7 stops when the filter clogs.", scope="red", category="secret"
    ),
    Document("ours/aaa.md", "# Pump PX-7 filter\n\nPX-7 PX-7 filter clogs pump.", scope="red", category="water"),
    Document("ours/steps2.md", f"# Wheels\n\n{LONG}", scope="red", metadata={"team": "wheels", "spy": True}),
    Document("ours/zzz.md", "# Valve valve\n\nThe hidden valve opens.", scope=[], category="water"),
    Document("theirs/open.md", "# Pump, valve, filter\n\nNobody's pump and valve.", category="other"),
    *(Document(f"theirs/{n}.md", f"# Pump {n}\n\nThe pump PX-7 and filter {n}.", scope="red") for n in range(12)),
)

CUT: Mapping[str, Any] = {"retrieval.search.mode": "hybrid", "rag.retrieve-k": 4, "rag.return-n": 4}
"""Narrow paths, so that a filter that is applied to what was found, and not to what is searched, shows."""

_UNLIKE = re.compile(r"lexical_score|milliseconds|embed_milliseconds|sequence|weights|bytes")


def world(location: str, documents: Sequence[Document], settings: Mapping[str, Any] | None = None) -> Knowledge:
    """An open Knowledge that holds these."""
    knowledge = Knowledge.open(location, settings=Settings.of({**CUT, **(settings or {})}), embedder=HashEmbedder())
    knowledge.ingest_documents(documents)
    return knowledge


def alike(value: object) -> object:
    """What must be equal in both: everything but times, and BM25 scores, whose statistics count every chunk."""
    if isinstance(value, Mapping):
        if value.get("path") == "lexical":
            value = {name: entry for name, entry in value.items() if name != "score"}
        return {name: alike(entry) for name, entry in value.items() if not _UNLIKE.fullmatch(str(name))}
    if isinstance(value, list | tuple):
        return [alike(entry) for entry in value]
    return value


def told(act: Callable[[], Any]) -> object:
    """What comes of a call, an error's every word included."""
    try:
        result = act()
    except CitewellError as error:
        return {"error": type(error).__name__, **error.to_dict()}
    return alike(result.to_dict() if hasattr(result, "to_dict") else result)


QUERIES = ("why does the pump PX-7 stop", "open the valve", "turn the wheel", "hidden secret nobody", "filter")
KEYS = tuple(format_key(document.doc_id, index) for document in (*OURS, *THEIRS[:5]) for index in (0, 1, 9))


def probes(knowledge: Knowledge) -> dict[str, object]:
    """All that a caller with SCOPE can ask of the library, and what it is told."""
    return {name: told(ask) for name, ask in _questions(knowledge).items()}


def _questions(kb: Knowledge) -> dict[str, Callable[[], Any]]:
    asked: dict[str, Callable[[], Any]] = {}
    for query, mode, more in product(QUERIES, ("dense", "hybrid"), _LOOKUPS):
        look: Any = partial(kb.lookup, query, mode=mode, scope=SCOPE, **more)
        asked[f"lookup {query!r} {mode} {more}"] = look
        asked[f"agent {query!r} {mode} {more}"] = partial(_agent, partial(look, session="s"))
    for key in KEYS:
        asked[f"show {key}"] = partial(kb.show, key, scope=SCOPE)
        asked[f"read {key}"] = partial(kb.read, key, scope=SCOPE, neighbours=2, session="s")
    for document in (*OURS, *THEIRS[:5]):
        asked[f"document {document.doc_id}"] = partial(kb.read_document, document.doc_id, scope=SCOPE)
        asked[f"record {document.doc_id}"] = partial(_record, kb, document.doc_id)
    answer = "It stops [ours/pump.md#chunk-0], see " + " and ".join(f"[{key}]" for key in KEYS)
    for strict in (False, True):
        asked[f"check {strict}"] = partial(kb.check, answer, session="s", scope=SCOPE, strict=strict)
        asked[f"check ids {strict}"] = partial(kb.check, KEYS, shown=KEYS, scope=SCOPE, strict=strict)
    return asked


def _agent(look: Callable[[], LookupResult]) -> dict[str, object]:
    return look().to_agent()


def _record(knowledge: Knowledge, doc_id: str) -> list[str]:
    record = knowledge.document(doc_id, scope=SCOPE)
    return [record.doc_id, record.title, *record.headings]


_LOOKUPS: tuple[dict[str, Any], ...] = (
    {},
    {"category": "water", "neighbours": 1},
    {"category": "secret"},
    {"where": {"team": "wheels"}},
    {"where": {"spy": True}},
    {"max_chunks_per_document": 1, "return_n": 2},
    {"min_similarity": 0.2},
)


def differences(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """What was told otherwise, each with both answers' beginnings."""
    return [f"{name}\n  alone: {one[name]}\n  among: {other[name]}" for name in one if one[name] != other[name]]
