"""The tour: ingest the runbooks that come with the package, ask four questions, show dense beside hybrid.

It uses the same public calls as anyone's program; the questions are data (demo/questions.toml).
"""

from __future__ import annotations

import tempfile
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from citewell.cli import render, reports
from citewell.cli.edge import edge, emit
from citewell.cli.options import ConfigOption, JsonOption, load_settings

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.lookup import LookupResult

FLOOR = 0.3
"""The similarity floor of the tour: on this corpus, what unrelated questions reach stays below it."""


@edge
def demo(
    *,
    keep: Annotated[Path | None, typer.Option(help="Keep the store in this folder.")] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ingest the example runbooks, ask four questions, show dense beside hybrid."""
    with tempfile.TemporaryDirectory(prefix="citewell-demo-") as temporary:
        location = keep or Path(temporary) / "kb"
        tour(location, config, as_json=as_json)


def tour(location: Path, config: Path | None, *, as_json: bool) -> None:
    """The demo on a store at this location."""
    from citewell.app import Knowledge

    corpus = resources.files("citewell.demo").joinpath("corpus")
    questions = tomllib.loads(resources.files("citewell.demo").joinpath("questions.toml").read_text("utf-8"))[
        "questions"
    ]
    with (
        resources.as_file(corpus) as folder,
        Knowledge.open(location, settings=load_settings(config)) as knowledge,
        reports.progress_bar(quiet=as_json) as progress,
    ):
        report = knowledge.ingest(folder, progress=progress)
        answers = [_ask(knowledge, question["question"]) for question in questions]
    if as_json:
        emit(
            {
                "ingestion": report.to_dict(),
                "questions": [_as_json(question, pair) for question, pair in zip(questions, answers, strict=True)],
            }
        )
        return
    out = render.console()
    out.print(Text("Citewell reads the runbooks of an invented shop and answers four questions.", style="bold"))
    reports.ingestion(report)
    for number, (question, pair) in enumerate(zip(questions, answers, strict=True), start=1):
        _show(number, question, *pair)
    out.print()
    out.print(
        Text(
            "Next: citewell ingest YOUR_FOLDER, then citewell lookup 'YOUR QUESTION' --mode hybrid --explain",
            style="bold",
        )
    )


def _ask(knowledge: Knowledge, question: str) -> tuple[LookupResult, LookupResult]:
    dense = knowledge.lookup(question, mode="dense", return_n=3, min_similarity=FLOOR)
    return dense, knowledge.lookup(question, mode="hybrid", return_n=3, min_similarity=FLOOR)


def _as_json(question: dict[str, object], pair: tuple[LookupResult, LookupResult]) -> dict[str, object]:
    dense, hybrid = pair
    return {
        "question": question["question"],
        "why": question["why"],
        "dense": dense.to_dict(),
        "hybrid": hybrid.to_dict(),
    }


def _show(number: int, question: dict[str, str], dense: LookupResult, hybrid: LookupResult) -> None:
    out = render.console()
    out.print()
    out.rule(Text(f"Question {number}"), align="left", characters="-")
    out.print(Text(question["question"], style="bold cyan"))
    out.print(Text(question["why"], style="dim"))
    out.print()
    out.print(_beside(dense, hybrid))
    render.evidence(hybrid)


def _beside(dense: LookupResult, hybrid: LookupResult) -> Table:
    """Dense and hybrid, rank by rank, each line with its reason."""
    table = render.table("", "#", "dense", "hybrid", numbers=("#",))
    for rank in range(1, max(len(dense.evidence), len(hybrid.evidence), 1) + 1):
        render.row(table, str(rank), _line(dense, rank), _line(hybrid, rank))
    return table


def _line(result: LookupResult, rank: int) -> str:
    if rank > len(result.evidence):
        return f"({result.status})" if rank == 1 else ""
    block = result.evidence[rank - 1]
    return f"{render.folded(block.evidence_key, 32)}\n{render.why(block)}; similarity {render.number(block.similarity)}"
