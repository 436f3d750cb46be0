"""Collections that someone else filled, attached read-only: their fields become chunks by a mapping (ENGINE-3).

schema, mapping, presets, attachment   what the collection holds, and which field is what; kept in attachment.toml
collection, rows, conditions           searches and queries on it; rows -> chunks; filters -> expressions
derived, postings                      what the engine can't answer: keys, documents, words; made from a scan
snapshot, store                        the port
inspect                                what `citewell attach` looks at before it records anything
"""

from citewell.adapters.milvus.foreign.attachment import check_free, write_attachment
from citewell.adapters.milvus.foreign.inspect import Look, inspect
from citewell.adapters.milvus.foreign.mapping import parse_assignments
from citewell.adapters.milvus.foreign.store import AttachedStore

__all__ = ["AttachedStore", "Look", "check_free", "inspect", "parse_assignments", "write_attachment"]
