"""What a session was shown before, and a budget -> what is shown now: a text comes again only if more of it does.

It knows neither sessions nor how a repeat is said to be one (SESSION-1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from citewell.model import EvidenceBlock, LookupOutcome
from citewell.projection.fit import LeftOut, Room, Shown, fit


def fit_new(result: LookupOutcome, room: Room) -> tuple[list[Shown], LeftOut]:
    """As `fit`, each evidence key once: of a text of which no more would be shown than before, nothing is.

    What that frees goes to the others. A repeat of a beginning is not `whole`: there is more of it to be had.
    """
    blocks, repeats = _unique(result.evidence), result.already_shown
    shown, left_out = fit(blocks, room, repeats)
    while known := {each.block.evidence_key for each in shown if _adds_nothing(each, result.partly_shown)}:
        repeats |= known
        shown, left_out = fit(blocks, room, repeats)
    partial = repeats - result.already_shown
    return [replace(each, whole=each.whole and each.block.evidence_key not in partial) for each in shown], left_out


def _adds_nothing(shown: Shown, partly: Mapping[str, int]) -> bool:
    key = shown.block.evidence_key
    return key in partly and not (shown.whole or shown.repeat) and len(shown.content) <= partly[key]


def _unique(blocks: Iterable[EvidenceBlock]) -> list[EvidenceBlock]:
    first: dict[str, EvidenceBlock] = {}
    for block in blocks:
        first.setdefault(block.evidence_key, block)
    return list(first.values())
