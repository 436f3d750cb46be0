"""Citewell in a LlamaIndex query engine and as a tool; MockLLM, which repeats its prompt, stands in for a model.

    python examples/llamaindex_engine.py "What does PAY-4471 mean?"

Put an LLM of yours in the place of MockLLM, and the rest stays as it is. Needs citewell[llama-index].
"""

from __future__ import annotations

import sys

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever

from citewell import Knowledge
from citewell.integrations.llamaindex import CitewellRetriever, CitewellToolSpec, DocumentCap
from demo_store import demo


def engine_sources(kb: Knowledge, question: str, session: str) -> list[str]:
    """A query engine over two of our retrievers, fused by LlamaIndex; the ids of what it answered from."""
    members = [CitewellRetriever(kb, session=session), CitewellRetriever(kb, mode="dense", session=session)]
    fusion = QueryFusionRetriever(
        members, llm=MockLLM(), mode="reciprocal_rerank", num_queries=1, similarity_top_k=6, use_async=False
    )
    engine = RetrieverQueryEngine.from_args(
        fusion, llm=MockLLM(), node_postprocessors=[DocumentCap(max_chunks_per_document=2)]
    )
    return [source.node.node_id for source in engine.query(question).source_nodes]


def tool_evidence(kb: Knowledge, question: str, session: str) -> str:
    """What an agent's model reads when it calls the tool."""
    (tool,) = CitewellToolSpec(kb, session=session, return_n=1, repeat=True).to_tool_list()
    return str(tool.call(query=question).content)


def main(question: str) -> int:
    """Show both; the exit code is 0 if every source was shown to the session."""
    with demo() as kb:
        sources = engine_sources(kb, question, "example")
        print("sources:", *sources, sep="\n  ")
        print(tool_evidence(kb, question, "example"))
        return 0 if sources and kb.check(sources, session="example").ok else 4


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:]) or "What does PAY-4471 mean?"))
