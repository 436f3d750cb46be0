"""Hints from a store's catalogue: keep a copy of it current, search it twice, fuse, and say the few best (L0-1).

The copy is made at the first question, in a thread of its own, and follows the store's writes; a question waits for it
a moment only, then goes on without hints and says so. Hints are pointers: nothing here reads a chunk.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from concurrent.futures import wait as wait_for
from contextvars import copy_context
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from citewell.analysis import ANALYZER_VERSION, analyze, analyze_query
from citewell.attempts import attempt
from citewell.errors import EmbedderError, StoreError
from citewell.fusion import fuse
from citewell.hints.block import SPOTS
from citewell.hints.copies import Copies
from citewell.hints.feed import Feed
from citewell.hints.index import CatalogueIndex
from citewell.hints.words import asked_words, why
from citewell.model import Hint, SearchRequest
from citewell.model.catalogue import Hinted, Mark
from citewell.ports import Embedder, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENTS, CATEGORIES = 3, 2
"""The most hints of each kind."""

MOST_DOCUMENTS = 100_000
"""A larger catalogue yields no hints: a copy of it would take more memory than they are worth."""

_SOON_READ = 500
"""Documents up to which reading the catalogue at a question takes no time worth mentioning."""

_ASKING = 8
"""Questions to a store that is not at hand, at the same time; further ones take turns."""

_WORDS = 4_096
"""Words of questions whose terms are remembered: most questions are made of the same ones."""

_VOTERS = 5
_DEPTH = 20
_BEING_READ = "no hints yet: the catalogue is being read"
_TOO_MANY = f"no hints: the catalogue has more than {MOST_DOCUMENTS:,} documents"


class CatalogueHints:
    """A `citewell.ports.HintSource` over one store; safe to call from several threads.

    Args:
        store: whose catalogue it is.
        embedder: the one that filled the store; asked for the question's vector.
        patience_s: how long after its beginning a question waits for the copy to be brought up to date.
        analyze: text of the catalogue -> terms.
        analyze_query: a question -> terms.
        analysis: the version of both; a kept copy of another version is made anew.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        patience_s: float = 1.0,
        analyze: Callable[[str], Sequence[str]] = analyze,
        analyze_query: Callable[[str], Sequence[str]] = analyze_query,
        analysis: str = ANALYZER_VERSION,
    ) -> None:
        self._feed, self._embedder, self._patience_s = Feed(store), embedder, patience_s
        self._analyze, self._analyze_query = analyze, analyze_query
        self._words = lru_cache(_WORDS)(lambda word: frozenset(analyze_query(word)))
        self._index = CatalogueIndex(analyze)
        self._copies = Copies(self._feed, analyze, analysis)
        self._mark: Mark | None = None
        self._was_read = False
        self._too_many = False
        self._turn = threading.Lock()
        self._starting = threading.Lock()
        self._reader: ThreadPoolExecutor | None = None
        self._asking: ThreadPoolExecutor | None = None
        self._reading: Future[None] | None = None
        self._since = 0.0
        self._closed = threading.Event()

    def begin(self, request: SearchRequest) -> Callable[[], Hinted]:
        """Begin to look for hints while the caller does something else; what is returned waits for them.

        A store at hand says at once whether the copy is current, and what is left to do is not worth a thread; one that
        must be asked over a network is asked in another thread.
        """
        if not self._feed.is_at_hand:
            context = copy_context()
            return self._asker().submit(context.run, self.hints, request).result
        if self._feed.mark() == self._mark:
            return partial(self._current, request)
        self._started()
        return partial(self.hints, request)

    def hints(self, request: SearchRequest) -> Hinted:
        """See HintSource.hints."""
        return self._current(request) if self._is_current(request.query) else Hinted(note=_BEING_READ)

    def _current(self, request: SearchRequest) -> Hinted:
        """Hints from a copy that was current a moment ago."""
        if not self._turn.acquire(timeout=self._patience_s):
            return Hinted(note=_BEING_READ)
        try:
            if self._too_many:
                return Hinted(note=_TOO_MANY)
            return self._found(request) if len(self._index) else Hinted()
        finally:
            self._turn.release()

    def keep(self) -> None:
        """Have the store keep the copy as of now, where it keeps any, so that the next process need not make it.

        Meant for the end of an ingestion. What fails here costs the next process time, and nothing else.
        """
        attempt(self._keep, StoreError, "the copy of the catalogue could not be kept")

    def _keep(self) -> None:
        if not self._copies.is_due():
            return
        self._catch_up()
        with self._turn:
            if self._mark is not None and not self._too_many:
                self._index = self._copies.keep(self._index, self._mark)

    def close(self) -> None:
        """Stop reading and release the thread. Idempotent."""
        self._closed.set()
        with self._starting:
            threads = [pool for pool in (self._reader, self._asking) if pool is not None]
            self._reader = self._asking = None
        for pool in threads:
            pool.shutdown(wait=True, cancel_futures=True)

    def _asker(self) -> ThreadPoolExecutor:
        """Threads for questions to a store that is not at hand."""
        with self._starting:
            self._check_open()
            if self._asking is None:
                self._asking = ThreadPoolExecutor(_ASKING, thread_name_prefix="citewell-hints-asking")
            return self._asking

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise StoreError("the store was closed during the lookup", way_out="Open it again.")

    def _is_current(self, query: str) -> bool:
        """Bring the copy up to date; False if that takes longer than a question waits."""
        mark = self._feed.mark()
        if mark == self._mark:
            return True
        reading = self._started()
        if mark.sequence:
            self._vector(query)  # wanted in a moment; a model that must load does so meanwhile
        # Whoever comes while a long reading goes on doesn't wait for it once more.
        wait_for([reading], max(0.0, self._since + self._patience_s - time.monotonic()))
        try:
            reading.result(0)
        except TooLate:
            return False
        return True

    def _started(self) -> Future[None]:
        """The reading that is under way, or a new one."""
        with self._starting:
            self._check_open()
            if self._reading is None or self._reading.done():
                if self._reader is None:
                    self._reader = ThreadPoolExecutor(1, thread_name_prefix="citewell-hints")
                self._reading, self._since = self._reader.submit(self._catch_up), time.monotonic()
                self._reader.submit(self._keep_what_was_read)
            return self._reading

    def _catch_up(self) -> None:
        """Take in what was written since; a copy that breaks on the way is read anew next time."""
        with self._turn:
            mark, self._mark = self._mark, None
            if mark is None or self._too_many or mark.origin is not self._feed.mark().origin:
                mark, self._index = self._copies.kept()
            elif self._index.is_worn:
                mark, self._index = self._copies.none()
            self._was_read = mark is None
            reached, count = self._follow(mark)
            if reached is not None and not self._too_many and len(self._index) != count:
                # What was kept has lost documents: no writing explains that.
                mark, self._index = self._copies.none()
                reached, count = self._follow(mark)
            self._mark = reached

    def _follow(self, mark: Mark | None) -> tuple[Mark | None, int]:
        """Take in what was written after the mark, let go of what is gone; the mark reached, and documents there."""
        self._too_many = False
        for told in self._feed.since(mark):
            if self._closed.is_set():
                return None, told.count
            if told.count > MOST_DOCUMENTS:
                self._index, self._too_many = CatalogueIndex(self._analyze), True
                return self._feed.mark(), told.count
            self._index.put(told.documents)
        if told.count != len(self._index):
            self._index.keep_only(self._feed.doc_ids())
        return told.mark, told.count

    def _keep_what_was_read(self) -> None:
        """A long reading is worth sparing the next process: the store may be one that nobody has filled of late."""
        if self._was_read and len(self._index) > _SOON_READ and not self._closed.is_set():
            self.keep()

    def _found(self, request: SearchRequest) -> Hinted:
        filters = request.filters()
        terms = self._analyze_query(request.query)
        rankings = {"lexical": self._index.by_words(terms, _DEPTH, filters)}
        vector = self._vector(request.query)
        if vector is not None:
            rankings["dense"] = self._index.by_meaning(vector, _DEPTH, filters)
        best = [entry.key for entry in fuse(_in_question(rankings, _VOTERS))[:_VOTERS]]
        categories = [self._index.category(doc_id) for doc_id in best]
        return Hinted(
            (*self._documents(best[:DOCUMENTS], request.query, terms), *_categories(categories)),
            category=categories[0] if len(set(categories)) == 1 else None,
        )

    def _documents(self, best: Sequence[str], query: str, terms: Sequence[str]) -> list[Hint]:
        held = self._index.held(best, terms)
        # Only for terms that some of them hold there is something to say.
        said = dict.fromkeys(chain.from_iterable(chain.from_iterable(each.values()) for each in held))
        words = asked_words(query, list(said), self._words)
        return [
            Hint("document", doc_id, self._index.title(doc_id), why(mine, SPOTS, words))
            for doc_id, mine in zip(best, held, strict=True)
        ]

    def _vector(self, query: str) -> NDArray[np.float32] | None:
        """The question's vector; None where it can't be had, which the search itself reports."""
        vector, _ = attempt(lambda: _checked(self._embedder.embed_query(query)), EmbedderError, "hints have no vector")
        return vector


