"""What stands around a hit: which neighbours to fetch, and where they go beside the evidence (CONTEXT-1, CONTEXT-2).

It knows neither who fetches them nor whether there is room to show them; scope is checked before they come here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from citewell.identity import format_key
from citewell.model import EvidenceBlock


def wanted(evidence: Sequence[EvidenceBlock], neighbours: int) -> tuple[str, ...]:
    """The keys of the chunks up to `neighbours` before and after each hit, those of the evidence left out.

    In the order of the evidence, then of reading; each once. A block without a docId or a chunk index has none.
    """
    taken = {block.evidence_key for block in evidence}
    keys = (key for block in evidence for key in (*_before(block, neighbours), *_after(block, neighbours)))
    return tuple(dict.fromkeys(key for key in keys if key not in taken))


def place(
    evidence: Sequence[EvidenceBlock], beside: Mapping[str, EvidenceBlock], neighbours: int
) -> tuple[EvidenceBlock, ...]:
    """The evidence with its neighbours, each once: beside the best hit that wants it, in reading order around it."""
    left = dict(beside)
    placed: list[EvidenceBlock] = []
    for block in evidence:
        placed += [left.pop(key) for key in _before(block, neighbours) if key in left]
        placed.append(block)
        placed += [left.pop(key) for key in _after(block, neighbours) if key in left]
    return tuple(placed)


def _before(block: EvidenceBlock, neighbours: int) -> list[str]:
    if block.doc_id is None or block.chunk_index is None:
        return []
    indexes = range(max(0, block.chunk_index - neighbours), block.chunk_index)
    return [format_key(block.doc_id, index) for index in indexes]


def _after(block: EvidenceBlock, neighbours: int) -> list[str]:
    if block.doc_id is None or block.chunk_index is None:
        return []
    indexes = range(block.chunk_index + 1, block.chunk_index + 1 + neighbours)
    return [format_key(block.doc_id, index) for index in indexes]
