"""A server under load: clients that look things up while a folder is ingested over HTTP, and the same load when idle.

    python bench/serve_load.py [--data ../shared/data/k8s-docs] [--seconds 60] [--clients 16] [--think 0.5]
        [--json FILE]

Starts `citewell serve` over a store with the demo's runbooks, with the default model. Each client asks, reads the
answer, waits for `--think` seconds and asks again: dense and hybrid lookups, with and without neighbours, evidence,
checks. A process of its own, so that the clients' work isn't in its figures, pings /healthz and MCP ten times a second.
Bounds: no error; lookups' p50 at most twice that of the idle server; p99 of both pings under 50 ms; the server's memory
grows by at most 25% over the last two thirds of the loaded time. Exit code 1 if a bound is missed, or, with
`--report-only`, if there was an error. The ingestion's own process is not in the server's memory; its peak is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import multiprocessing
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from recorded import record

QUERIES = (
    "why is the pool exhausted", "how do I roll back a deployment", "certificate expired", "节点磁盘压力怎么办",
    "pod stuck in pending", "liveness probe keeps failing", "POOL-1042", "how are secrets mounted", "网络策略",
    "what does eviction do",
)  # fmt: skip
_TIMES_IDLE, _PING_MS, _GROWTH = 2.0, 50.0, 1.25
_EVERY_S = 0.1
_KINDS = ("lookup", "other", "healthz", "mcp ping")


@dataclass
class Load:
    """What was measured: seconds by kind of request, errors, resident bytes of the server, and of others with it."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})
    errors: list[str] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    beside: int = 0

    def at(self, kind: str, share: float) -> float:
        """A percentile, in milliseconds."""
        values = sorted(self.seconds[kind])
        return 1000 * values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """A server over a store in the folder: its address and process id."""
    settings = '[server]\nrate = 0\nmax-body = 100000000\n[retrieval.search]\nmode = "hybrid"\n'
    (folder / "citewell.toml").write_text(settings)
    command = [sys.executable, "-m", "citewell", "serve", "--port", "0", "--kb", "kb", "--config", "citewell.toml"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stderr=log)
    try:
        yield _address(folder / "log", process), process.pid
    finally:
        process.terminate()
        process.wait(60)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    while process.poll() is None:
        found = re.search(r"^citewell: serving (\S+)", log.read_text(), re.MULTILINE)
        if found:
            return found[1]
        time.sleep(0.1)
    raise SystemExit(f"the server did not start: {log.read_text()}")


