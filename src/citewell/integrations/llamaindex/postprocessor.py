"""The cap per document as a LlamaIndex postprocessor, for nodes of any retriever (POST-2, POST-4).

Identity and cap are decided where Citewell always decides them; this hands nodes there and back.
"""

from __future__ import annotations

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from citewell.checks import check_count
from citewell.identity import identify
from citewell.model import Candidate
from citewell.postprocess import refine


class DocumentCap(BaseNodePostprocessor):
    """Keeps the first nodes of each document, and one of each chunk; order and scores of what stays don't change.

    The document is the `doc_id` in the metadata, else the node's source document, else the `source` or `file_path` in
    the metadata, else the node itself. It is of use behind a fusion of several retrievers, each of which caps its own.

    Attributes:
        max_chunks_per_document: 0 = no cap.
    """

    max_chunks_per_document: int = 2

    @classmethod
    def class_name(cls) -> str:
        """As LlamaIndex names components."""
        return "CitewellDocumentCap"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        cap = check_count("max_chunks_per_document", self.max_chunks_per_document, least=0)
        candidates = [_candidate(node) for node in nodes]
        first = {each.evidence_key: node for each, node in zip(reversed(candidates), reversed(nodes), strict=True)}
        refined = refine(candidates, return_n=max(1, len(nodes)), max_chunks_per_document=cap, min_similarity=None)
        return [first[each.evidence_key] for each in refined.kept]


def _candidate(scored: NodeWithScore) -> Candidate:
    """Of another retriever's node the id stands for a vector's; nodes of one id are one chunk, as LlamaIndex has it."""
    node = scored.node
    metadata = node.metadata or {}
    known = identify(metadata, vector_id=node.node_id)
    return Candidate(
        evidence_key=known.evidence_key,
        doc_id=known.doc_id or node.ref_doc_id,
        source=str(metadata.get("source") or metadata.get("file_path") or ""),
    )
