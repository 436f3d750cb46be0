"""The file that proposed settings are written to: refused before anything is measured, as far as that can be told.

Knows nothing of what is proposed.
"""

from __future__ import annotations

import os
from pathlib import Path

from citewell.errors import InvalidRequest

_WAY_OUT = "Name a file of your own, in a folder that there is."


def check_out(out: Path | None) -> None:
    """Refuse what could not be written.

    Raises:
        InvalidRequest: its folder is not there, it is a folder itself, or its owner doesn't let us.
    """
    if out is None:
        return
    folder = out.absolute().parent
    target = out if out.exists() else folder
    if out.is_dir() or not folder.is_dir() or not os.access(target, os.W_OK):
        raise InvalidRequest(f"--out can't be {str(out)!r}", way_out=_WAY_OUT)


def write_out(out: Path, text: str) -> None:
    """Write the file.

    Raises:
        InvalidRequest: it can't be written after all, such as on a full disk; then what it would hold is in the error.
    """
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(
            f"{out} can't be written to: {error.strerror}; it would hold:\n{text}", way_out=_WAY_OUT
        ) from error