def resident(process: int) -> int:
    """Bytes of memory that a process has; 0 of one that has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(kilobytes) * 1024 for kilobytes in re.findall(r"VmRSS:\s+(\d+) kB", status))


async def timed(http: httpx2.AsyncClient, load: Load, kind: str, method: str, path: str, body: object = None) -> object:
    """One request, whose time and error are kept."""
    started = time.perf_counter()
    try:
        answer = await http.request(method, path, json=body)
    except httpx2.HTTPError as error:
        load.errors.append(f"{method} {path}: {type(error).__name__}: {error}")
        return None
    load.seconds[kind].append(time.perf_counter() - started)
    if answer.status_code != 200:
        load.errors.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return None
    return answer.json()


async def client(http: httpx2.AsyncClient, load: Load, number: int, until: float, think_s: float) -> None:
    """Asks until the time is over."""
    for turn in itertools.count():
        if time.perf_counter() >= until:
            return
        query = QUERIES[(number + turn) % len(QUERIES)]
        mode, agent = ("dense", "hybrid", "hybrid")[turn % 3], turn % 2 == 0
        body = {"query": query, "mode": mode, "agent": agent, "neighbours": turn % 2}
        found = await timed(http, load, "lookup", "POST", "/v1/lookup", body)
        if isinstance(found, dict) and not agent and found["evidence"] and turn % 3 == 1:
            key = found["evidence"][0]["evidence_key"]
            await timed(http, load, "other", "GET", "/v1/evidence/" + key.replace("#", "%23") + "?neighbours=1")
            await timed(http, load, "other", "POST", "/v1/check", {"answer": f"It is so [{key}].", "shown": [key]})
        await asyncio.sleep(think_s)


def pinging(address: str, seconds: float, told: Any) -> None:  # noqa: ANN401 - multiprocessing's own queue
    """Pings both ways until the time is over; in a process of its own."""
    asks = [threading.Thread(target=ask, args=(address, seconds, told)) for ask in (ping_http, ping_mcp)]
    for ask in asks:
        ask.start()
    for ask in asks:
        ask.join()
    told.put(None)


def heard(told: Any, pings: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - as above
    """What the pings told until they ended; that they ended early is an error."""
    while True:
        try:
            said = told.get(timeout=5)
        except queue.Empty:
            if pings.is_alive():
                continue
            yield "healthz", f"the pings ended with exit code {pings.exitcode}"
            return
        if said is None:
            return
        yield said


def ping_http(address: str, seconds: float, told: Any) -> None:  # noqa: ANN401 - as above
    """Asks whether the server lives."""
    line = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    pinged("healthz", told, seconds, lambda: asked(line, "GET", "/healthz"))


def ping_mcp(address: str, seconds: float, told: Any) -> None:  # noqa: ANN401 - as above
    """Pings in a session of the protocol, as a client does that keeps its connection."""
    line = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    kinds = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    opened = asked(line, "POST", "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}, kinds)
    session = {**kinds, "mcp-session-id": opened.getheader("mcp-session-id") or ""}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    pinged("mcp ping", told, seconds, lambda: asked(line, "POST", "/mcp", ping, session))


def asked(
    line: http.client.HTTPConnection, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> http.client.HTTPResponse:
    """One request, read to its end."""
    line.request(method, path, None if body is None else json.dumps(body), headers or {})
    answer = line.getresponse()
    answer.read()
    if answer.status != 200:
        raise OSError(f"{method} {path}: {answer.status}")
    return answer


def pinged(kind: str, told: Any, seconds: float, ask: Callable[[], object]) -> None:  # noqa: ANN401 - as above
    """Asks ten times a second and tells how long it took, or what failed."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        started = time.perf_counter()
        try:
            ask()
        except (OSError, http.client.HTTPException) as error:
            told.put((kind, f"{kind}: {type(error).__name__}: {error}"))
            return
        told.put((kind, time.perf_counter() - started))
        time.sleep(_EVERY_S)


async def watching(load: Load, process: int, until: float) -> None:
    """Looks at the server's memory, and at that of the processes that it started."""
    while time.perf_counter() < until:
        load.resident.append(resident(process))
        load.beside = max(load.beside, sum(map(resident, children(process))))
        await asyncio.sleep(_EVERY_S)


def children(process: int) -> list[int]:
    """Processes that this one started and that still run."""
    listed = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for names in listed for child in names.read_text().split()]


async def loaded(address: str, process: int, clients: int, seconds: float, think_s: float) -> Load:
    """What the clients measure."""
    spawning = multiprocessing.get_context("spawn")
    told = spawning.Queue()
    pings = spawning.Process(target=pinging, args=(address, seconds, told))
    pings.start()
    load, until = Load(), time.perf_counter() + seconds
    limits = httpx2.Limits(max_connections=clients + 2)
    async with httpx2.AsyncClient(base_url=address, timeout=60, limits=limits) as asking:
        clients_asking = [client(asking, load, number, until, think_s) for number in range(clients)]
        await asyncio.gather(*clients_asking, watching(load, process, until))
    for kind, value in heard(told, pings):
        (load.errors if isinstance(value, str) else load.seconds[kind]).append(value)
    pings.join()
    return load


def ingest(address: str, folder: Path) -> str:
    """Upload a folder's Markdown; the address of the job."""
    names = sorted(path for path in folder.rglob("*.md") if path.is_file())
    uploads = [("files", (path.relative_to(folder).as_posix(), path.read_bytes())) for path in names]
    answer = httpx2.post(f"{address}/v1/ingest", files=uploads, timeout=60)
    answer.raise_for_status()
    return f"{address}{answer.headers['location']}"


