"""Rerankers behind the port `citewell.ports.Reranker`: endpoints over HTTP, and cross-encoders in this process.

Each loads its library when it is made or first asked; none knows another.
"""
