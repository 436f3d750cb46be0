"""Opens what must be a regular file, or says what lies there instead; it knows none of the store's files.

Opening a pipe waits for somebody at its other end, a device takes whatever is written to it, and what SQLite says of
either names neither the file nor the reason.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from citewell.errors import StoreUnreachable

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFDIR: "a folder", stat.S_IFSOCK: "a socket"}


def check_regular(file: Path) -> None:
    """Refuse what is there and is no file; where links lead counts.

    Raises:
        StoreUnreachable: names it.
        OSError: it can't be looked at.
    """
    try:
        kind = stat.S_IFMT(file.stat().st_mode)
    except FileNotFoundError:
        return
    if kind != stat.S_IFREG:
        raise StoreUnreachable(
            f"{file} is {_KINDS.get(kind, 'a device')}, and the store keeps a file of that name",
            way_out="Move it away; if it took the place of a file, put that back.",
        )


def opened(file: Path, flags: int) -> int:
    """A descriptor of the file, which `flags` may have made; raises as `check_regular`, and never waits."""
    check_regular(file)
    return os.open(file, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
