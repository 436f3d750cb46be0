"""A program that serves MCP on stdio, with an embedder and a store that print, log and start children that print.

    python loud_mcp.py [FILE]

With FILE, the store opens when that file is there.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.server.callers import ANYONE
from citewell.server.mcp.stdio import serve

if TYPE_CHECKING:
    from citewell import Knowledge
    from citewell.ports import Embedder


def heavy() -> list[str]:
    """What of the store and the model is loaded."""
    return [name for name in ("numpy", "onnxruntime", "citewell.app", "citewell.wiring") if name in sys.modules]


def shout(what: str) -> None:
    """Write to standard output in every way that a library may."""
    print(f"printed {what}")  # noqa: T201 - that is what is tried; it may stay in a buffer until the process ends
    os.write(1, f"written {what}\n".encode())
    subprocess.run([sys.executable, "-c", f"print('a child on {what}')"], check=True)
    logging.getLogger("library").warning("logged %s", what)
    ctypes.CDLL(None).puts(f"said by C {what}".encode())  # as above, in the buffer of the C library
    warnings.warn(f"warned of {what}", stacklevel=1)


def loud_embedder() -> Embedder:
    """One that shouts at each text."""
    from citewell.testing.fakes import HashEmbedder  # noqa: PLC0415 - loads numpy, which the handshake must not need

    class Loud(HashEmbedder):
        def embed_query(self, text: str) -> object:  # type: ignore[override]  # the same vector
            shout("a query")
            return super().embed_query(text)

        def embed_passages(self, texts: Sequence[str]) -> object:  # type: ignore[override]  # the same vectors
            shout("passages")
            return super().embed_passages(texts)

    return Loud()  # type: ignore[return-value]  # as above


def opened() -> Knowledge:
    """A small knowledge base, once it may open."""
    while len(sys.argv) > 1 and not Path(sys.argv[1]).exists():
        time.sleep(0.01)
    from citewell import Document, Knowledge  # noqa: PLC0415 - as above

    class Closing(Knowledge):
        def close(self) -> None:
            shout("closing")
            super().close()

    shout("opening")
    knowledge = Closing.open("memory:", embedder=loud_embedder())
    knowledge.ingest_documents([Document("etcd.md", "Check the disk first.")])
    return knowledge


if __name__ == "__main__":
    atexit.register(shout, "the end")
    sys.stderr.write(f"loaded before serving: {heavy()}\n")
    serve(opened, caller=ANYONE, version="1.2.3")
