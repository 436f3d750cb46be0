"""The write path: files and documents become chunks with vectors and terms in a store.

walk, sources      paths and Documents -> sources; ignore, ignorefiles, files help the walk and the reading
gone, moves        stored documents that the walk didn't come to, and texts that came up elsewhere
split              text -> passages that fit a store and an embedder; pure
plan               passages against what is stored; pure
prepare            one source -> its plan
embed, write       batches -> vectors -> store
pipeline, run      the three side by side, and the order of it all
watch              run after run, as things change
reindex            a store copied into another one
"""

from citewell.ingest.options import IngestOptions, OnProgress, Progress
from citewell.ingest.run import Ingestion

__all__ = ["IngestOptions", "Ingestion", "OnProgress", "Progress"]
