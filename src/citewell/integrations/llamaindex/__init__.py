"""Citewell in LlamaIndex: a retriever, the cap per document as a postprocessor, and a tool spec for agents (API-6).

    from citewell.integrations.llamaindex import CitewellRetriever, CitewellToolSpec, DocumentCap

    engine = RetrieverQueryEngine.from_args(CitewellRetriever(kb, similarity_top_k=5), llm=llm)
    tools = CitewellToolSpec(kb, session="chat-1").to_tool_list()

Needs llama-index-core alone, which the extra `llama-index` brings. See docs/llamaindex.md.
"""

from typing import TYPE_CHECKING

from citewell.integrations.lazy import Framework, names_of

if TYPE_CHECKING:
    from citewell.integrations.llamaindex.nodes import EvidenceNode, to_nodes
    from citewell.integrations.llamaindex.postprocessor import DocumentCap
    from citewell.integrations.llamaindex.retriever import CitewellRetriever
    from citewell.integrations.llamaindex.tools import CitewellToolSpec

__all__ = ["CitewellRetriever", "CitewellToolSpec", "DocumentCap", "EvidenceNode", "to_nodes"]

__getattr__ = names_of(
    __name__,
    {
        "CitewellRetriever": "retriever",
        "CitewellToolSpec": "tools",
        "DocumentCap": "postprocessor",
        "EvidenceNode": "nodes",
        "to_nodes": "nodes",
    },
    Framework("llama_index", "llama-index-core", "llama-index"),
)
