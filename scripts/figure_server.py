"""The tables of servers under load and of their start, from the JSON of bench/serve_load.py and bench/mcp_start.py.

It knows the shapes of those files alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from figure_tables import number, ran, table

_PINGS = {"healthz": "`/healthz`", "mcp ping": "`ping` of MCP in a session"}


def load(result: Mapping[str, Any]) -> str:
    """bench/serve_load.py: the idle server beside the one that ingests."""
    idle, busy, bounds = result["idle"], result["loaded"], result["bounds"]
    ping = f" (bound of the p99: {bounds['ping, ms']:g} ms)"
    rows = [
        ["lookups, errors", *(f"{each['lookups']:,}, {each['errors']}" for each in (idle, busy))],
        ["lookup, p50", _ms(idle, "lookup", "p50"), f"{_ms(busy, 'lookup', 'p50')} (bound: {_times(bounds)} idle)"],
        ["lookup, p99", _ms(idle, "lookup", "p99"), _ms(busy, "lookup", "p99")],
        *([f"{label}, p50, p99", _both(idle, kind), _both(busy, kind) + ping] for kind, label in _PINGS.items()),
        ["memory of the server", _range(idle), f"{_thirds(busy)} (bound: {_growth(bounds)} that after a third)"],
        ["memory of the ingestion's process, at most", *(f"{each['ingestion MiB']:.0f} MiB" for each in (idle, busy))],
        ["ingested", "", _ingested(result["ingested"])],
    ]
    missed = ", ".join(result["missed"])
    verdict = f"Missed: {missed}." if missed else "All bounds held."
    seconds = (
        f"{result['clients']} clients, {result['seconds']:g} s, {result['think, s']:g} s between an answer and the"
    )
    return f"{table(['', 'idle', 'during the ingestion'], rows)}\n\n{seconds} next question. {verdict} {ran(result)}"


def _ms(phase: Mapping[str, Any], kind: str, which: str) -> str:
    return f"{number(phase['ms'][kind][which])} ms"


def _both(phase: Mapping[str, Any], kind: str) -> str:
    return f"{number(phase['ms'][kind]['p50'])}, {number(phase['ms'][kind]['p99'])} ms"


def _range(phase: Mapping[str, Any]) -> str:
    return f"{phase['server MiB']['first']:.0f} to {phase['server MiB']['last']:.0f} MiB"


def _thirds(phase: Mapping[str, Any]) -> str:
    first, third, last = phase["server MiB"].values()
    return f"{first:.0f}, {third:.0f} after a third, {last:.0f} MiB at last"


def _times(bounds: Mapping[str, float]) -> str:
    return f"{bounds['times idle']:g} times"


def _growth(bounds: Mapping[str, float]) -> str:
    return f"{bounds['times a third']:g} times"


def _ingested(progress: Mapping[str, int]) -> str:
    return f"{progress['done']:,} of {progress['total']:,} documents, {progress['embedded']:,} chunks embedded"


def start(result: Mapping[str, Any]) -> str:
    """bench/mcp_start.py: how long an agent waits for `citewell mcp`."""
    names = {
        "the SDK's own import": "SDK, s",
        "the handshake, from the start of the process": "handshake, s",
        "of it above the SDK": "above the SDK, s",
        "the first answer, with the default model": "first lookup, s",
    }
    rows = [[label, number(result[name])] for label, name in names.items()]
    head = [f"medians of {result['rounds']}", "seconds"]
    return f"{table(head, rows)}\n\n{ran(result)}"


TABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "server-load": ("serve_load.json", load),
    "mcp-start": ("mcp_start.json", start),
}
