"""What other tools write: the mapping for each, and how its collections are told by their fields.

Written down from what the tools themselves store: langchain-milvus 0.3.3, llama-index-vector-stores-milvus 1.2.0,
milvus-haystack 0.1.0 and the Milvus store of Spring AI. A path that a collection lacks is left out of its mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from citewell.adapters.milvus.foreign.mapping import FieldMap
from citewell.adapters.milvus.foreign.schema import Schema
from citewell.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Preset:
    """A tool's layout.

    Attributes:
        fits: whether a schema is exactly what the tool makes.
        absent: texts that stand for "none" in an id.
    """

    name: str
    fields: FieldMap
    fits: Callable[[Schema], bool]
    absent: tuple[str, ...] = ()


def _both(*names: str) -> tuple[str, ...]:
    """The names as fields of the rows, and as entries of a field `metadata`."""
    return names + tuple(f"metadata.{name}" for name in names)


# `page` is not taken from LangChain: its PDF loaders count from 0; `page_label` is what stands on the page.
_LANGCHAIN = Preset(
    "langchain",
    FieldMap(
        {
            "text": ("text",),
            "vector": ("vector",),
            "docId": _both("docId", "doc_id", "source"),
            "chunkIndex": _both("chunkIndex", "chunk_index"),
            "source": _both("source"),
            "title": _both("title"),
            "category": _both("category"),
            "page": _both("page_label"),
            "start": _both("start_index"),
        }
    ),
    lambda schema: schema.primary == "pk" and _has(schema, text="text", vector="vector"),
)

# A node without a document has the text "None" as its doc_id.
_LLAMA_INDEX = Preset(
    "llama-index",
    FieldMap(
        {
            "text": ("text",),
            "vector": ("embedding",),
            "docId": ("doc_id", "ref_doc_id", "document_id"),
            "source": ("file_path", "file_name", "url"),
            "title": ("document_title", "title"),
            "category": ("category",),
            "page": ("page_label",),
            "url": ("url",),
            "start": ("_node_content.start_char_idx",),
            "end": ("_node_content.end_char_idx",),
        },
        hidden=("_node_content", "_node_type", "ref_doc_id", "document_id"),
    ),
    lambda schema: schema.primary == "id" and schema.is_dynamic and _has(schema, doc_id="text", embedding="vector"),
    absent=("None",),
)

_HAYSTACK = Preset(
    "haystack",
    FieldMap(
        {
            "text": ("text",),
            "vector": ("vector",),
            "docId": ("source_id",),
            "chunkIndex": ("split_id",),
            "source": ("file_path", "url"),
            "title": ("title",),
            "category": ("category",),
            "page": ("page_number",),
            "url": ("url",),
            "start": ("split_idx_start",),
        }
    ),
    lambda schema: schema.primary == "id" and schema.is_dynamic and _has(schema, text="text", vector="vector"),
)

# Spring AI calls its primary key doc_id, though it is the chunk's. Newer splitters number the chunks of each parent;
# a source may have several parents, so the parent comes first.
_SPRING_AI = Preset(
    "spring-ai",
    FieldMap(
        {
            "text": ("content",),
            "vector": ("embedding",),
            "metadata": ("metadata",),
            "docId": tuple(f"metadata.{name}" for name in ("docId", "parent_document_id", "source", "file_name")),
            "chunkIndex": ("metadata.chunkIndex", "metadata.chunk_index"),
            "source": ("metadata.source", "metadata.file_name"),
            "title": ("metadata.title",),
            "category": ("metadata.category",),
            "page": ("metadata.page_number",),
        }
    ),
    lambda schema: (
        schema.primary == "doc_id"
        and set(schema.fields) == {"doc_id", "content", "metadata", "embedding"}
        and _has(schema, content="text", metadata="json", embedding="vector")
    ),
)

PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in (_LANGCHAIN, _LLAMA_INDEX, _HAYSTACK, _SPRING_AI)}
"""By name, as `--preset` takes them."""


def _has(schema: Schema, **kinds: str) -> bool:
    return all(name in schema.fields and schema.fields[name].kind == kind for name, kind in kinds.items())


def preset_named(name: str) -> Preset:
    """The preset of this name.

    Raises:
        InvalidRequest: there is none; names those that there are.
    """
    found = PRESETS.get(name.strip().lower())
    if found is None:
        raise InvalidRequest(f"there is no preset {name!r}", way_out=f"There are: {', '.join(PRESETS)}.")
    return found


def detected(schema: Schema) -> Preset | None:
    """The preset whose layout the schema has exactly; None if it has none's, or several's."""
    fitting = [preset for preset in PRESETS.values() if preset.fits(schema)]
    return fitting[0] if len(fitting) == 1 else None
