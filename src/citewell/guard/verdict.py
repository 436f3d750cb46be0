"""A citation as it is written -> its verdict: `shown`, `not_shown`, `unknown`, `ambiguous` or `stale` (GUARD-1).

It decides from what was shown and what exists, never from how an answer looks. What exists outside the caller's scope
reads, to the letter, as what doesn't exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.guard.ledger import Existing, Ledger
from citewell.guard.suggest import Suggestions
from citewell.guard.written import Written
from citewell.identity import find_identity
from citewell.model import Citation

_NAMED = 10
_NOT_SHOWN_DOCUMENT = "it is a document, and nothing of it was shown here"


class Judge:
    """Gives verdicts on the citations of one answer.

    Args:
        ledger: what was shown.
        existing: what exists within the caller's scope.
    """

    def __init__(self, ledger: Ledger, existing: Existing) -> None:
        self._ledger, self._existing = ledger, existing
        self._suggestions = Suggestions(ledger, existing)

    def judge(self, citations: Sequence[Written]) -> list[tuple[Written, Citation]]:
        """The verdicts, in the same order; beside each the citation as it was read at last.

        What is a citation only if a document exists is left out where none does.
        """
        self._existing.ask(key for written in citations for key in _keys(written))
        return [self._verdict(written) for written in citations if self._is_one(written)]

    def _verdict(self, written: Written) -> tuple[Written, Citation]:
        longest = next((read for read in written.readings if self._existing.get(read.key) is not None), None)
        if longest is None:
            is_document = written.document or self._exists(written.first)
            return written, self._document(written) if is_document else self._named(written)
        read = replace(written, start=longest.start, raw=longest.raw)
        return read, self._chunk(read, longest.key)

    def _is_one(self, written: Written) -> bool:
        """Whether it is a citation: in a text, a word that no document is called by is none."""
        return written.place == "list" or not written.first or self._exists(written.first)

    def _exists(self, keys: Sequence[str]) -> bool:
        return any(self._existing.get(key) is not None for key in keys)

    def _named(self, written: Written) -> Citation:
        """What is no other key than, perhaps, shown ones."""
        keys = [key for key in written.shown if self._existing.get(key) is not None]
        if len(keys) == 1:
            return self._chunk(written, keys[0])
        if keys:
            return Citation(written.raw, None, "ambiguous", f"it is read alike: {_listed(keys)}")
        return self._unknown(written)

    def _chunk(self, written: Written, key: str) -> Citation:
        then, now = self._ledger.chunks.get(key), self._existing.get(key)
        if then is None:
            return Citation(written.raw, key, "not_shown", "it exists, but was not shown here")
        if now is not None and then.digest and now.digest and then.digest != now.digest:
            return Citation(written.raw, key, "stale", "its text has changed since it was shown: look it up again")
        return Citation(written.raw, key, "shown")

    def _document(self, written: Written) -> Citation:
        if not written.document:
            return Citation(written.raw, None, "ambiguous", _NOT_SHOWN_DOCUMENT)
        keys = [key for key in written.document if self._existing.get(key) is not None]
        if not keys:
            return self._unknown(written)
        return Citation(
            written.raw, None, "ambiguous", f"it is a document, and was shown in chunks: {_listed(_in_order(keys))}"
        )

    def _unknown(self, written: Written) -> Citation:
        return Citation(written.raw, None, "unknown", self._suggestions.detail(written.raw, written.guess))


def _keys(written: Written) -> list[str]:
    """All keys that its verdict depends on."""
    return [*written.shown, *(read.key for read in written.readings), *written.document, *written.first]


def _in_order(keys: Sequence[str]) -> list[str]:
    """By chunk index: 2 before 10."""

    def place(key: str) -> tuple[int, str]:
        identity = find_identity(key)
        return (identity.chunk_index or 0, key) if identity else (0, key)

    return sorted(keys, key=place)


def _listed(keys: Sequence[str]) -> str:
    rest = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return ", ".join(keys[:_NAMED]) + rest
