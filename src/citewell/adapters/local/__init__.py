"""The embedded engine `local`: one directory, nothing to start (ENGINE-1)."""

from citewell.adapters.local.store import LocalStore

__all__ = ["LocalStore"]
