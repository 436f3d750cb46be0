"""The command that looks after a store's health: verify."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from citewell.cli import render
from citewell.cli.codes import IN_PART
from citewell.cli.edge import edge, emit
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge
from citewell.model import Finding, VerifyReport

_ROWS = 40


@edge
def verify(
    *,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Make anew what is derived; have the next ingestion renew damaged documents."),
    ] = False,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the stored truth with itself and with its index; exit code 1 if something is left unrepaired."""
    with open_knowledge(kb, config) as knowledge:
        report = knowledge.verify(repair=repair)
    if as_json:
        emit(report.to_dict())
    else:
        _print(report, repair=repair)
    if not report.ok:
        raise typer.Exit(IN_PART)


def _print(report: VerifyReport, *, repair: bool) -> None:
    out = render.console()
    if report.findings:
        _print_findings(report.findings)
    out.print(render.said(f"{report.chunks} chunks checked: {_verdict(report)}", "bold"))
    for line in _ways_out(report, repair=repair):
        out.print(render.said(line))


def _print_findings(findings: Sequence[Finding]) -> None:
    out = render.console()
    columns = ("kind", "where", "evidence key", "detail", "repaired")
    grid = render.table(f"{len(findings)} findings", *columns)
    for found in findings[:_ROWS]:
        key = render.folded(found.evidence_key, max(16, out.width - 60))
        render.row(grid, found.kind, found.where, key, found.detail, "yes" if found.repaired else "no")
    out.print(grid)
    if len(findings) > _ROWS:
        out.print(render.said(f"... and {len(findings) - _ROWS} more; `--json` lists all"))


def _verdict(report: VerifyReport) -> str:
    if not report.findings:
        return "sound"
    left = sum(not found.repaired for found in report.findings)
    return f"{left} of {len(report.findings)} findings left" if left else f"sound; {len(report.findings)} repaired"


def _ways_out(report: VerifyReport, *, repair: bool) -> list[str]:
    """What a person can do about what is left."""
    if report.ok:
        return []
    if not repair:
        return ["`citewell verify --repair` makes anew what is derived and marks damaged documents for renewal."]
    if not any(found.evidence_key for found in report.findings if not found.repaired):
        return ["The details above say what is left; no document is named among it."]
    return ["What is left is damage to stored documents: ingest their sources again, which renews them."]
