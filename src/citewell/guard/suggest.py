"""What may have been meant by an id that doesn't exist: a shown one that differs little, or one of its document.

It names shown ids alone, and of those only what exists within the caller's scope: a suggestion tells nobody of
anything else. It changes no verdict.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence

from citewell.guard.ledger import Existing, Ledger
from citewell.guard.view import squash
from citewell.identity import find_identity, find_marks, format_key

_NOTHING = "there is no such evidence"
_ALIKE = 80.0  # of 100: one letter of five may differ
_MOST_COMPARED = 100  # unknown ids of an answer; each is compared with all that was shown
_LONGEST = 400


class Suggestions:
    """Says of unknown ids what may have been meant; the same for the same id.

    Args:
        ledger: what was shown.
        existing: what exists within the caller's scope.
    """

    def __init__(self, ledger: Ledger, existing: Existing) -> None:
        self._ledger, self._existing = ledger, existing
        self._details: dict[tuple[str, str], str] = {}
        self._folded: dict[str, str] | None = None
        self._siblings: dict[str, list[tuple[int, str]]] | None = None
        self._compared = 0

    def detail(self, raw: str, guess: str = "") -> str:
        """That there is no such evidence, and what may have been meant; `guess` = the key that was perhaps meant."""
        if (raw, guess) not in self._details:
            meant = self._meant(raw, guess)
            self._details[raw, guess] = f"{_NOTHING}; did you mean {meant}?" if meant else _NOTHING
        return self._details[raw, guess]

    def _meant(self, raw: str, guess: str) -> str | None:
        folded = self._all_folded()
        if not folded or len(raw) > _LONGEST:
            return None
        form = _fold(guess or raw)
        return folded.get(form) or self._sibling(form) or self._closest(form, folded)

    def _all_folded(self) -> Mapping[str, str]:
        """Shown keys that still exist, by how they look when case, width and the like are left aside."""
        if self._folded is None:
            self._existing.ask(self._ledger.chunks)
            self._folded = {}
            for key in self._ledger.chunks:
                if self._existing.get(key) is not None:
                    self._folded.setdefault(_fold(key), key)
        return self._folded

    def _sibling(self, form: str) -> str | None:
        """What was shown of the same document, the nearest chunk first."""
        identity = find_identity(form)
        if identity is None or identity.doc_id is None:
            return None
        siblings, index = self._by_document().get(identity.doc_id), identity.chunk_index or 0
        return min(siblings, key=lambda item: (abs(item[0] - index), item))[1] if siblings else None

    def _by_document(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        if self._siblings is None:
            self._siblings = defaultdict(list)
            for form, key in self._all_folded().items():
                identity = find_identity(form)
                if identity is not None and identity.doc_id is not None:
                    self._siblings[identity.doc_id].append((identity.chunk_index or 0, key))
        return self._siblings

    def _closest(self, form: str, folded: Mapping[str, str]) -> str | None:
        if self._compared >= _MOST_COMPARED:
            return None
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - only unknown ids need it

        self._compared += 1
        best = process.extractOne(form, list(folded), scorer=fuzz.ratio, score_cutoff=_ALIKE)
        return folded[best[0]] if best else None


def _fold(key: str) -> str:
    """A key without case, width, invisible characters and the variants of its mark."""
    text = unicodedata.normalize("NFKC", squash(key)).casefold()
    marks = list(find_marks(text))
    if not marks:
        return text
    start, end = marks[-1]
    digits = text[len(text[:end].rstrip("0123456789")) : end]
    name = text[:start].strip()
    return format_key(name, int(digits)) if name and digits.isdecimal() and len(digits) < 19 else text
