"""Citewell in a LangChain chain and behind a tool call; a fake chat model plays the model, so that it runs offline.

    python examples/langchain_chain.py "What does PAY-4471 mean?"

Put a chat model of yours where `script` is made, and the rest stays as it is. Needs citewell[langchain].
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from citewell import Knowledge
from citewell.integrations.langchain import CitewellRetriever, lookup_knowledge_tool
from demo_store import demo

PROMPT = ChatPromptTemplate.from_template(
    "Answer from the passages. Put the id of each that you use behind the statement, in square brackets.\n\n"
    "{passages}\n\nQuestion: {question}"
)


def as_text(documents: Sequence[Document]) -> str:
    """Each passage under its id."""
    return "\n\n".join(f"[{document.id}]\n{document.page_content}" for document in documents)


def chain_answer(kb: Knowledge, question: str, session: str) -> str:
    """A chain: retrieve, put into the prompt, answer."""
    retriever = CitewellRetriever(knowledge=kb, k=3, session=session)
    best = retriever.invoke(question)[0]
    script = GenericFakeChatModel(messages=iter([AIMessage(f"See {best.metadata['breadcrumb']} [{best.id}].")]))
    chain = {"passages": retriever | as_text, "question": RunnablePassthrough()} | PROMPT | script | StrOutputParser()
    return str(chain.invoke(question))


def tool_answer(kb: Knowledge, question: str, session: str) -> str:
    """An agent's turn: the model calls the tool, reads what it says, and answers."""
    tool = lookup_knowledge_tool(kb, session=session, return_n=3, repeat=True)
    call = ToolCall(name=tool.name, args={"query": question}, id="call-1")
    asked = [HumanMessage(question), AIMessage("", tool_calls=[call]), tool.invoke({**call, "type": "tool_call"})]
    best = asked[-1].artifact["evidence"][0]["document_id"]
    script = GenericFakeChatModel(messages=iter([AIMessage(f"It is explained there [{best}].")]))
    return str(script.invoke(asked).content)


def main(question: str) -> int:
    """Answer in both ways; the exit code is 0 if the guard accepts both answers."""
    with demo() as kb:
        answers = [chain_answer(kb, question, "example"), tool_answer(kb, question, "example")]
        reports = [kb.check(answer, session="example") for answer in answers]
    for answer, report in zip(answers, reports, strict=True):
        print(f"{'accepted' if report.ok and report.citations else 'rejected'}: {answer}")
    return 0 if all(report.ok and report.citations for report in reports) else 4


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:]) or "What does PAY-4471 mean?"))
