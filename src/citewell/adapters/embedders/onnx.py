"""The default model in this process: the multilingual Universal Sentence Encoder, int8, run by onnxruntime.

The graph takes text and has its tokenizer inside. Its vectors depend on what else is in a batch (activations are
quantised over the whole of it), so it is run on one text at a time. Knows no store, no query and no chunk.

One session serves every thread. It has no threads of its own, so that a run works on the caller's thread alone:
passages are spread over a few worker threads, and a query never waits for them to finish. Measured (2 cores, texts of
1,000 characters): two threads on one session give 2.0 times the passages per second of one, the same as two sessions,
with equal bytes; a second session costs 210 MB more, a second thread about 20.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.adapters.embedders.models import USE_MULTILINGUAL, cache_dir, model_path, require
from citewell.adapters.embedders.outside import graph_of
from citewell.adapters.embedders.texts import clean
from citewell.adapters.embedders.vectors import unit_rows
from citewell.errors import ConfigError, EmbedderError, EmbedderUnavailable
from citewell.patterns import late

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_WORKERS = 4
_DIMENSIONS = 512
_MAX_TOKENS = 2_048
_FRAME = 3  # the tokenizer's marks of beginning and end, and the space that it puts in front
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HUMPS = re.compile(r"[A-Z](?<=[A-Za-z0-9].)[a-z]", re.DOTALL)  # as many, found in a sixth of the time
_ODD = late(lambda: re.compile(r"[^\x00-\x7f\u4e00-\u9fff]"))  # ASCII and Chinese characters stay one when normalised
_PREPARATION = "camel-1"  # changes when the same text would be given to the graph otherwise
_OUTSIDE = "session.model_external_initializers_file_folder_path"  # where the graph's tables lie
_PROVIDERS = ["CPUExecutionProvider"]
_FATAL = 4  # onnxruntime's log severity; whatever fails is raised as well


class UseMultilingual:
    """`use-multilingual`: 512 dimensions, 16 languages, no prefixes. Safe to call from several threads.

    The model loads at the first text (a third of a second), so that opening a store stays cheap.
    """

    name = USE_MULTILINGUAL.name
    dimensions = _DIMENSIONS
    fingerprint = f"{USE_MULTILINGUAL.sha256}+{_PREPARATION}"

    max_tokens = _MAX_TOKENS
    """The graph has no limit of its own. This one bounds time and memory (2,048 Chinese characters take about 60 ms
    and 60 MB on a thread, and both grow with length); one vector says little of a text that long anyway."""

    def __init__(self, path: Path | None = None, *, workers: int | None = None) -> None:
        """Nothing is read yet.

        Args:
            path: the model's file; None = where `citewell model pull` puts it.
            workers: threads that passages are spread over; None = one per usable CPU, at most 4. Changes no vector.

        Raises:
            ConfigError: workers is below 1.
        """
        if workers is not None and workers < 1:
            raise ConfigError(f"an embedder can't have {workers} workers", way_out="Use 1 or more.")
        self._path = path if path is not None else model_path(cache_dir())
        self._workers = workers if workers is not None else min(_usable_cpus(), _MOST_WORKERS)
        self._lock = threading.Lock()
        self._session: Any = None

    def __repr__(self) -> str:
        return f"UseMultilingual({str(self._path)!r}, workers={self._workers})"

    def warm(self) -> None:
        """Load the model now rather than at the first text.

        Raises:
            EmbedderUnavailable: it is not installed or can't be loaded.
        """
        self._loaded()

    def count_tokens(self, text: str) -> int:
        """How many tokens the text has at most: one for each character after normalisation, and three around them.

        SentencePiece, as this model has it, never cuts a normalised character in two; English prose has about a
        quarter as many tokens, Chinese half. Never too low, and 0.2 ms for 1,000 Chinese characters.
        """
        count = len(text) + len(_HUMPS.findall(text)) + _FRAME
        if text.isascii():
            return count
        odd = _ODD.findall(text)
        return count - len(odd) + sum(map(_width, odd))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Float32 [len(texts), 512], rows of unit length, in the order of the texts; [0, 512] for none.

        A passage of more than `max_tokens` tokens by `count_tokens` is embedded by its beginning.

        Raises:
            EmbedderUnavailable: the model is not installed or can't be loaded.
            EmbedderError: it failed on one of the texts.
        """
        if not texts:
            return np.empty((0, _DIMENSIONS), np.float32)
        self.warm()
        if self._workers == 1 or len(texts) == 1:
            return np.stack([self.embed_query(text) for text in texts])
        # A pool per call starts in well under a millisecond, and leaves nothing behind that a fork could break.
        with ThreadPoolExecutor(min(self._workers, len(texts)), "citewell-embed") as pool:
            return np.stack(list(pool.map(self.embed_query, texts)))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Float32 [512] of unit length, the same as for a passage; raises as `embed_passages`."""
        vector: NDArray[np.float32] = unit_rows(self._run(self._fit(_prepare(text))), self.name)[0]
        return vector

    def close(self) -> None:
        """Let go of the model's memory. Idempotent; the next text loads it again."""
        with self._lock:
            self._session = None

    def _fit(self, text: str) -> str:
        """The longest beginning, or nearly, whose bound on tokens fits; the whole text if it does."""
        text = text[:_MAX_TOKENS]
        while (count := self.count_tokens(text)) > _MAX_TOKENS:
            text = text[: len(text) * _MAX_TOKENS // count]
        return text

    def _run(self, text: str) -> NDArray[np.float32]:
        session = self._loaded()
        try:
            (rows,) = session.run(["outputs"], {"inputs": [text]})
        except Exception as error:  # the one translating edge: onnxruntime's errors share no base of their own
            raise EmbedderError(
                f"{self.name} failed on a text of {len(text)} characters: {error}",
                way_out="Leave that text out, or use another embedder.",
            ) from error
        if getattr(rows, "shape", None) != (1, _DIMENSIONS):
            raise EmbedderError(f"{self.name} gave {getattr(rows, 'shape', rows)!r} instead of one vector of 512")
        return np.asarray(rows, np.float32)

    def _loaded(self) -> Any:  # noqa: ANN401 - onnxruntime ships no types
        with self._lock:
            if self._session is None:
                begun = _begun.pop(self._path, None)
                self._session = _open_session(self._path) if begun is None else begun.result()
            return self._session


_begun: dict[Path, Future[Any]] = {}
"""Models that `begin` is loading, or has loaded, until an embedder takes them."""


def begin(path: Path) -> None:
    """Load this model in a thread, so that it is there, or nearly, when the first embedder of this file needs it.

    For a process that has one question and much to import: the runtime loads a model without the interpreter's lock.
    What fails is raised where the model is needed. What was begun, and not taken yet, is not begun again.
    """
    if path in _begun:
        return
    pool = ThreadPoolExecutor(1, "citewell-model")
    _begun[path] = pool.submit(_open_session, path)
    pool.shutdown(wait=False)


@lru_cache(1 << 12)
def _width(character: str) -> int:
    """How many characters it is when normalised."""
    return len(unicodedata.normalize("NFKC", character))


def _prepare(text: str) -> str:
    """The text as the graph gets it: clean, and with `KubePodCrashLooping` as `Kube Pod Crash Looping`.

    The model has never seen such compounds, but knows their parts. nDCG@10 of the dense path on runbooks, whole / cut:
    descriptions .812 / .825, alert names .951 / .973.
    """
    return _HUMP.sub(" ", clean(text))


def _usable_cpus() -> int:
    """CPUs that this process may run on, where the system tells; else all of them."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _open_session(path: Path) -> Any:  # noqa: ANN401 - onnxruntime ships no types
    require(path)
    # Since 1.29, onnxruntime reports to its maker from the moment that it is imported, unless its environment says no.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # noqa: PLC0415 - not before the line above
        from onnxruntime_extensions import get_library_path  # noqa: PLC0415 - loads onnxruntime

        onnxruntime.disable_telemetry_events()  # where somebody else imported it first, and on Windows
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = _FATAL
        options.register_custom_ops_library(get_library_path())
        # Links are followed, for the runtime refuses what lies outside of the model's folder.
        return _session(onnxruntime, path.resolve(), options)
    except Exception as error:  # the one translating edge: onnxruntime's errors share no base of their own
        raise EmbedderUnavailable(
            f"the model {path} can't be loaded: {type(error).__name__}: {error}",
            way_out="`citewell model pull` reads it whole and mends it; else onnxruntime and its extensions don't fit.",
        ) from error


def _session(runtime: Any, path: Path, options: Any) -> Any:  # noqa: ANN401 - onnxruntime ships no types
    """A session whose tables are mapped; of the whole file where that can't be.

    A runtime before 1.21 maps nothing for a model that isn't a file, and about a broken file it says most itself.
    """
    options.add_session_config_entry(_OUTSIDE, str(path.parent))
    try:
        return runtime.InferenceSession(graph_of(path), options, providers=_PROVIDERS)
    except Exception:  # noqa: BLE001 - onnxruntime's errors share no base of their own; a fault of the file comes again
        return runtime.InferenceSession(str(path), options, providers=_PROVIDERS)
