"""The command that writes out what a store holds: documents with their chunks, for other programs to read.

Vectors and what is searched stay where they are: they are made anew from the texts. `reindex` copies a store.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

from citewell.cli.edge import edge
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge
from citewell.cli.read import ScopeOption
from citewell.errors import UnknownEvidence

if TYPE_CHECKING:
    from citewell.app import Knowledge

_HELD_IN_MEMORY = 16_000_000
"""Characters, at least; what is longer waits in a temporary file."""


@edge
def export(
    *,
    scope: ScopeOption = None,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print every document with its chunks, by id: one JSON object a line; with --json, one list of them."""
    with open_knowledge(kb, config) as knowledge:
        exported = _documents(knowledge, scope or None)
        if as_json:
            _print_list(exported)
            return
        for document in exported:
            print(json.dumps(document, ensure_ascii=False, default=str))


def _print_list(documents: Iterable[dict[str, object]]) -> None:
    """Print them as one list, as `emit` would, without holding all at once.

    Nothing is printed before the last one is there: an error on the way is then the one JSON document, as elsewhere.
    """
    with SpooledTemporaryFile(_HELD_IN_MEMORY, "w+", encoding="utf-8", errors="surrogatepass", newline="") as waiting:
        before = "[\n  "
        for document in documents:
            text = json.dumps(document, ensure_ascii=False, indent=2, default=str)
            waiting.write(before + text.replace("\n", "\n  "))  # of the layout: within a value they are written `\\n`
            before = ",\n  "
        waiting.write("[]\n" if before.startswith("[") else "\n]\n")
        waiting.seek(0)
        shutil.copyfileobj(waiting, sys.stdout)


def _documents(knowledge: Knowledge, scope: list[str] | None) -> Iterator[dict[str, object]]:
    """What the catalogue says of each document within the scope, and its chunks in reading order."""
    for info in knowledge.documents():
        try:
            read = knowledge.read_document(info.doc_id, scope=scope)
        except UnknownEvidence:  # outside the scope, or deleted a moment ago
            continue
        yield {**info.to_dict(), "chunks": [block.to_dict() for block in read.evidence]}
