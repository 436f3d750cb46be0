"""The standard streams: there from the start, and all that was printed on its way at the end, or said to be lost.

A process may be started without some of them, a reader may go away, a disk may be full. Knows no command and no answer.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from citewell.cli.codes import DONE, IN_PART

_UNPRINTABLE = {errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF}


def ready() -> None:
    """Give closed ones to nowhere, before a file of ours takes the number that libraries print to; and show anything.

    A terminal that can't show a character shows its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest free number, which is this one
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def settle(code: int) -> int:
    """Print what still waits to be; the exit code, which is no success any more if that failed.

    A reader that has gone is no failure.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _give_up(stream)
        except (OSError, ValueError) as error:
            code = code or not_printed(error, stream)
    return code


def reader_has_gone() -> int:
    """`citewell ... | head` is no failure: write the rest to nowhere and be done."""
    _give_up(sys.stdout)
    return DONE


def is_of_output(error: OSError) -> bool:
    """Whether this is what a stream says that takes no more; what fails with a file has its name."""
    return error.errno in _UNPRINTABLE and error.filename is None


def not_printed(error: Exception, stream: TextIO | None = None) -> int:
    """Say that a stream, the standard output if none is named, took less than all; the exit code."""
    _give_up(sys.stdout if stream is None else stream)
    reason = getattr(error, "strerror", None) or error
    with suppress(OSError, ValueError):
        print(f"citewell: not all could be printed: {reason}", file=sys.stderr, flush=True)
    return IN_PART


def _give_up(stream: TextIO) -> None:
    with suppress(OSError, ValueError):  # one without a number of its own has nothing behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open as long as the process lives
