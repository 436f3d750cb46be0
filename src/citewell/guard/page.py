"""An answer laid out: how it is read, what was shown, its brackets and its Markdown; and where on it a citation stands.

What was shown and what looks like a key is neutral in the Markdown, so that no id opens a block. It decides nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.guard.borders import after_labels
from citewell.guard.brackets import Pair, covers, enclosing, pairs
from citewell.guard.ledger import Ledger
from citewell.guard.occurrences import Other, Span, occurrences
from citewell.guard.structure import Definition, Structure, blanked, structure_of
from citewell.guard.view import View, view_of
from citewell.model import CitationPlace

_NEUTRAL = "\x1a"


@dataclass(frozen=True, slots=True)
class Page:
    """An answer laid out.

    Attributes:
        view: how it is read; all places are places of `view.text`.
        ledger: what was shown.
        shown: where shown keys stand.
        others: where other things in the form of keys stand.
        brackets: all pairs outside shown keys.
        structure: what Markdown makes of it.
    """

    view: View
    ledger: Ledger
    shown: Sequence[Span]
    others: Sequence[Other]
    brackets: Sequence[Pair]
    structure: Structure


def page_of(answer: str, ledger: Ledger) -> Page:
    """Lay an answer out; in linear time."""
    view = view_of(answer, ledger.whole)
    shown, others = occurrences(view.text, ledger)
    brackets = pairs(blanked(view.text, shown))
    neutral = sorted([*shown, *((other.mark, other.end) for other in others)])
    structure = structure_of(blanked(view.structure, neutral, _NEUTRAL), brackets)
    return Page(view, ledger, shown, others, brackets, structure)


class Places:
    """Where on a page a citation stands."""

    def __init__(self, page: Page) -> None:
        self._text, self._structure, self._brackets = page.view.text, page.structure, page.brackets
        self._targets = sorted(link.target for link in page.structure.links)
        self._definitions = sorted(page.structure.definitions.values(), key=lambda found: found.start)
        self._starts = [definition.start for definition in self._definitions]
        self._code_in_brackets = enclosing(page.brackets, [start for start, _ in page.structure.inline])

    def of(self, start: int, end: int) -> CitationPlace:
        """Where what stands from `start` to `end` is."""
        code = covers(self._structure.code, start, end)
        if code is not None and not self._is_only_dressed(code, start, end):
            return "code"
        if covers(self._targets, start, end):
            return "link"
        return self._defined(start, end)

    def target(self, start: int, end: int) -> Span | None:
        """The target of a link that covers it."""
        return covers(self._targets, start, end)

    def definition(self, start: int, end: int) -> Definition | None:
        """The definition in whose body it stands."""
        at = bisect_right(self._starts, start) - 1
        found = self._definitions[at] if at >= 0 else None
        return found if found is not None and found.body <= start and end <= found.end else None

    def _defined(self, start: int, end: int) -> CitationPlace:
        found = self.definition(start, end)
        if found is None or (found.numbered and after_labels(self._text, found.body, found.end) != start):
            return "text"
        return "footnote" if found.is_footnote else "link"

    def _is_only_dressed(self, code: Span, start: int, end: int) -> bool:
        """Whether inline code holds this id alone and stands in square brackets: [`docA#chunk-2`]."""
        pair = self._code_in_brackets.get(code[0]) if code in self._structure.inline else None
        bare = self._text[code[0] : start] + self._text[end : code[1]]
        return pair is not None and pair.square and not bare.strip("` ")
