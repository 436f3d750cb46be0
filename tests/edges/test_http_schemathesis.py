"""Requests that nobody thought of: schemathesis against a live server finds no undocumented answer and no failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from http_room import bears, filled, settings
from mcp_room import running

from citewell.server.http.app import create_app

EXAMPLES = 200

LEFT_OUT = "positive_data_acceptance"
"""No schema can say which texts are questions, which keys exist and whose labels are whose; all else is checked."""

UPLOAD = "/v1/ingest"

FORMS_KNOW_TEXTS_ALONE = "negative_data_rejection"
"""Left out for uploads: a number sent in a form as a label is a text, and a good label; JSON's odd documents are in the
table of refusals."""


@pytest.mark.slow
@pytest.mark.timeout(1_500)
@pytest.mark.requirement("API-4", "API-8")
@pytest.mark.parametrize(
    ("operations", "left_out", "tested"),
    [
        (["--exclude-path", UPLOAD], LEFT_OUT, 10),
        (["--include-path", UPLOAD], f"{LEFT_OUT},{FORMS_KNOW_TEXTS_ALONE}", 1),
    ],
    ids=["all but uploads", "uploads"],
)
@pytest.mark.parametrize("name", ["everything", "team-a"])
def test_no_request_gets_an_answer_that_is_not_described(
    tmp_path: Path, name: str, operations: list[str], left_out: str, tested: int
) -> None:
    examples = EXAMPLES if name == "everything" else EXAMPLES // 10
    with filled(settings(tokens=True, workers=4)) as knowledge, running(create_app(knowledge)) as address:
        command = [
            str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}/openapi.json",
            "--max-examples", str(examples), "--checks", "all", "--exclude-checks", left_out, "--seed", "1",
            *operations,
            "--header", f"Authorization: {bears(name)['Authorization']}", "--no-color", "--continue-on-failure",
        ]  # fmt: skip
        said = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "HOME": str(tmp_path)},
        )
    assert said.returncode == 0, f"{said.stdout[-20_000:]}\n{said.stderr[-5_000:]}"
    assert f"Tested: {tested}" in said.stdout
