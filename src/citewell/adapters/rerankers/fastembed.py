"""A cross-encoder that fastembed runs in this process (ONNX, no torch), as a Reranker. Needs the extra `fastembed`.

The only importer of that library's rerankers; it knows no endpoint and no other library.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citewell.adapters.rerankers.texts import clean
from citewell.errors import ConfigError, RerankerError

_BATCH = 16


class FastembedReranker:
    """A model by the name that fastembed knows it by. Safe to call from several threads, which take turns.

    It loads at the first question; a folder with its files spares the download.
    """

    def __init__(self, model: str, *, model_dir: Path | None = None, threads: int | None = 1) -> None:
        """Nothing is loaded yet.

        Args:
            model: such as `Xenova/ms-marco-MiniLM-L-6-v2`. With a folder any name will do.
            model_dir: a folder with `model.onnx` (there, or in `onnx/`), `tokenizer.json` and the configurations
                beside it; None = fastembed's own cache, filled from the network at first use.
            threads: of onnxruntime; None = all cores.

        Raises:
            ConfigError: the folder is none, or holds no model.
        """
        self.name = model
        self._file = _model_file(model_dir) if model_dir is not None else ""
        self._dir, self._threads = model_dir, threads
        self._model: Any = None
        self._turn = threading.Lock()

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in the order of the texts; raises RerankerError if the model can't be had or fails."""
        with self._turn:
            model = self._loaded()
            try:
                return [
                    float(score) for score in model.rerank(clean(query), list(map(clean, texts)), batch_size=_BATCH)
                ]
            except Exception as error:
                raise RerankerError(
                    f"{self.name} failed: {type(error).__name__}: {error}", way_out="See the log for the traceback."
                ) from error

    def _loaded(self) -> Any:  # noqa: ANN401 - the library has no stable type for it
        if self._model is None:
            encoder = _library()
            try:
                self._model = self._open(encoder)
            except Exception as error:
                raise RerankerError(
                    f"the reranker {self.name} can't be loaded: {type(error).__name__}: {error}",
                    way_out="Check reranker.name, or set reranker.model-dir to a folder that holds it.",
                ) from error
        return self._model

    def _open(self, encoder: Any) -> Any:  # noqa: ANN401 - see above
        if self._dir is None:
            return encoder(self.name, threads=self._threads)
        return encoder(_registered(encoder, self._file), specific_model_path=str(self._dir), threads=self._threads)


def _library() -> Any:  # noqa: ANN401 - see above
    # fastembed brings onnxruntime, which reports to its maker from the moment that it is imported, unless told not to.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    try:
        from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415 - an extra, and not before that
    except ImportError as error:
        raise RerankerError(
            "reranker.style is 'fastembed', and fastembed is not installed",
            way_out="Install citewell[fastembed].",
        ) from error
    return TextCrossEncoder


def _registered(encoder: Any, file: str) -> str:  # noqa: ANN401 - see above
    """A name of ours for a model of this layout; fastembed opens a folder only under a name that it knows."""
    from fastembed.common.model_description import ModelSource  # noqa: PLC0415 - an extra

    name = f"citewell/{file}"
    if not any(known["model"].lower() == name.lower() for known in encoder.list_supported_models()):
        encoder.add_custom_model(model=name, sources=ModelSource(hf=name), model_file=file)
    return name


def _model_file(folder: Path) -> str:
    for name in ("model.onnx", "onnx/model.onnx"):
        if (folder / name).is_file():
            return name
    raise ConfigError(
        f"reranker.model-dir is {str(folder)!r}, which holds no model.onnx", way_out="Name the folder of the model."
    )
