"""Citewell in LangChain: a retriever for chains, and the tool `lookup_knowledge` for agents (API-6).

    from citewell.integrations.langchain import CitewellRetriever, lookup_knowledge_tool

    retriever = CitewellRetriever(knowledge=kb, k=5, mode="hybrid")
    tool = lookup_knowledge_tool(kb, scope=["team-a"], session="chat-1")

Needs langchain-core alone, which the extra `langchain` brings. See docs/langchain.md.
"""

from typing import TYPE_CHECKING

from citewell.integrations.lazy import Framework, names_of

if TYPE_CHECKING:
    from citewell.integrations.langchain.documents import to_documents
    from citewell.integrations.langchain.retriever import CitewellRetriever
    from citewell.integrations.langchain.tools import lookup_knowledge_tool

__all__ = ["CitewellRetriever", "lookup_knowledge_tool", "to_documents"]

__getattr__ = names_of(
    __name__,
    {"CitewellRetriever": "retriever", "lookup_knowledge_tool": "tools", "to_documents": "documents"},
    Framework("langchain_core", "langchain-core", "langchain"),
)
