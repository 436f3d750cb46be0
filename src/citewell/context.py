"""What stands around a hit: which neighbours to fetch, and where they go beside the evidence (CONTEXT-1, CONTEXT-2).

It knows neither who fetches them nor whether there is room to show them; scope is checked before they come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from citewell.identity import format_key
from citewell.model import EvidenceBlock


def wanted(evidence: Sequence[EvidenceBlock], neighbours: int) -> tuple[str, ...]:
    """The keys of the chunks up to `neighbours` before and after each hit, those of the evidence left out.

    In the order of the evidence, then of reading; each once. A block without a docId or a chunk index has none.
    """
    taken = {block.evidence_key for block in evidence}
    keys = (key for block in evidence for key in _around(block, neighbours))
    return tuple(dict.fromkeys(key for key in keys if key not in taken))


def place(
    evidence: Sequence[EvidenceBlock], beside: Mapping[str, EvidenceBlock], neighbours: int
) -> tuple[EvidenceBlock, ...]:
    """The evidence in its order, with its neighbours around it in reading order (CONTEXT-2).

    A chunk that several hits want comes once: beside the nearest of them, of equally near ones beside the best. The
    chunks around a hit follow one another without a hole: beyond a chunk that isn't there, or that is a hit or another
    hit's neighbour, nothing is taken.

    Args:
        evidence: best first.
        beside: the chunks that may be placed, by evidence key; those of the evidence are left where they are.
        neighbours: how many before and after each hit.
    """
    left = {key: block for key, block in beside.items() if key not in {each.evidence_key for each in evidence}}
    runs = [_Run(block) for block in evidence]
    for distance in range(1, neighbours + 1):
        for run in runs:
            run.grow(distance, left)
    return tuple(block for run in runs for block in run.blocks())


@dataclass(slots=True)
class _Run:
    """A hit and what stands around it, the nearest first."""

    hit: EvidenceBlock
    before: list[EvidenceBlock] = field(default_factory=list)
    after: list[EvidenceBlock] = field(default_factory=list)

    def grow(self, distance: int, left: dict[str, EvidenceBlock]) -> None:
        """Take the chunks at this distance that are left, on the sides that reach so far."""
        for side, direction in ((self.before, -1), (self.after, 1)):
            key = _at(self.hit, direction * distance)
            if len(side) == distance - 1 and key in left:
                side.append(left.pop(key))

    def blocks(self) -> Iterator[EvidenceBlock]:
        """In reading order."""
        yield from reversed(self.before)
        yield self.hit
        yield from self.after


def _around(block: EvidenceBlock, neighbours: int) -> list[str]:
    offsets = [*range(-neighbours, 0), *range(1, neighbours + 1)]
    return [key for key in (_at(block, offset) for offset in offsets) if key]


def _at(block: EvidenceBlock, offset: int) -> str:
    """The key of the chunk so far behind this one in its document; empty if there can't be one."""
    if block.doc_id is None or block.chunk_index is None or block.chunk_index + offset < 0:
        return ""
    return format_key(block.doc_id, block.chunk_index + offset)
