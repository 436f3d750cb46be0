"""What a process that answers once and ends does without: collecting garbage, waiting busily, taking itself apart.

Together they were a tenth of the processor time of a lookup. Knows no command and no answer.
"""

from __future__ import annotations

import gc
import os
from typing import NoReturn


def hasten() -> None:
    """To be called before anything else is imported."""
    gc.disable()  # imports leave nothing to collect, and there is too little time for anything else to
    # The threads of numpy's OpenBLAS wait busily for 2**26 cycles when they are made; with 2**4 they sleep at once.
    os.putenv("OPENBLAS_THREAD_TIMEOUT", "4")


def end(code: int) -> NoReturn:
    """End the process with this code, and leave the memory of its model and modules to the system.

    What was printed must have been flushed. Threads are not waited for: what a lookup still waited for it has left
    behind, whoever pressed Ctrl-C may not want to wait for an embedder, and a store takes no harm from a process that
    is gone: a write that is under way is rolled back when the store is opened next.
    """
    os._exit(code)
