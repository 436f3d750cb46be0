"""The write path: files and documents become chunks with vectors and terms in a store.

walk, sources      paths and Documents -> sources
read               bytes -> clean text with metadata; decode, encodings, frontmatter
split              text -> passages that fit a store and an embedder; pure
plan               passages against what is stored; pure
prepare            one source -> its plan
embed, write       batches -> vectors -> store
pipeline, run      the three side by side, and the order of it all
"""

from citewell.ingest.run import Ingestion, Progress

__all__ = ["Ingestion", "Progress"]
