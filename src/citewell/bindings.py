"""Whether a store was filled by the embedder and the analyser in use (INGEST-8); names both where it was not.

It knows neither stores nor embedders, only what they say of themselves.
"""

from __future__ import annotations

from dataclasses import fields

from citewell.errors import EmbedderMismatch, StoreVersion
from citewell.model import EmbedderIdentity, StoreBinding


def check_embedder(bound: EmbedderIdentity, own: EmbedderIdentity) -> None:
    """Refuse a store that was filled by another embedder (INGEST-8).

    Raises:
        EmbedderMismatch: names both.
    """
    if bound != own:
        raise EmbedderMismatch(
            f"the store was filled by {_described(bound)}, and the embedder in use is {_described(own)};"
            f" they differ in {_difference(bound, own)}",
            way_out="Open it with the embedder that filled it, or copy it into a new store with `citewell reindex`.",
        )


def check_binding(bound: StoreBinding, own: StoreBinding) -> None:
    """Refuse a store whose contents were made with another embedder or analyser.

    Raises:
        EmbedderMismatch, StoreVersion: names both.
    """
    check_embedder(bound.embedder, own.embedder)
    if bound.analyzer != own.analyzer:
        raise StoreVersion(
            f"the store's terms were made by analyser {bound.analyzer}, and this version has {own.analyzer}",
            way_out="Copy it into a new store with `citewell reindex`, or open it with the version that filled it.",
        )


def _difference(bound: EmbedderIdentity, own: EmbedderIdentity) -> str:
    differing = [item.name for item in fields(EmbedderIdentity) if getattr(bound, item.name) != getattr(own, item.name)]
    return " and ".join(differing)


def _described(embedder: EmbedderIdentity) -> str:
    prefixes = f", prefixes {embedder.prefixes!r}" if any(embedder.prefixes) else ""
    return f"{embedder.name} ({embedder.dimensions} dimensions, fingerprint {embedder.fingerprint}{prefixes})"
