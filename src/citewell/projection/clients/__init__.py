"""A projection in the shape that a client wants (PROJ-7): pure functions over the dict that `project` made.

    blocks       plain text blocks, one passage each, for tools that return a list of texts (MCP)
    anthropic    `search_result` content blocks
    openai       what connectors and deep research expect of `search` and `fetch`
    markdown     Markdown that no document can format

All are made of the same parts (`projection.parts`), and an id is the evidence key in each of them, printed by
`printable_id`. They know no protocol, no library of a vendor, and nothing of what is recorded as shown.
"""

from citewell.projection.clients.anthropic import cited_ids, to_search_results
from citewell.projection.clients.blocks import to_text_blocks
from citewell.projection.clients.markdown import to_markdown
from citewell.projection.clients.openai import to_openai_fetch, to_openai_search

__all__ = ["cited_ids", "to_markdown", "to_openai_fetch", "to_openai_search", "to_search_results", "to_text_blocks"]
