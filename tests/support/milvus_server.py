"""A real Milvus server (2.3.5, from the registry package `milvus`) for tests: one per run, whichever worker asks first.

The package pins what no other package wants, so it gets an environment of its own, in the user's cache; the server runs
in a folder of the test run.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

VERSION = "2.3.5"
SUPERVISOR = Path(__file__).with_name("milvus_supervisor.py")
START_S = 180.0

_STARTED: list[subprocess.Popen[bytes]] = []
"""What this process started: it ends by itself, when nobody uses it any more."""


class NoServerError(Exception):
    """It can't be had here; says why."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is up.

    Attributes:
        uri: where it answers.
        version: as it says itself.
    """

    uri: str
    version: str


@contextmanager
def milvus_server(folder: Path) -> Iterator[Server]:
    """The server of this test run, whose shared folder is given; started if nobody has.

    Raises:
        NoServerError: it can't be installed or does not start.
    """
    own = folder / "milvus-server"
    (own / "users").mkdir(parents=True, exist_ok=True)
    user = own / "users" / str(os.getpid())
    user.touch()
    try:
        with _locked(own / "lock"):
            port = own / "port"
            if not port.exists():
                _start(own)
            uri = f"http://127.0.0.1:{port.read_text(encoding='utf-8')}"
        yield Server(uri, _version(uri))
    finally:
        user.unlink(missing_ok=True)


def _start(own: Path) -> None:
    python = _python()
    log = own / "supervisor.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(python), str(SUPERVISOR), str(own)], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    _STARTED.append(process)
    deadline = time.monotonic() + START_S
    while not (own / "port").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.terminate()
            said = log.read_text(encoding="utf-8", errors="replace")[-500:]
            raise NoServerError(f"milvus {VERSION} does not start: {said}")
        time.sleep(0.2)


def _python() -> Path:
    """The Python of an environment that has the package; made at the first time."""
    home = Path(platformdirs.user_cache_dir("citewell-tests")) / f"milvus-{VERSION}-py{sys.version_info.minor}"
    home.mkdir(parents=True, exist_ok=True)
    python = home / "venv" / "bin" / "python"
    with _locked(home / "lock"):
        if not (home / "ready").exists():
            venv.create(home / "venv", with_pip=True, clear=True)
            done = subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"milvus=={VERSION}"],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise NoServerError(f"milvus {VERSION} can't be installed: {done.stderr[-500:]}")
            (home / "ready").touch()
    return python


def _version(uri: str) -> str:
    from pymilvus import MilvusClient  # noqa: PLC0415 - half a second, and only here

    client = MilvusClient(uri=uri, timeout=30)
    try:
        return str(client.get_server_version())
    finally:
        client.close()


def drop(uri: str, collection: str) -> None:
    """Remove the collections of a store."""
    from pymilvus import MilvusClient  # noqa: PLC0415 - half a second, and only here

    client = MilvusClient(uri=uri, timeout=30)
    for end in ("", "_catalogue", "_sessions"):
        client.drop_collection(collection + end)
    client.close()


def empty(uri: str, collection: str) -> None:
    """Leave nothing in the collections of a store; they are kept, for a server takes seconds to make some."""
    from pymilvus import MilvusClient  # noqa: PLC0415 - half a second, and only here

    client = MilvusClient(uri=uri, timeout=30)
    for end in ("", "_catalogue", "_sessions"):
        if client.has_collection(collection + end):
            client.load_collection(collection + end)
            client.delete(collection + end, filter='id >= ""')
    client.close()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
