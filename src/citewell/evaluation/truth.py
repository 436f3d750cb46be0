"""The labels of a dataset, held against what a store holds: what rankings are judged by.

A label that no stored document bears can't be found by anyone; it still counts, and is named. A dataset of which no
label fits the store is refused, so that a mistaken store does not read as a bad ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from citewell.checks import shown
from citewell.errors import InvalidRequest
from citewell.evaluation.metrics import Gains
from citewell.evaluation.model import Dataset, Reference
from citewell.evaluation.spans import Span, covering
from citewell.identity import find_identity

Chunks = Callable[[str], Mapping[str, Span]]
Texts = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Truth:
    """What is right, in the names that rankings have.

    Attributes:
        qrels: gains for each query, by document id (grain `document`) or by evidence key (the other two).
        pieces: for each query the pieces of evidence that it needs: of each, the names that will do.
        missing: labels that the store does not hold, sorted; a part as `id[start:end]`.
        labels: how many different ones there are.
        misplaced: references whose words are not in the chunk that holds their place, sorted.
    """

    qrels: Mapping[str, Gains]
    pieces: Mapping[str, tuple[frozenset[str], ...]]
    missing: tuple[str, ...]
    labels: int
    misplaced: tuple[str, ...] = ()


def hold_against(dataset: Dataset, stored: Mapping[str, int], chunks: Chunks, *, texts: Texts | None = None) -> Truth:
    """The truth of a dataset for one store.

    Args:
        dataset: labelled questions.
        stored: how many chunks each stored document has, by document id; 0 where that isn't known.
        chunks: document id -> the spans of its chunks by evidence key; asked for documents with references alone.
        texts: document id -> their texts, to check the words of references by; None = don't.

    Raises:
        InvalidRequest: the store holds none of what the labels name, or all references name other words.
    """
    truth = _of_spans(dataset, stored, chunks, texts) if dataset.grain == "span" else _of_labels(dataset, stored)
    if len(truth.missing) == truth.labels:
        held = f"the store holds {_some(sorted(stored))}" if stored else "the store is empty"
        raise InvalidRequest(
            f"no label of {dataset.name} fits the store: they name {_some(truth.missing)}; {held}",
            way_out="Judge the store that was filled with this dataset's documents, under the same ids.",
        )
    return truth


def _of_labels(dataset: Dataset, stored: Mapping[str, int]) -> Truth:
    relevant = {query: [label for label, gain in gains.items() if gain > 0] for query, gains in dataset.qrels.items()}
    named = {label for labels in relevant.values() for label in labels}
    held = _holds_chunk if dataset.grain == "chunk" else _holds_document
    return Truth(
        qrels=dataset.qrels,
        pieces={query: tuple(frozenset([label]) for label in labels) for query, labels in relevant.items()},
        missing=tuple(sorted(label for label in named if not held(label, stored))),
        labels=len(named),
    )


def _holds_document(label: str, stored: Mapping[str, int]) -> bool:
    return label in stored


def _holds_chunk(label: str, stored: Mapping[str, int]) -> bool:
    """A key that names no document can't be looked for in a catalogue: it is taken for stored."""
    identity = find_identity(label)
    if identity is None or identity.doc_id is None or identity.chunk_index is None:
        return True
    return identity.doc_id in stored and (identity.chunk_index < stored[identity.doc_id] or not stored[identity.doc_id])


def _of_spans(dataset: Dataset, stored: Mapping[str, int], chunks: Chunks, texts: Texts | None) -> Truth:
    named = {part.doc_id for parts in dataset.references.values() for part in parts}
    spans = {name: chunks(name) for name in sorted(named) if name in stored}
    covers = {
        part: covering(part, spans.get(part.doc_id, {})) for parts in dataset.references.values() for part in parts
    }
    pieces = {query: _pieces(parts, covers) for query, parts in dataset.references.items()}
    return Truth(
        qrels={query: dict.fromkeys(sorted(frozenset().union(*found)), 1.0) for query, found in pieces.items()},
        pieces=pieces,
        missing=tuple(sorted(_place(part) for part, keys in covers.items() if not keys)),
        labels=len(covers),
        misplaced=_misplaced(tuple(covers), spans, texts),
    )


def _misplaced(
    parts: tuple[Reference, ...], spans: Mapping[str, Mapping[str, Span]], texts: Texts | None
) -> tuple[str, ...]:
    """Of the references that have words and lie in one chunk, those whose words that chunk lacks.

    White space doesn't count. Offsets that were counted in another text than the stored one show here.
    """
    if texts is None:
        return ()
    held = {name: texts(name) for name in spans if any(part.text and part.doc_id == name for part in parts)}
    homes = {part: _home(part, spans.get(part.doc_id, {})) for part in parts if part.text}
    checked = {part: held[part.doc_id].get(key, "") for part, key in homes.items() if key is not None}
    wrong = [part for part, text in checked.items() if "".join(part.text.split()) not in "".join(text.split())]
    if wrong and len(wrong) == len(checked):
        raise InvalidRequest(
            f"no reference stands where it says, such as {_place(wrong[0])}: {shown(wrong[0].text)}",
            way_out="Count `start` and `end` in characters of the text, with line ends of one character.",
        )
    return tuple(sorted(map(_place, wrong)))


def _home(part: Reference, chunks: Mapping[str, Span]) -> str | None:
    """The chunk that holds it whole; None if none does."""
    return next((key for key, (start, end) in chunks.items() if start <= part.start and part.end <= end), None)


def _place(part: Reference) -> str:
    return f"{part.doc_id}[{part.start}:{part.end}]"


def _pieces(parts: tuple[Reference, ...], covers: Mapping[Reference, frozenset[str]]) -> tuple[frozenset[str], ...]:
    """One piece for each reference; a repeat of the same words is another place where the piece may be found."""
    found: dict[object, frozenset[str]] = {part: covers[part] for part in parts if not part.repeat}
    first = {(part.doc_id, part.text): part for part in reversed(parts) if not part.repeat and part.text}
    for part in parts:
        if part.repeat:
            piece = first.get((part.doc_id, part.text), part)
            found[piece] = found.get(piece, frozenset()) | covers[part]
    return tuple(found.values())


def _some(names: tuple[str, ...] | list[str]) -> str:
    rest = len(names) - 2
    return ", ".join(map(repr, names[:2])) + (f" and {rest} more" if rest > 0 else "")
