"""Evidence with neighbours beside its hits -> the neighbours, the nearest to a hit first (CONTEXT-1).

It knows neither budgets nor texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.model import EvidenceBlock
from citewell.projection.overlap import follows

_Way = tuple[int, int, int]
"""How near a neighbour is: its distance from the hit, the hit's place in the evidence, 0 before it and 1 after it."""

_NOWHERE: _Way = (2**31, 0, 0)


def nearest_first(blocks: Sequence[EvidenceBlock]) -> list[tuple[EvidenceBlock, str]]:
    """The neighbours, each with the key of what stands between it and its hit, so that none is shown beyond a hole.

    Of equally near ones, those of the better hit come first, and of one hit that before it. What doesn't stand in a row
    with a hit, chunk by chunk, comes last, in the order of the evidence, with an empty key.
    """
    ways = _ways(blocks, side=1)
    for key, way in _ways(blocks, side=0).items():
        ways[key] = min(way, ways.get(key, way))
    placed = [(*ways.get(each.evidence_key, (_NOWHERE, "")), each) for each in blocks if each.role == "neighbour"]
    placed.sort(key=lambda each: each[0])
    return [(block, nearer) for _, nearer, block in placed]


def _ways(blocks: Sequence[EvidenceBlock], *, side: int) -> dict[str, tuple[_Way, str]]:
    """For each neighbour in a row on this side of a hit: how near it is, and the key of what is next to it."""
    ways: dict[str, tuple[_Way, str]] = {}
    way, nearer = _NOWHERE, None
    order = enumerate(blocks) if side else reversed(list(enumerate(blocks)))
    for place, block in order:
        if block.role == "hit":
            way = (0, place, side)
        elif way != _NOWHERE and nearer and (follows(nearer, block) if side else follows(block, nearer)):
            way = (way[0] + 1, way[1], side)
            ways[block.evidence_key] = (way, nearer.evidence_key)
        else:
            way = _NOWHERE
        nearer = block
    return ways
