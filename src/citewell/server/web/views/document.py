"""A chunk among its neighbours -> passages of a page, one of them marked; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citewell.server.web.views.values import Json, mapping, objects


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk of a document.

    Attributes:
        repeats: how many characters of the document it shares with the one above.
        gap: whether something of the document stands between it and the one above.
    """

    key: str
    index: int | None
    breadcrumb: str
    text: str
    span: tuple[int, int] | None
    locator: Mapping[str, object]
    digest: str
    marked: bool = False
    repeats: int = 0
    gap: bool = False


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A part of a document.

    Attributes:
        passages: in reading order.
        earlier, later: the number of a chunk to go on from; None at an end.
    """

    doc_id: str
    title: str
    source: str
    category: str | None
    metadata: Mapping[str, object]
    passages: tuple[Passage, ...]
    earlier: int | None
    later: int | None

    @property
    def marked(self) -> Passage | None:
        """The one that was asked for."""
        return next((passage for passage in self.passages if passage.marked), None)


def document_view(read: Json, *, width: int, marked: int | None) -> DocumentView:
    """What a page draws.

    Args:
        read: `to_dict` of what `Knowledge.read` gave, with one more neighbour on each side than is drawn.
        width: neighbours on each side that are drawn.
        marked: the number of the chunk to mark; None = none.
    """
    blocks = objects(read.get("evidence"))
    centre = next(place for place, block in enumerate(blocks) if block.get("role") == "hit")
    start, end = max(0, centre - width), min(len(blocks), centre + width + 1)
    drawn, hit = blocks[start:end], blocks[centre]
    return DocumentView(
        doc_id=str(hit["doc_id"] or hit["source"] or hit["evidence_key"]),
        title=str(hit["title"]),
        source=str(hit["source"]),
        category=hit["category"],
        metadata=mapping(hit["metadata"]),
        passages=_placed([_passage(block, marked) for block in drawn]),
        earlier=_index(blocks[start - 1]) if start > 0 else None,
        later=_index(blocks[end]) if end < len(blocks) else None,
    )


def _placed(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Each with what it shares with the one above."""
    placed = list(passages[:1])
    for above, passage in pairwise(passages):
        if above.span is None or passage.span is None:
            placed.append(passage)
            continue
        shared = max(0, min(above.span[1], passage.span[1]) - passage.span[0])
        apart = above.index is not None and passage.index is not None and passage.index > above.index + 1
        placed.append(replace(passage, repeats=shared, gap=apart))
    return tuple(placed)


def _passage(block: Json, marked: int | None) -> Passage:
    span = block.get("span")
    return Passage(
        key=str(block["evidence_key"]),
        index=_index(block),
        breadcrumb=str(block["breadcrumb"]),
        text=str(block["text"]),
        span=(int(span[0]), int(span[1])) if span else None,
        locator=mapping(block.get("locator")),
        digest=str(block["digest"]),
        marked=marked is not None and _index(block) == marked,
    )


def _index(block: Json) -> int | None:
    index = block.get("chunk_index")
    return index if isinstance(index, int) else None
