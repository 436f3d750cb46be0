"""What a store fetched by key: chunks that are what was asked for, and nothing else that it may have answered.

No text is ever shown under the key of another (ID-1). It knows neither scope nor filters.
"""

from __future__ import annotations

from collections.abc import Mapping

from citewell.checks import shown
from citewell.errors import StoreError
from citewell.model import StoredChunk


def fetched(found: object) -> dict[str, StoredChunk]:
    """The chunks by key, without those that are none or another key's.

    Raises:
        StoreError: it is no mapping at all.
    """
    if not isinstance(found, Mapping):
        raise StoreError(
            f"chunks were answered as {shown(found)}", way_out="Check the store with citewell.testing.StoreContract."
        )
    return {key: chunk for key, chunk in found.items() if isinstance(chunk, StoredChunk) and chunk.evidence_key == key}
