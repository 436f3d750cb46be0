"""The synthetic chunks of bench/engine_corpus.py as a case: invented words of three syllables, clustered vectors.

A word of three syllables is one word to every analyser, where `t123` is cut by some and thrown away by others.
"""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import numpy as np

from engine_corpus import QUERIES, VOCABULARY, Corpus
from peers_case import Case, Passage, save

DIMENSIONS = 384
TERMS_ASKED = 6
_SYLLABLES = tuple("".join(pair) for pair in product("bdfgklmnprtvz", "aou"))


def word(number: int) -> str:
    """The word of a term's number; different for different numbers below 59,319."""
    size = len(_SYLLABLES)
    return "".join(_SYLLABLES[number // size**place % size] for place in range(3)) + ("k" if number >= size**3 else "")


def make_synthetic(chunks: int, folder: Path) -> None:
    """Write the case unless it is there: 120 words and 384 dimensions a chunk, 40 questions of six words."""
    if (folder / "case.json").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    corpus = Corpus(chunks, DIMENSIONS)
    words = [word(number) for number in range(VOCABULARY)]
    asked = [" ".join(words[int(term[1:])] for term in terms) for terms in corpus.term_queries[TERMS_ASKED]]
    passages = tuple(
        Passage(corpus.key(row), text, text)
        for row in range(chunks)
        for text in (" ".join(words[term] for term in corpus.terms[row]),)
    )
    queries = tuple(Passage(f"q{at}", text, text) for at, text in enumerate(asked[:QUERIES]))
    vectors = np.asarray(corpus.vectors)
    save(folder, Case(f"synthetic-{chunks}", False, passages, vectors, queries, corpus.queries, together=True))
