"""The engine `milvus`: the same store on Milvus Lite, a server or a cluster (ENGINE-2); the only door to pymilvus."""
