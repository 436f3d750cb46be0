"""Whether everything that is installed here may be used: each distribution's licence against a list, with the reasons.

    python scripts/licences.py [--list]

What a distribution says of itself counts: its licence expression, else its licence field, else its classifiers. An
alternative (OR) is as good as its best, a sum (AND) as bad as its worst. Exit code 1: a licence is not on the list, or
can't be told. It reads metadata alone, no network and no source.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata

ALLOWED: Mapping[str, str] = {
    **dict.fromkeys(
        ("0BSD", "CC0-1.0", "MIT-0", "Unlicense"),
        "asks for nothing",
    ),
    **dict.fromkeys(
        (
            "MIT",
            "MIT-CMU",
            "BSD-2-Clause",
            "BSD-3-Clause",
            "ISC",
            "Zlib",
            "CNRI-Python",
            "PSF-2.0",
            "Apache-2.0",
            "HPND",
        ),
        "asks for its notice to be kept",
    ),
    **dict.fromkeys(
        ("MPL-2.0", "MPL-1.1"),
        "asks for changes to its own files to be given away, and nothing of whoever only uses them",
    ),
}
"""By SPDX id. GPL and AGPL would reach Citewell itself, LGPL what it is shipped with; none of them is here."""

SPELLINGS: Mapping[str, str] = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mit, bsd": "MIT AND BSD-3-Clause",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the bsd 2-clause license": "BSD-2-Clause",
    "the unlicense (unlicense)": "Unlicense",
}
"""Of licence fields and classifiers, in lower case."""

READ: Mapping[str, tuple[str, str]] = {
    "pypdfium2": ("BSD-3-Clause AND Apache-2.0", "its field adds 'dependency licenses': PDFium's, all permissive"),
    "torch": ("BSD-3-Clause", "its field holds the whole text"),
}
"""By name, where the metadata can't be read: what its licence file says, and why it had to be read."""

_NO_LICENCE = ("DFSG approved", "OSI Approved")


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression is: one alternative of an OR, every part of an AND."""
    text = expression.strip()
    while text.startswith("(") and _closes(text) == len(text) - 1:
        text = text[1:-1].strip()
    for word, judge in (("OR", any), ("AND", all)):
        parts = _split(text, word)
        if len(parts) > 1:
            return judge(is_allowed(part) for part in parts)
    return text.partition(" WITH ")[0] in ALLOWED


def _closes(text: str) -> int:
    """Where the bracket that the text begins with closes."""
    depth = 0
    for at, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if not depth:
            return at
    return -1


def _split(text: str, word: str) -> list[str]:
    """At this word, outside brackets."""
    parts, depth = [""], 0
    for token in re.findall(r"[()]|[^\s()]+|\s+", text):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == word and not depth:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def licence_of(name: str, expression: str | None, field: str, classifiers: Iterable[str]) -> str:
    """What a distribution says of its licence, as an SPDX expression where it can be told; else its own words."""
    if name.lower() in READ:
        return READ[name.lower()][0]
    if expression:
        return expression
    named = field.strip().splitlines()[0].strip() if field.strip() else ""
    known = SPELLINGS.get(named.lower(), named)
    short = [entry.rpartition(" :: ")[2] for entry in classifiers if entry.startswith("License ::")]
    if known and is_allowed(known) and not any("GNU" in entry for entry in short):
        return known
    said = [SPELLINGS.get(entry.lower(), entry) for entry in short if entry not in _NO_LICENCE]
    return " AND ".join(dict.fromkeys(said)) or named or "(none)"


def installed() -> dict[str, str]:
    """The licence of each distribution, by name."""
    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        said = distribution.metadata
        name = said.get("Name") or "(no name)"
        found[name] = licence_of(
            name, said.get("License-Expression"), said.get("License") or "", said.get_all("Classifier") or []
        )
    return dict(sorted(found.items(), key=lambda entry: entry[0].lower()))


def main() -> int:
    """Check what is installed beside this interpreter."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print every distribution with its licence")
    arguments = parser.parse_args()
    found = installed()
    bad = {name: licence for name, licence in found.items() if not is_allowed(licence)}
    for name, licence in (found if arguments.list else bad).items():
        print(f"{name:36} {licence}{'' if name not in bad else '   NOT ALLOWED'}")
    print(f"{len(found) - len(bad)} of {len(found)} distributions have a licence that is on the list")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
