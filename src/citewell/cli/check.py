"""The command that checks an answer's citations: a file in, a line per citation out, exit code 4 if it is rejected."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from citewell.bounded import read_file, read_stream
from citewell.cli import render
from citewell.cli.codes import REJECTED
from citewell.cli.edge import edge, emit
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge
from citewell.cli.read import ScopeOption
from citewell.errors import InvalidRequest
from citewell.model import Citation, GuardReport
from citewell.printable import printable_id

_LARGEST = 16_000_000
"""Bytes of an answer, or of what was shown."""

_STYLES = {"shown": "green", "stale": "yellow", "ambiguous": "yellow", "not_shown": "red", "unknown": "red"}


@edge
def check(
    file: Annotated[str, typer.Argument(help="The answer, as UTF-8 text; - reads standard input.")],
    *,
    session: Annotated[str | None, typer.Option("--session", help="Whose evidence counts as shown.")] = None,
    shown: Annotated[
        Path | None,
        typer.Option("--shown", help="Instead of a session: a file with what `lookup --agent --json` printed."),
    ] = None,
    scope: ScopeOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Reject false quotes too, and hand back no cleaned answer.")
    ] = False,
    ids: Annotated[bool, typer.Option("--ids", help="The file is a list of ids, one a line.")] = False,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the citations of an answer: was each shown, does it exist, has it changed; exit code 4 if not."""
    answer, seen = _read(file), None if shown is None else _projection(shown)
    with open_knowledge(kb, config) as knowledge:
        report = knowledge.check(
            [line for line in answer.split("\n") if line.strip()] if ids else answer,
            session=session,
            shown=seen,
            scope=scope or None,
            strict=strict,
        )
    if as_json:
        emit(report.to_dict())
    else:
        _print(report, answer)
    if not report.ok:
        raise typer.Exit(REJECTED)


def _read(file: str) -> str:
    """The text of a file or of standard input, a byte order mark left out."""
    try:
        data = read_stream(sys.stdin.buffer, _LARGEST, file) if file == "-" else read_file(Path(file), _LARGEST)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidRequest(f"{file!r} can't be read: {error.strerror}", way_out="Give a text file, or -.") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file!r} is not UTF-8 text", way_out="Convert it to UTF-8 first.") from error


def _projection(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(_read(str(file)))
    except ValueError as error:
        raise InvalidRequest(f"{str(file)!r} holds no JSON: {error}", way_out="Give what `--json` printed.") from error
    if isinstance(found, Mapping) and isinstance(found.get("evidence"), list):
        return found
    raise InvalidRequest(
        f"{str(file)!r} holds no projection", way_out="Give what `citewell lookup --agent --json` printed."
    )


def _print(report: GuardReport, answer: str) -> None:
    out = render.console()
    verdict = "accepted" if report.ok else "rejected"
    apart = f", {len(report.in_code)} ids in code" if report.in_code else ""
    out.print(render.said(f"{verdict}: {len(report.citations)} citations{apart}", "bold"), soft_wrap=True)
    for citation in report.citations:
        out.print(render.said(_line(citation, answer), _STYLES[citation.verdict]), soft_wrap=True)
    for citation in report.in_code:
        out.print(render.said(f"{_line(citation, answer)} (in code: not counted)", "dim"), soft_wrap=True)
    out.print(render.said(report.disclaimer, "dim"))


def _line(citation: Citation, answer: str) -> str:
    """`not_shown  line 3  docA#chunk-2: it exists, but was not shown here`."""
    line = "" if citation.span is None else f"line {answer.count(chr(10), 0, citation.span[0]) + 1}  "
    quote = citation.quote
    remark = "" if quote is None else f"; quote {quote.verdict}"
    detail = f": {citation.detail}" if citation.detail else ""
    return f"{citation.verdict:<9}  {line}{printable_id(citation.raw)}{detail}{remark}"
