"""LangChain's own standard tests for retrievers and tools, on ours (API-6)."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from citewell import Knowledge
from citewell.integrations.langchain import CitewellRetriever, lookup_knowledge_tool


@pytest.mark.requirement("API-6")
class TestRetrieverStandard(RetrieversIntegrationTests):
    """All of the suite; nothing is left out."""

    @pytest.fixture(autouse=True)
    def _opened(self, kb: Knowledge) -> None:
        self.knowledge = kb

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return CitewellRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"knowledge": self.knowledge}

    @property
    def retriever_query_example(self) -> str:
        return "what is slow"


class _OurTool:
    """What both suites of tools ask for."""

    @pytest.fixture(autouse=True)
    def _opened(self, kb: Knowledge) -> None:
        self.knowledge = kb

    @property
    def tool_constructor(self) -> BaseTool:
        return lookup_knowledge_tool(self.knowledge)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "what is slow", "return_n": 2}


@pytest.mark.requirement("API-6")
class TestToolStandard(_OurTool, ToolsIntegrationTests):
    """All of the suite; nothing is left out."""


@pytest.mark.requirement("API-6")
class TestToolUnits(_OurTool, ToolsUnitTests):
    """All of the suite; nothing is left out."""
