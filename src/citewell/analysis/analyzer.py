"""Text -> tokens, for the index and for queries (LEX-1); knows how the parts fit together, not how each works.

Pure: the same tokens in every process and thread. What it remembers (the tokens of frequent runs) only saves work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from functools import cache, lru_cache
from itertools import chain

from citewell.analysis import cjk
from citewell.analysis.compounds import Kind, Piece, names, take_apart
from citewell.analysis.normalize import normalize
from citewell.analysis.stems import stemmer as load_stemmer
from citewell.analysis.stopwords import STOP_WORDS
from citewell.analysis.words import runs
from citewell.checks import check_text, check_texts

_RULES = "1"
"""Raise it with every change that may change a token; the golden test says when."""

ANALYZER_VERSION = f"{_RULES}-english"
"""The version of the default analysis. A store remembers it and refuses another (INGEST-8)."""

_STEMS = 1 << 13
_TEXT = "the text to analyse"


class Analyzer:
    """An analysis with its own stemmer and stop words. Safe to call from several threads.

    Attributes:
        version: differs whenever the tokens may differ.
    """

    def __init__(self, stemmer: str | None = "english", *, stop_words: Collection[str] = STOP_WORDS) -> None:
        """Prepare an analysis.

        Args:
            stemmer: a Snowball algorithm; None = words stay as they are.
            stop_words: case-folded words that queries lose; they don't touch the index, nor `version`.

        Raises:
            ConfigError: there is no such stemmer.
            InvalidRequest: the stop words are no texts.
        """
        self._stem = lru_cache(_STEMS)(load_stemmer(stemmer))
        self.version = f"{_RULES}-{stemmer or 'unstemmed'}"
        words = list(stop_words) if isinstance(stop_words, Set) else stop_words
        self._stop_words = frozenset(check_texts("stop_words", words))
        self._indexed = _Remembered(self._index)
        self._queried = _Remembered(self._ask)

    def analyze(self, text: str) -> list[str]:
        """The tokens of a passage, in order, repeated as often as they occur.

        Raises:
            InvalidRequest: it is no text; as everywhere below.
        """
        check_text(_TEXT, text)
        return _tokens(self._indexed, runs(normalize(text)))

    def analyze_query(self, text: str) -> list[str]:
        """The tokens of a query: without stop words unless nothing else is left, each once, in order of appearance."""
        check_text(_TEXT, text)
        # In capitals throughout, `IT` and `OR` are plain words; elsewhere they are names, and stay.
        found = runs(normalize(text.lower() if text.isupper() else text))
        return list(dict.fromkeys(_tokens(self._queried, found) or _tokens(self._indexed, found)))

    def _index(self, run: str) -> tuple[str, ...]:
        if cjk.is_unspaced(run):
            return tuple(cjk.cut(run))
        return tuple(token for piece in take_apart(run) for token in self._forms(piece))

    def _forms(self, piece: Piece) -> list[str]:
        stem = self._stem(piece.text) if piece.kind is Kind.WORD or piece.text.isalpha() else piece.text
        # `KubePodCrashLooping` is kept as written, and found by who writes it in lower case, as a plain word.
        return [stem] if piece.kind is Kind.WORD or stem == piece.text else [piece.text, stem]

    def _ask(self, run: str) -> tuple[str, ...]:
        if len(run) > 1 and run.isupper():
            return self._indexed[run]
        if cjk.is_unspaced(run):
            return tuple(token for token in cjk.cut(run) if token not in self._stop_words)
        return tuple(self._form(piece) for piece in take_apart(run) if self._is_asked(piece))

    def _is_asked(self, piece: Piece) -> bool:
        # A step is left to the whole and to its parts: `monitoring/prometheus-k8s-0` names an instance, and a passage
        # that happens to show that instance is rarely the answer.
        return piece.kind is not Kind.STEP and piece.text not in self._stop_words

    def _form(self, piece: Piece) -> str:
        return self._stem(piece.text) if piece.kind is Kind.WORD else piece.text


class _Remembered(dict[str, tuple[str, ...]]):
    """The tokens of runs, worked out when first asked for; bounded: it is emptied when full.

    Long runs of a script without spaces are clauses: they rarely come back, and would drive out words that do.
    """

    _most = 1 << 15
    _longest, _longest_unspaced = 64, 4

    def __init__(self, work_out: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, run: str) -> tuple[str, ...]:
        tokens = self._work_out(run)
        if len(run) <= (self._longest_unspaced if cjk.is_unspaced(run) else self._longest):
            if len(self) >= self._most:
                self.clear()
            self[run] = tokens
        return tokens


def _tokens(remembered: _Remembered, found: list[str]) -> list[str]:
    return list(chain.from_iterable(map(remembered.__getitem__, found)))


def analyze(text: str) -> list[str]:
    """The tokens of a passage by the default analysis (`Analyzer.analyze`)."""
    return _default().analyze(text)


def analyze_query(text: str) -> list[str]:
    """The tokens of a query by the default analysis (`Analyzer.analyze_query`)."""
    return _default().analyze_query(text)


def identifiers(text: str) -> list[str]:
    """The identifiers in a text, each once, in order of first appearance (SCORE-6).

    Those are the tokens with a digit, an underscore, an inner hyphen or camel case: `KB-4471`, `max_conn`, `2024`,
    `end-to-end`, `fetchTableRow`. They are written as `analyze` writes them, so that a passage holds an identifier if
    `analyze(passage)` does. Of a path, its steps count: `kube-system/etcd-0` -> `kube-system`, `etcd-0`.
    """
    check_text(_TEXT, text)
    found = [run for run in runs(normalize(text)) if not cjk.is_unspaced(run)]
    return list(dict.fromkeys(chain.from_iterable(map(names, found))))


@cache
def _default() -> Analyzer:
    return Analyzer()
