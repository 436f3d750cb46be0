"""Passages as LlamaIndex's nodes: the evidence key is the node's id, the similarity its score, the docId its source.

It knows those classes of the framework, and neither retrievers nor tools.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from citewell.integrations.passages import Passage, passages_of

if TYPE_CHECKING:
    from citewell.lookup import LookupResult

_FOR_THE_MODEL = frozenset({"evidence_key", "title", "breadcrumb"})


class EvidenceNode(TextNode):
    """A chunk whose hash is that of its id and text.

    LlamaIndex takes nodes of one hash for one. By itself the hash covers the metadata too, so that a chunk that was
    found twice, for two questions at different ranks, would be two.
    """

    @property
    def hash(self) -> str:
        """SHA-256 hex over id and text, joined by U+001F."""
        return hashlib.sha256(f"{self.node_id}\x1f{self.text}".encode("utf-8", "surrogatepass")).hexdigest()


def to_nodes(result: LookupResult) -> list[NodeWithScore]:
    """The evidence of a lookup that you made yourself, in its order, as `CitewellRetriever` hands it out."""
    return nodes(passages_of(result))


def nodes(passages: Iterable[Passage]) -> list[NodeWithScore]:
    """A node per passage; its score is the similarity, None if that is unknown."""
    return [NodeWithScore(node=_node(each), score=each.similarity) for each in passages]


def _node(passage: Passage) -> EvidenceNode:
    """Of the metadata a prompt gets what a citation needs, an embedding nothing."""
    doc_id = passage.metadata["doc_id"]
    return EvidenceNode(
        id_=passage.id,
        text=passage.text,
        metadata=passage.metadata,
        excluded_llm_metadata_keys=sorted(set(passage.metadata) - _FOR_THE_MODEL),
        excluded_embed_metadata_keys=sorted(passage.metadata),
        relationships={} if doc_id is None else {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)},
    )
