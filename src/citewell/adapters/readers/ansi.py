"""What a terminal was sent -> what it showed: colours gone, overwritten lines gone."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_ERASED = re.compile(r"[^\n]\x08")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def shown(text: str) -> str:
    """The text that is left on the screen; of a progress bar its last state."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\x08" in text:
        text = _ERASED.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", text)
