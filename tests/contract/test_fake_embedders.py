"""The fakes keep the embedder contract, so that what is tested with them holds for embedders."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.ports import Embedder
from citewell.testing import EmbedderContract
from citewell.testing.embedder import LONG_TEXTS, ODD_TEXTS, TEXTS
from citewell.testing.fakes import HashEmbedder, TableEmbedder


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()


class TestTableEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        # The first entry that a text contains decides; the empty text is in all of them, so it comes last.
        known = sorted((*TEXTS, *ODD_TEXTS, *LONG_TEXTS), key=len, reverse=True)
        rows = np.random.default_rng(1).standard_normal((len(known), 8))
        return TableEmbedder(dict(zip(known, rows.tolist(), strict=True)))
