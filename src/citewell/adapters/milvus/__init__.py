"""The engine `milvus`: the same store on Milvus Lite, a server or a cluster (ENGINE-2); the only door to pymilvus."""

from citewell.adapters.milvus.store import MilvusStore

__all__ = ["MilvusStore"]
