"""The dialects of reranking endpoints: JSON values to send, and the scores in what comes back; knows no network.

    cohere   /v2/rerank   {model, query, documents, top_n} -> {results: [{index, relevance_score}]}
    jina     /v1/rerank   the same, and `return_documents`; also spoken by vLLM, llama.cpp and many gateways
    tei      /rerank      {query, texts} -> [{index, score}]; text-embeddings-inference

Whatever is not as it should be is refused by name: a missing score would put a passage in the wrong place unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from citewell.errors import RerankerError

Payload = dict[str, object]
WAY_OUT = "Check that reranker.url names a reranking endpoint and reranker.style how it is spoken to."


@dataclass(frozen=True, slots=True)
class Style:
    """One dialect.

    Attributes:
        path: of an address that names none.
        payload: (model, query, texts) -> what to send.
        results: where the answer holds its entries; empty = it is the list itself.
        score: the name of an entry's score.
        batch_size: texts that such endpoints take at once by default.
    """

    path: str
    payload: Callable[[str, str, Sequence[str]], Payload]
    results: str
    score: str
    batch_size: int


def _documents(model: str, query: str, texts: Sequence[str]) -> Payload:
    return {"model": model, "query": query, "documents": list(texts), "top_n": len(texts)}


def _jina(model: str, query: str, texts: Sequence[str]) -> Payload:
    return {**_documents(model, query, texts), "return_documents": False}


def _tei(_: str, query: str, texts: Sequence[str]) -> Payload:
    return {"query": query, "texts": list(texts), "truncate": True}


STYLES: Mapping[str, Style] = {
    "cohere": Style("/v2/rerank", _documents, "results", "relevance_score", 100),
    "jina": Style("/v1/rerank", _jina, "results", "relevance_score", 100),
    "tei": Style("/rerank", _tei, "", "score", 32),
}


def read_scores(answer: object, wanted: int, style: Style, origin: str) -> list[float]:
    """One score per text, in the order of the texts, which `index` tells.

    Raises:
        RerankerError: the answer is of another form; a text has no score, or two; a score is no finite number.
    """
    scores: dict[int, float] = {}
    for entry in _entries(answer, style, origin):
        index, score = entry.get("index"), entry.get(style.score)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < wanted:
            raise _refuse(f"{origin} gave the index {index!r} for {wanted} texts")
        if index in scores:
            raise _refuse(f"{origin} gave the index {index} twice")
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise _refuse(f"{origin} gave {str(score)[:40]!r} as the {style.score} of a text")
        scores[index] = float(score)
    if len(scores) != wanted:
        raise _refuse(f"{origin} gave {len(scores)} scores for {wanted} texts")
    return [scores[index] for index in range(wanted)]


def _entries(answer: object, style: Style, origin: str) -> list[dict[str, object]]:
    found = answer if not style.results else answer.get(style.results) if isinstance(answer, dict) else None
    if isinstance(found, list) and all(isinstance(entry, dict) for entry in found):
        return found
    raise _refuse(f"{origin} gave {_shape(answer)} where a list of scores should be")


def _shape(value: object) -> str:
    """What a value is, in few words: an error that an endpoint sent with status 200 shows here."""
    if isinstance(value, dict):
        said = value.get("error") or value.get("message")
        return f"an error ({str(said)[:200]})" if said else f"an object of {sorted(map(str, value))[:8]}"
    return f"a list of {len(value)}" if isinstance(value, list) else f"{type(value).__name__} {str(value)[:40]!r}"


def _refuse(message: str) -> RerankerError:
    return RerankerError(message, way_out=WAY_OUT)
