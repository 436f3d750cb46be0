"""Runs a real Milvus server for as long as a test process uses it; started with the Python that has `milvus` installed.

    python milvus_supervisor.py FOLDER

FOLDER/users holds a file per process, named by its id. The port is written to FOLDER/port once the server is up. Ends
when there has been no user for a while, so that a killed test run leaves no server behind.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import time
from pathlib import Path

PATIENCE_S = 5.0


def alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def used(folder: Path) -> bool:
    """Whether a process uses the server."""
    return any(alive(int(user.name)) for user in (folder / "users").iterdir() if user.name.isdigit())


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def adapted(folder: Path, template: Path) -> Path:
    """The template of the server's configuration, for tests.

    Its etcd listens elsewhere: where it does by itself, others may be. And its clock ticks ten times as often: a read
    that waits for a write waits for a tick, and tests do little else.
    """
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    (folder / "etcd.yaml").write_text(
        f"name: default\nlisten-client-urls: {client}\nadvertise-client-urls: {client}\n"
        f"listen-peer-urls: {peer}\ninitial-advertise-peer-urls: {peer}\ninitial-cluster: default={peer}\n",
        encoding="utf-8",
    )
    text = template.read_text(encoding="utf-8").replace("timeTickInterval: 200", "timeTickInterval: 20")
    own = folder / "milvus.yaml.template"
    own.write_text(
        text.replace("\netcd:\n", f"\netcd:\n  config:\n    path: {folder}/etcd.yaml\n", 1), encoding="utf-8"
    )
    return own


def main(folder: Path) -> None:
    """Start, say the port, wait for the last user, stop."""
    milvus = importlib.import_module("milvus")
    data = Path(str(milvus.__file__)).parent / "data"
    config = milvus.MilvusServerConfig(template=str(adapted(folder, data / "config.yaml.template")))
    config.glog_conf_file = str(data / "glog.conf")
    server = milvus.MilvusServer(config)
    server.set_base_dir(str(folder / "data"))
    server.start()
    try:
        (folder / "pid").write_text(str(server.server_proc.pid), encoding="utf-8")
        (folder / "port.new").write_text(str(server.listen_port), encoding="utf-8")
        (folder / "port.new").replace(folder / "port")
        seen = time.monotonic()
        while time.monotonic() - seen < PATIENCE_S and server.running:
            if used(folder):
                seen = time.monotonic()
            time.sleep(0.5)
    finally:
        (folder / "port").unlink(missing_ok=True)
        server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
