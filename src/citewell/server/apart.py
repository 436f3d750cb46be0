"""Ingestions in a process of their own, of low priority: the server's threads share Python's lock with nobody (API-4).

A thread that reads and splits holds that lock; where it is told to give way it is put aside with the lock in its hand,
and lookups wait for it. A process has a lock of its own. It begins with the first ingestion and ends when there was
none for a while, which gives its memory back. It knows documents and reports; how they are stored, it doesn't know.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Final, Literal

from citewell.errors import CitewellError, IngestError

if TYPE_CHECKING:
    from citewell.config import Settings
    from citewell.ingest import Progress
    from citewell.model import Document, IngestReport, RawDocument

    Line = Connection[Any, Any]

_STDERR: Final = 2
_ENDS_S: Final = 60.0
"""How long the process may take for the write that is due, once it was told to end."""


@dataclass(frozen=True, slots=True)
class Work:
    """What the process is to ingest; `apart` is that of `Knowledge.ingest_documents`."""

    documents: Sequence[Document | RawDocument]
    apart: bool


@dataclass(frozen=True, slots=True)
class Said:
    """What the process answers: `taken` first, then how it goes on, and one of the others at the end."""

    what: Literal["taken", "progress", "done", "failed", "crashed", "stopped"]
    value: Progress | IngestReport | CitewellError | None = None


class Apart:
    """Ingests for one server; a job at a time, from whichever thread."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is started yet.

        Args:
            settings: by which the process opens the store and the embedder.
        """
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Line | None = None

    def ingest_documents(
        self,
        documents: Sequence[Document | RawDocument],
        *,
        apart: bool = False,
        progress: Callable[[Progress], None],
    ) -> IngestReport:
        """As `Knowledge.ingest_documents`; what `progress` raises ends it with the write that is due.

        Raises:
            CitewellError: as there.
            IngestError: the process ended in the middle of it.
        """
        line = self._given(Work(documents, apart))
        try:
            return self._heard(line, progress)
        except (EOFError, OSError) as error:
            raise self._gone() from error

    def close(self) -> None:
        """End the process, which first finishes the write that is due. Idempotent."""
        line, process = self._line, self._process
        self._line = self._process = None
        if line is not None:
            line.close()
        if process is not None:
            try:
                process.wait(_ENDS_S)
            except subprocess.TimeoutExpired:  # a store bears it
                process.kill()
                process.wait()

    def _given(self, work: Work) -> Line:
        """Hand the work over; a process that had just gone to rest is replaced by a new one, once."""
        for line in (self._line, None):
            try:
                line = line or self._started()
                line.send(work)
                self._expect(line.recv())
            except (EOFError, OSError):
                lost = self._gone()
            else:
                return line
        raise lost

    @staticmethod
    def _expect(said: Said) -> None:
        if said.what != "taken":
            raise _unexpected(said)

    def _started(self) -> Line:
        self.close()
        ours, theirs = Pipe()
        with theirs:
            # Not in a session of its own: between sessions, some kernels heed no priority.
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter in use, and fixed words
                [sys.executable, "-P", "-c", _program(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=_STDERR,
                pass_fds=[theirs.fileno()],
            )
        self._line = ours
        ours.send(self._settings)
        return ours

    def _heard(self, line: Line, progress: Callable[[Progress], None]) -> IngestReport:
        while True:
            said: Said = line.recv()
            if said.what == "progress":
                self._told(line, progress, said)
            elif said.what == "done":
                return said.value  # type: ignore[return-value]
            elif isinstance(said.value, CitewellError):
                raise said.value
            else:
                raise _unexpected(said)

    def _told(self, line: Line, progress: Callable[[Progress], None], said: Said) -> None:
        try:
            progress(said.value)  # type: ignore[arg-type]  # which of the values it is, the word says
        except BaseException:
            self._stop(line)
            raise

    @staticmethod
    def _stop(line: Line) -> None:
        """Have it stop, and wait until it has."""
        with contextlib.suppress(EOFError, OSError):
            line.send("stop")
            while line.recv().what in ("taken", "progress"):
                pass

    def _gone(self) -> IngestError:
        process = self._process
        self.close()
        code = "" if process is None else f" (exit code {process.returncode})"
        return IngestError(
            f"the process that ingests ended in the middle of it{code}",
            way_out="What is stored stays whole; send the same again. The server's log may say more.",
        )


def _program(descriptor: int) -> str:
    """What the process runs: Citewell from where this one has it, and nothing that lies in the working folder."""
    places = [place for place in sys.path if place]
    return f"import sys; sys.path[:] = {places!r}; from citewell.server.apart_process import main; main({descriptor})"


def _unexpected(said: Said) -> RuntimeError:
    return RuntimeError(f"the process that ingests says {said.what!r}; its own line in the log says why")
