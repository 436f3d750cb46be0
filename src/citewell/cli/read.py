"""The commands that read: lookup, show, list, status."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli import render
from citewell.cli.edge import edge, emit
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge
from citewell.errors import InvalidRequest
from citewell.model import Mode

ScopeOption = Annotated[
    list[str] | None, typer.Option("--scope", help="A label that you hold; may be repeated. Default: everything.")
]


@edge
def lookup(
    query: Annotated[str, typer.Argument(help="A question, an error code, a command.")],
    *,
    mode: Annotated[str | None, typer.Option(help="dense or hybrid.")] = None,
    category: Annotated[str | None, typer.Option(help="A guess of where the answer is; never hides the rest.")] = None,
    scope: ScopeOption = None,
    where: Annotated[list[str] | None, typer.Option(help="FIELD=VALUE that metadata must equal; repeatable.")] = None,
    retrieve_k: Annotated[int | None, typer.Option(help="Candidates asked of each path.")] = None,
    return_n: Annotated[int | None, typer.Option(help="The most blocks returned.")] = None,
    min_similarity: Annotated[float | None, typer.Option(help="Dense similarity floor in [-1, 1].")] = None,
    max_chunks_per_document: Annotated[int | None, typer.Option(help="The cap; 0 = none.")] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Whose memory counts; --agent shows and records, the other views only look."),
    ] = None,
    neighbours: Annotated[int, typer.Option(help="Chunks shown before and after each hit, if there is room.")] = 0,
    repeat: Annotated[bool, typer.Option("--repeat", help="Show again what the session was shown before.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each path's ranking, the fusion, the drops.")
    ] = False,
    agent: Annotated[bool, typer.Option("--agent", help="Show what an agent sees.")] = False,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look knowledge up and show the evidence."""
    with open_knowledge(kb, config, asks=True) as knowledge:
        result = knowledge.lookup(
            query,
            mode=_mode(mode),
            category=category,
            scope=scope or None,
            where=_where(where),
            retrieve_k=retrieve_k,
            return_n=return_n,
            min_similarity=min_similarity,
            max_chunks_per_document=max_chunks_per_document,
            session=session,
            neighbours=neighbours,
            repeat=repeat,
        )
        # While the store is open: what an agent is shown is recorded in its session.
        seen = result.to_agent() if agent else None
    if as_json:
        emit(result.to_dict() if seen is None else seen)
    elif seen is not None:
        render.agent(seen)
    elif explain:
        render.explanation(result)
    else:
        render.evidence(result)


def _mode(mode: str | None) -> Mode | None:
    return mode  # type: ignore[return-value]  # admission refuses what is no mode, with the reason


def _where(pairs: list[str] | None) -> dict[str, str | int | float | bool] | None:
    if not pairs:
        return None
    found: dict[str, str | int | float | bool] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise InvalidRequest(f"--where {pair!r} has no '='", way_out="Write FIELD=VALUE, such as team=storage.")
        found[name] = _scalar(value)
    return found


def _scalar(text: str) -> str | int | float | bool:
    """As JSON would read it: `true`, `3`, `3.5`; anything else, and anything in double quotes, is text."""
    import json

    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | bool) else text


@edge
def show(
    key: Annotated[str, typer.Argument(help="An evidence key, such as etcd.md#chunk-2.")],
    *,
    scope: ScopeOption = None,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one chunk by its evidence key."""
    with open_knowledge(kb, config) as knowledge:
        block = knowledge.show(key, scope=scope or None)
    if as_json:
        emit(block.to_dict())
    else:
        render.block(block)


@edge
def list_documents(*, kb: KbOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the stored documents."""
    with open_knowledge(kb, config) as knowledge:
        documents = list(knowledge.documents())
    if as_json:
        emit([document.to_dict() for document in documents])
    else:
        render.documents(documents)


@edge
def status(*, kb: KbOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show how full the store is and what it is bound to."""
    with open_knowledge(kb, config) as knowledge:
        found = knowledge.status()
    if as_json:
        emit(found.to_dict())
    else:
        render.status(found)
