"""Checks an answer's citations: was it shown, does it exist, has it changed, does it say that (GUARD-1..5).

    check         answer, what was shown, what exists -> GuardReport; the only name for others
    view          a text as it is read: without escapes, references and what can't be seen
    occurrences   where shown keys stand in it, and other things in the form of keys      (tries, borders)
    page          the answer laid out: its brackets and its Markdown                      (brackets, structure)
    extract       page -> citations as they are written                    (readings, further, documents, written)
    listed        an id from a list -> the same
    ledger        what was shown and what exists
    verdict       citation -> verdict                                                     (suggest)
    quotes        words quoted beside a citation
    clean         the answer without some of its citations

It does no I/O: what exists it asks a function that the caller gives. It doesn't know whether a claim follows from its
evidence, and says so.
"""

from citewell.guard.check import DISCLAIMER, check

__all__ = ["DISCLAIMER", "check"]
