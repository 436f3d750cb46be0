"""Numbers beside an id in brackets, which stand for further chunks that nobody copied: [docA#chunk-1, 9].

    [docA#chunk-1, 9]  (docA#chunk-1 and 9)  【docA#chunk-1、9】          9: put together instead of copied
    [docA#chunk-1 - 9]  [docA#chunk-1 to 9]  [docA#chunk-1...9]          the rest of a range, with the sign
    [docA#chunk-1, 40 ms]  docA#chunk-1, 9                               no citation: a number of the text

It decides no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citewell.guard.brackets import enclosing
from citewell.guard.page import Page
from citewell.guard.written import Written
from citewell.identity import find_identity, format_key

_LISTED = r"(?:[,;&，；、和与及]|\b(?:and|or)\b)"
_RANGED = r"(?:[-–—~…]|\.{2,3}|\b(?:to|through)\b|[到至])"
_NUMBER = re.compile(
    rf"[ \t]{{0,9}}(?:{_LISTED}[ \t]{{0,9}}#?(?P<one>[0-9]{{1,9}})"
    rf"|(?P<range>{_RANGED}[ \t]{{0,9}}(?P<last>[0-9]{{1,9}})))"
    rf"(?=[ \t]{{0,9}}(?:{_LISTED}|[])】］〕〗）]))"  # a number of the text has a word after it
)


def further(page: Page, cited: Sequence[Written]) -> Iterator[Written]:
    """The numbers that follow these citations, which don't overlap, within the same brackets."""
    text = page.view.text
    around = enclosing(page.brackets, [written.start for written in cited])
    for written in cited:
        pair = around.get(written.start)
        identity = find_identity(written.shown[0] if written.shown else written.raw)
        doc_id = identity.doc_id if identity is not None else None
        at = written.end
        while pair is not None and doc_id is not None and (match := _NUMBER.match(text, at, pair.end)):
            start, at = match.start("one" if match["one"] else "range"), match.end()
            guess = format_key(doc_id, int(match["one"] or match["last"]))
            yield Written(start, at, page.view.written(start, at), guess=guess)
