"""A cross-encoder of sentence-transformers (torch) in this process, as a Reranker. Needs that library as an extra.

Its only importer here; it knows no endpoint and no other library.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citewell.adapters.rerankers.texts import clean
from citewell.errors import ConfigError, RerankerError

_BATCH = 16


class SentenceTransformersReranker:
    """A CrossEncoder by its name or from a folder. Safe to call from several threads, which take turns.

    It loads at the first question.
    """

    def __init__(
        self, model: str, *, model_dir: Path | None = None, device: str | None = None, max_length: int | None = None
    ) -> None:
        """Nothing is loaded yet.

        Args:
            model: such as `cross-encoder/ms-marco-MiniLM-L6-v2`.
            model_dir: a folder that holds it, which is then all that is read; None = the library's own cache, filled
                from the network at first use.
            device: such as `cpu` or `cuda`; None = the library chooses.
            max_length: tokens of question and text together; None = the model's own.

        Raises:
            ConfigError: the folder is none.
        """
        if model_dir is not None and not model_dir.is_dir():
            raise ConfigError(
                f"reranker.model-dir is {str(model_dir)!r}, which is no folder", way_out="Name the folder of the model."
            )
        self.name = model
        self._dir, self._device, self._max_length = model_dir, device, max_length
        self._model: Any = None
        self._turn = threading.Lock()

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in the order of the texts; raises RerankerError if the model can't be had or fails."""
        with self._turn:
            model = self._loaded()
            try:
                pairs = [(clean(query), clean(text)) for text in texts]
                scores = model.predict(pairs, batch_size=_BATCH, show_progress_bar=False) if pairs else []
            except Exception as error:
                raise RerankerError(
                    f"{self.name} failed: {type(error).__name__}: {error}", way_out="See the log for the traceback."
                ) from error
        return _numbers(scores, self.name)

    def _loaded(self) -> Any:  # noqa: ANN401 - the library's type comes with an extra
        if self._model is None:
            encoder = _library()
            where = self.name if self._dir is None else str(self._dir)
            try:
                self._model = encoder(
                    where,
                    device=self._device,
                    max_length=self._max_length,
                    local_files_only=self._dir is not None,
                )
            except Exception as error:
                raise RerankerError(
                    f"the reranker {self.name} can't be loaded: {type(error).__name__}: {error}",
                    way_out="Check reranker.name, or set reranker.model-dir to a folder that holds it.",
                ) from error
        return self._model


def _library() -> Any:  # noqa: ANN401 - see above
    try:
        from sentence_transformers import CrossEncoder  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise RerankerError(
            "reranker.style is 'sentence-transformers', and sentence-transformers is not installed",
            way_out="Install citewell[sentence-transformers].",
        ) from error
    return CrossEncoder


def _numbers(scores: Any, name: str) -> list[float]:  # noqa: ANN401 - an array of numpy, or a list
    try:
        return [float(score) for score in scores]
    except (TypeError, ValueError) as error:
        raise RerankerError(
            f"{name} gives several numbers for a text, and a reranker gives one",
            way_out="Use a cross-encoder with one label.",
        ) from error