def _in_question(rankings: Mapping[str, Sequence[str]], most: int) -> dict[str, list[str]]:
    """Rankings of which the best few fuse to the same: what can't be among those says the first key once more.

    One that stands in this ranking alone and behind so many others can't, for each of them has a better place. What is
    said again keeps its place taken and has no further vote.
    """
    shared = set.intersection(*map(set, rankings.values()))
    return {
        path: [key if at < most or key in shared else ranking[0] for at, key in enumerate(ranking)]
        for path, ranking in rankings.items()
    }


def _checked(vector: object) -> NDArray[np.float32]:
    array = np.asarray(vector, dtype=np.float32)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise EmbedderError("the embedder gave no vector of finite numbers for the query")
    return array


def _categories(best: Sequence[str | None]) -> list[Hint]:
    """The categories of the likeliest documents: each document votes 1 / its place, ties by the better place."""
    votes: dict[str, float] = {}
    counts = Counter(best)
    for place, category in enumerate(best, start=1):
        if category is not None:
            votes[category] = votes.get(category, 0.0) + 1 / place
    chosen = sorted(votes, key=lambda category: -votes[category])[:CATEGORIES]
    return [
        Hint("category", category, why=f"{counts[category]} of the {len(best)} likeliest documents")
        for category in chosen
    ]
