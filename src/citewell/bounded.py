"""Files that a user names are read up to a bound: a device never ends, and a mistaken name may be that of a huge one.

It knows no kind of file. Documents are not read by it: ingestion has bounds of its own.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO


def read_file(path: Path, most: int) -> bytes:
    """What a file holds, a pipe too.

    Raises:
        OSError: it can't be read, or holds more than so many bytes (EFBIG).
    """
    with path.open("rb") as file:
        return read_stream(file, most, str(path))


def read_stream(stream: BinaryIO, most: int, name: str) -> bytes:
    """What comes until its end.

    Raises:
        OSError: it can't be read, or more than so many bytes come (EFBIG).
    """
    data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    return data
