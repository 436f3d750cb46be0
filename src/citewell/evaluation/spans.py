"""Characters [start, end) of documents: what chunks hold of the references that answer a question; pure.

The source of the character measures is Smith and Troynikov, "Evaluating chunking strategies for retrieval" (2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from citewell.evaluation.model import Reference

Span = tuple[int, int]
Placed = tuple[str, Span]


def covering(reference: Reference, chunks: Mapping[str, Span]) -> frozenset[str]:
    """The chunks of the reference's document that answer for it, by evidence key.

    Those that hold half of its characters or more; where it is cut so that none does, those that hold the most.
    """
    wanted = (reference.start, reference.end)
    held = {key: common for key, span in chunks.items() if (common := _shared(wanted, span))}
    bar = min((reference.end - reference.start) / 2, max(held.values(), default=0))
    return frozenset(key for key, common in held.items() if common >= bar)


def characters(shown: Iterable[Placed], wanted: Iterable[Placed]) -> tuple[float, float, float]:
    """Recall, precision and intersection over union of the wanted characters among the shown ones.

    A character that several spans hold counts once on either side. 0 where there is nothing to divide by.
    """
    seen, truth = _by_document(shown), _by_document(wanted)
    found = sum(_overlap(seen.get(name, ()), spans) for name, spans in truth.items())
    shown_total, wanted_total = (sum(map(_length, sides.values())) for sides in (seen, truth))
    return (
        found / wanted_total if wanted_total else 0.0,
        found / shown_total if shown_total else 0.0,
        found / (wanted_total + shown_total - found) if wanted_total + shown_total else 0.0,
    )


def _by_document(placed: Iterable[Placed]) -> dict[str, list[Span]]:
    """Spans by document, in ascending order, none touching another."""
    merged: dict[str, list[Span]] = {}
    for name, (start, end) in sorted(placed):
        spans = merged.setdefault(name, [])
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return merged


def _overlap(spans: Sequence[Span], others: Sequence[Span]) -> int:
    return sum(_shared(one, other) for one in spans for other in others)


def _shared(one: Span, other: Span) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)
