"""Citewell in Haystack: a retriever component for pipelines, and the tool `lookup_knowledge` for agents (API-6).

    from citewell.integrations.haystack import CitewellRetriever, lookup_knowledge_tool

    pipeline.add_component("citewell", CitewellRetriever(location="./kb", top_k=5, options={"mode": "hybrid"}))
    tool = lookup_knowledge_tool(kb, scope=["team-a"], session="chat-1")

Needs haystack-ai alone, which the extra `haystack` brings. See docs/haystack.md, which also says why there is no
DocumentStore.
"""

from typing import TYPE_CHECKING

from citewell.integrations.lazy import Framework, names_of

if TYPE_CHECKING:
    from citewell.integrations.haystack.documents import to_documents
    from citewell.integrations.haystack.retriever import CitewellRetriever
    from citewell.integrations.haystack.tools import lookup_knowledge_tool

__all__ = ["CitewellRetriever", "lookup_knowledge_tool", "to_documents"]

__getattr__ = names_of(
    __name__,
    {"CitewellRetriever": "retriever", "lookup_knowledge_tool": "tools", "to_documents": "documents"},
    Framework("haystack", "haystack-ai", "haystack"),
)
