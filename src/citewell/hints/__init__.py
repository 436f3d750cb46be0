"""Hints (L0): the store's catalogue, searched by its words and by meaning, yields a few pointers, never evidence.

feed      a store -> what changed in its catalogue, in bounded portions
block     some documents as arrays: what an index takes in, and what a store keeps in the bytes of `form`
index     a copy of the catalogue, kept current: rankings of documents within filters, by `by_words` and `near`
words     why a document was hinted, in the question's own words
source    the whole: keep the copy current, search it, fuse, say a few hints
"""

from citewell.hints.source import CatalogueHints

__all__ = ["CatalogueHints"]
