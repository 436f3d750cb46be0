"""A `citewell serve` in a process of its own, on a free port, ended as a supervisor ends it."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_ADDRESS = re.compile(r"^citewell: serving (http://\S+) ")
_STARTS_S, _ENDS_S = 120, 60


@dataclass
class Served:
    """A server that runs.

    Attributes:
        lines: of its stderr so far; the reader of it appends.
    """

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    address: str = ""
    _answers: threading.Event = field(default_factory=threading.Event)

    def read(self) -> None:
        """Take its stderr in until it ends."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            found = _ADDRESS.match(line)
            if found:
                self.address = found[1]
                self._answers.set()
        self._answers.set()

    def wait(self) -> None:
        """Until it answers."""
        assert self._answers.wait(_STARTS_S)
        assert self.address, self.lines

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Have it end, and its exit code."""
        self.process.send_signal(how)
        return self.process.wait(_ENDS_S)


@contextlib.contextmanager
def served(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Served]:
    """`citewell serve` in a folder, with its store there."""
    command = [sys.executable, "-m", "citewell", "serve", "--port", "0", "--kb", str(folder / "kb"), *arguments]
    process = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
    )
    server = Served(process)
    reader = threading.Thread(target=server.read, daemon=True)
    reader.start()
    try:
        server.wait()
        yield server
    finally:
        process.kill()
        process.wait(_ENDS_S)
        reader.join(_ENDS_S)
        if process.stderr is not None:
            process.stderr.close()
