"""Citewell: evidence for agents. Hybrid retrieval whose every chunk can be cited, explained and checked.

    from citewell import Knowledge

    with Knowledge.open("./kb") as kb:
        kb.ingest("docs/")
        result = kb.lookup("why is etcd slow", mode="hybrid")

Names load when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.config import Settings
    from citewell.errors import CitewellError
    from citewell.lookup import LookupResult
    from citewell.model import Budget, Document, EvidenceBlock, GuardReport, IngestReport

__version__ = "0.1.0"

_HOMES = {
    "Budget": "citewell.model",
    "CitewellError": "citewell.errors",
    "Document": "citewell.model",
    "EvidenceBlock": "citewell.model",
    "GuardReport": "citewell.model",
    "IngestReport": "citewell.model",
    "Knowledge": "citewell.app",
    "LookupResult": "citewell.lookup",
    "Settings": "citewell.config",
}

__all__ = [
    "Budget",
    "CitewellError",
    "Document",
    "EvidenceBlock",
    "GuardReport",
    "IngestReport",
    "Knowledge",
    "LookupResult",
    "Settings",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'citewell' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
