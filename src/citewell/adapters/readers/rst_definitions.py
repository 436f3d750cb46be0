"""What a reStructuredText file defines for use elsewhere in it: substitutions and the addresses of named targets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.adapters.readers.lines import Line

_SUBSTITUTION = re.compile(r"\s*\.\. \|([^|]+)\| (replace|image|unicode)::\s*(.*)$")
_TARGET = re.compile(r"\s*\.\. _(?:`([^`]+)`|([^:`]+)):\s*(\S.*)?$")
_ALT = re.compile(r"\s+:alt:\s*(.+)$")
_LONGEST = 500


def definitions(lines: Sequence[Line]) -> tuple[dict[str, str], dict[str, str]]:
    """(text by the name of a substitution, address by the name of a target in small letters)."""
    substitutions: dict[str, str] = {}
    targets: dict[str, str] = {}
    for index, line in enumerate(lines):
        if ".. " not in line.text:
            continue
        if match := _SUBSTITUTION.match(line.text):
            substitutions[match.group(1)] = _replacement(match.group(2), match.group(3), lines[index + 1 : index + 6])
        elif (match := _TARGET.match(line.text)) and match.group(3):
            name = match.group(1) or match.group(2)
            targets[" ".join(name.lower().split())] = match.group(3).strip()
    return substitutions, targets


def _replacement(kind: str, written: str, following: Sequence[Line]) -> str:
    if kind == "replace":
        rest = [line.text.strip() for line in following[:3]]
        more = rest[: next((i for i, line in enumerate(following[:3]) if line.is_blank or not line.indent), len(rest))]
        return " ".join([written, *more])[:_LONGEST]
    if kind == "image":
        return next((match.group(1) for line in following if (match := _ALT.match(line.text))), "")
    return ""