def wait_for(job: str) -> None:
    """Until the job has ended."""
    while httpx2.get(job).json()["state"] in ("waiting", "running"):
        time.sleep(0.2)


def figures(load: Load) -> dict[str, Any]:
    """What was measured, as JSON: milliseconds by kind of request, MiB of the server and of the processes beside it."""
    mib = [value / 2**20 for value in load.resident]
    return {
        "lookups": len(load.seconds["lookup"]),
        "errors": len(load.errors),
        "ms": {
            kind: {name: load.at(kind, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("most", 1))}
            for kind in load.seconds
        },
        "server MiB": {"first": mib[0], "after a third": mib[len(mib) // 3], "last": mib[-1]},
        "ingestion MiB": load.beside / 2**20,
    }


def shown(name: str, load: Load) -> None:
    """Print what was measured."""
    found = figures(load)
    print(f"{name}: {found['lookups']} lookups, {found['errors']} errors")
    for kind, ms in found["ms"].items():
        print(f"  {kind:<8} p50 {ms['p50']:7.1f} ms  p99 {ms['p99']:7.1f} ms  max {ms['most']:7.1f} ms")
    first, third, last = found["server MiB"].values()
    beside = f"; the ingestion's process {found['ingestion MiB']:.0f} at most" if load.beside else ""
    print(f"  memory   {first:.0f} MiB at first, {third:.0f} after a third, {last:.0f} at last{beside}", flush=True)
    for error in load.errors[:5]:
        print(f"  error    {error}")


def missed(idle: Load, busy: Load) -> list[str]:
    """The bounds that don't hold."""
    third = len(busy.resident) // 3
    bounds = {
        "no error": not idle.errors and not busy.errors,
        f"p50 <= {_TIMES_IDLE:g} x idle": busy.at("lookup", 0.5) <= _TIMES_IDLE * idle.at("lookup", 0.5),
        **{f"p99 of {kind} < {_PING_MS:g} ms": busy.at(kind, 0.99) < _PING_MS for kind in ("healthz", "mcp ping")},
        f"memory x {_GROWTH} at most": busy.resident[-1] <= _GROWTH * max(busy.resident[third], 1),
    }
    return [name for name, held in bounds.items() if not held]


def main() -> int:
    """Run both phases and print the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=Path("../shared/data/k8s-docs"))
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--idle-seconds", type=float, default=20)
    options.add_argument("--clients", type=int, default=16)
    options.add_argument("--think", type=float, default=0.5)
    options.add_argument("--report-only", action="store_true")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, process):
        wait_for(ingest(address, Path(str(files("citewell.demo") / "corpus"))))
        asyncio.run(loaded(address, process, chosen.clients, 3, 0.1))  # warm up
        idle = asyncio.run(loaded(address, process, chosen.clients, chosen.idle_seconds, chosen.think))
        shown("idle", idle)
        job = ingest(address, chosen.data)
        busy = asyncio.run(loaded(address, process, chosen.clients, chosen.seconds, chosen.think))
        shown("during an ingestion", busy)
        state = httpx2.get(job).json()
        print(f"  the ingestion is {state['state']}: {json.dumps(state['progress'])}")
    broken = missed(idle, busy)
    print(f"bounds {'held' if not broken else 'MISSED: ' + ', '.join(broken)}")
    measured = {"idle": figures(idle), "loaded": figures(busy), "ingested": state["progress"], "missed": broken}
    asked = {"clients": chosen.clients, "seconds": chosen.seconds, "think, s": chosen.think}
    bounds = {"times idle": _TIMES_IDLE, "ping, ms": _PING_MS, "times a third": _GROWTH}
    record(chosen.json, "bench/serve_load.py", {**asked, "bounds": bounds, **measured})
    return int(bool(idle.errors or busy.errors) if chosen.report_only else bool(broken))


if __name__ == "__main__":
    sys.exit(main())
