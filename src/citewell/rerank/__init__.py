"""Reranking between fusion and post-processing (RERANK-1): the order that a Reranker gives, within a time limit.

    order      hits in the order of their scores, or as they were, with the cause
    in_time    a reranker that is late is a RerankerError

It knows no model and no vendor.
"""

from citewell.rerank.in_time import InTime
from citewell.rerank.order import Reranked, rerank

__all__ = ["InTime", "Reranked", "rerank"]
