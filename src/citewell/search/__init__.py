"""KnowledgeSearchPort over a Store and an Embedder: the paths, run concurrently, fused, and fetched (PORT-1..5).

    plan         which paths run, each with its filters, and why the others don't
    embedding    the query's vector: begun, waited for, checked
    outcome      what became of a path: its ranking and report, or the error that it met
    on_snapshot  calls on one snapshot: in threads that are waited for so long, or by the caller of a store at hand
    honest       what a store answers is checked before it is believed
    session      one snapshot: embed, run, fuse, fetch; the order of a search is written there
    hits         fused keys and fetched chunks -> Hits

It says of each path what became of it. It does not know what a lookup keeps of the hits, how an engine finds them, or
what an agent will see.
"""

from citewell.search.session import StoreSearch

__all__ = ["StoreSearch"]
