"""How long an agent waits for `citewell mcp`: the SDK's own import, the handshake, the first lookup; medians of rounds.

    python bench/mcp_start.py [--kb STORE] [--rounds 5] [--json FILE]

Without --kb, a store of one document is made, with an embedder of `citewell.toml` or the default one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recorded import record

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LOOKUP = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "lookup_knowledge", "arguments": {"query": "why is the disk slow"}},
}


def sdk_import() -> float:
    """Seconds that Python takes to start and import the SDK's server."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp.server, mcp.server.stdio"], check=True)
    return time.perf_counter() - start


def served(kb: str) -> tuple[float, float]:
    """Seconds until the handshake is answered, and until the first lookup is, counted from the start."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "citewell", "mcp", "--kb", kb],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process has no pipes")
    process.stdin.write(f"{json.dumps(HELLO)}\n")
    process.stdin.flush()
    process.stdout.readline()
    handshake = time.perf_counter() - start
    process.stdin.writelines(f"{json.dumps(message)}\n" for message in (READY, LOOKUP))
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    first = time.perf_counter() - start
    process.communicate(timeout=60)
    if answer["result"].get("isError"):
        raise RuntimeError(answer["result"]["content"][0]["text"])
    return handshake, first


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kb = options.kb or made(Path(folder))
        rounds = [(sdk_import(), *served(kb)) for _ in range(options.rounds)]
    sdk, handshake, first = (statistics.median(column) for column in zip(*rounds, strict=True))
    above = statistics.median(row[1] - row[0] for row in rounds)
    print(f"SDK alone {sdk:.2f} s, handshake {handshake:.2f} s ({above:+.2f} s), first lookup {first:.2f} s")
    spent = {"SDK, s": sdk, "handshake, s": handshake, "above the SDK, s": above, "first lookup, s": first}
    record(options.json, "bench/mcp_start.py", {"rounds": options.rounds, **spent})


def made(folder: Path) -> str:
    """A store of one document."""
    (folder / "etcd.md").write_text("# Etcd\n\nA slow disk makes it slow.\n", "utf-8")
    command = [sys.executable, "-m", "citewell", "ingest", str(folder / "etcd.md"), "--kb", str(folder / "kb")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return str(folder / "kb")


if __name__ == "__main__":
    main()
