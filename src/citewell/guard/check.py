"""The guard's face: an answer, what was shown and what exists -> a GuardReport (GUARD-1..5); pure, in linear time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from citewell.checks import check_texts
from citewell.guard.brackets import enclosing
from citewell.guard.clean import without
from citewell.guard.extract import extract
from citewell.guard.ledger import Existing, KnownArgument, Ledger, ShownArgument, ledger_of
from citewell.guard.listed import listed
from citewell.guard.page import Page, Places, page_of
from citewell.guard.quotes import Group, anchor, checked, groups, quotation, quotes_of
from citewell.guard.verdict import Judge
from citewell.guard.written import Written
from citewell.model import Citation, GuardReport

DISCLAIMER = (
    "Checked is that the cited evidence was shown, and that quotes given with a citation stand in it. "
    "Not checked is that what the answer claims follows from the evidence, nor what it claims without a citation."
)
_ROUNDS = 8

_Judged = list[tuple[Written, Citation]]


def check(
    answer: str | Iterable[str], shown: ShownArgument, *, known: KnownArgument = None, strict: bool = False
) -> GuardReport:
    """Say of each citation of an answer whether it was shown.

    Args:
        answer: a text in Markdown or none; or a list of ids, each of which is one citation.
        shown: evidence keys with the digest of each chunk's text when it was shown ('' = unknown); or a list of
            keys or of blocks; or a lookup's result, of which that counts which `to_agent` shows within the result's
            budget; or what `to_agent` returned.
        known: which chunks exist now within the caller's scope: a mapping from evidence keys to `KnownChunk`, a
            function that is given keys and returns such a mapping of those that exist, or a list of keys. None = what
            was shown is all that exists, unchanged.
        strict: whether one citation that isn't `shown`, or one quote that its chunk doesn't hold, fails the answer.

    Returns:
        A report; its citations are in reading order, each occurrence. The same arguments give the same report.

    Raises:
        InvalidRequest: an argument is of another kind, or `shown` holds what is no evidence key.
    """
    ledger = ledger_of(shown)
    existing = Existing(known, ledger)
    if not isinstance(answer, str):
        return _list_report(
            check_texts("an answer", answer, wanted="a text, or a list of ids"), ledger, existing, strict
        )
    page = page_of(answer, ledger)
    judged = _judged(page, ledger, existing)
    counted = [citation for written, citation in judged if written.place != "code"]
    in_code = [citation for written, citation in judged if written.place == "code"]
    ok = _passes(counted, strict)
    cleaned = "" if strict and not ok else _cleaned(page, judged, ledger, existing)
    return GuardReport(ok, tuple(counted), tuple(in_code), cleaned, DISCLAIMER, strict)


def _passes(citations: Sequence[Citation], strict: bool) -> bool:
    misquoted = strict and any(citation.quote and citation.quote.verdict == "not_found" for citation in citations)
    return not misquoted and all(citation.verdict == "shown" for citation in citations)


def _list_report(ids: Sequence[str], ledger: Ledger, existing: Existing, strict: bool) -> GuardReport:
    judged = Judge(ledger, existing).judge([listed(item, ledger) for item in ids])
    citations = tuple(replace(citation, place="list") for _, citation in judged)
    ok = _passes(citations, strict)
    good = "\n".join(citation.raw for citation in citations if citation.verdict == "shown")
    return GuardReport(ok, citations, (), "" if strict and not ok else good, DISCLAIMER, strict)


def _judged(page: Page, ledger: Ledger, existing: Existing) -> _Judged:
    """Every citation of a page with its verdict, its place and its quote, in reading order."""
    judged = Judge(ledger, existing).judge(extract(page))
    quotes = _quotes(page, judged)
    return [
        (written, _completed(page, written, citation, quotes.get(number), ledger, existing))
        for number, (written, citation) in enumerate(judged)
    ]


def _completed(
    page: Page, written: Written, citation: Citation, quote: tuple[int, int] | None, ledger: Ledger, existing: Existing
) -> Citation:
    """The citation with where it stands and with its quote, which is checked against what was shown."""
    placed = replace(citation, place=written.place, span=page.view.span(written.start, written.end))
    if quote is None or citation.evidence_key is None or citation.verdict == "not_shown":
        return placed
    chunk = existing.get(citation.evidence_key) or ledger.chunks[citation.evidence_key]
    found = checked(page.view.written(*quote), chunk.text)
    said = {
        "near": f"the quote is near what it says (ratio {found.ratio})",
        "not_found": "it doesn't say what is quoted",
    }
    detail = "; ".join(part for part in (citation.detail, said.get(found.verdict, "")) if part)
    return replace(placed, quote=found, detail=detail)


def _quotes(page: Page, judged: _Judged) -> dict[int, tuple[int, int]]:
    """Where the quotes stand, by the number of the citation; a footnote's stand where it is referred to."""
    places = Places(page)
    text = page.view.text
    around = enclosing(page.brackets, [written.start for written, _ in judged])
    links = {link.target: link for link in page.structure.links}
    ids = {(written.start, written.end) for written, _ in judged}
    anchors: list[Group] = []
    for number, (written, _) in enumerate(judged):
        link = links.get(places.target(written.start, written.end) or (-1, -1))
        definition = places.definition(written.start, written.end)
        if link is not None:
            words = quotation(text, *link.text.inner)
            anchors.append(Group(link.start, link.end, (number,), words=None if words in ids else words))
        elif written.place != "code":
            anchors.append(anchor(text, written.start, written.end, around.get(written.start), (number,)))
        if definition is not None:
            uses = page.structure.uses.get(definition.label, ())
            anchors += [Group((before or use).start, use.end, (number,)) for before, use in uses]
    return quotes_of(text, groups(text, sorted(anchors, key=lambda group: (group.start, group.end))))


def _cleaned(page: Page, judged: _Judged, ledger: Ledger, existing: Existing) -> str:
    """The answer without citations that aren't shown. What is left may read as another id: then that is removed too."""
    for _ in range(_ROUNDS):
        counted = [(written, citation.verdict == "shown") for written, citation in judged if written.place != "code"]
        bad = [written for written, good in counted if not good]
        if not bad:
            return page.view.raw
        page = page_of(without(page, bad, [written for written, good in counted if good]), ledger)
        judged = Judge(ledger, existing).judge(extract(page))
    return ""
