"""Citewell in a Haystack pipeline and behind an agent; MockChatGenerator plays the model, so that it runs offline.

    python examples/haystack_pipeline.py "What does PAY-4471 mean?"

Put a generator of yours in its place, and the rest stays as it is. Needs citewell[haystack].
"""

from __future__ import annotations

import sys

from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall

from citewell import Knowledge
from citewell.integrations.haystack import CitewellRetriever, lookup_knowledge_tool
from demo_store import demo

PROMPT = """Answer from the passages. Put the id of each that you use behind the statement, in square brackets.
{% for document in documents %}
[{{ document.id }}]
{{ document.content }}
{% endfor %}
Question: {{ question }}"""


def pipeline_answer(kb: Knowledge, question: str, session: str) -> str:
    """A pipeline: retrieve, put into the prompt, answer."""
    best = kb.lookup(question).evidence[0]
    pipeline = Pipeline()
    pipeline.add_component("citewell", CitewellRetriever(kb, top_k=3, options={"session": session}))
    pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user(PROMPT)], required_variables="*"))
    pipeline.add_component("model", MockChatGenerator(f"See {best.breadcrumb} [{best.evidence_key}]."))
    pipeline.connect("citewell.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    ran = pipeline.run({"citewell": {"query": question}, "prompt": {"question": question}})
    return str(ran["model"]["replies"][0].text)


def agent_answer(kb: Knowledge, question: str, session: str) -> str:
    """An agent: the model calls the tool, reads what it says, and answers."""
    best = kb.lookup(question).evidence[0].evidence_key
    call = ChatMessage.from_assistant(tool_calls=[ToolCall("lookup_knowledge", {"query": question})])
    script = [call, ChatMessage.from_assistant(f"It is explained there [{best}].")]
    tool = lookup_knowledge_tool(kb, session=session, repeat=True)
    agent = Agent(chat_generator=MockChatGenerator(responses=script), tools=[tool])
    return str(agent.run([ChatMessage.from_user(question)])["messages"][-1].text)


def main(question: str) -> int:
    """Answer in both ways; the exit code is 0 if the guard accepts both answers."""
    with demo() as kb:
        answers = [pipeline_answer(kb, question, "example"), agent_answer(kb, question, "example")]
        reports = [kb.check(answer, session="example") for answer in answers]
    for answer, report in zip(answers, reports, strict=True):
        print(f"{'accepted' if report.ok and report.citations else 'rejected'}: {answer}")
    return 0 if all(report.ok and report.citations for report in reports) else 4


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:]) or "What does PAY-4471 mean?"))
