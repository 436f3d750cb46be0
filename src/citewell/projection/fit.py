"""Blocks and a budget -> which are shown and how much of each (PROJ-4, CONTEXT-1); knows no score and no format.

Hits get a preview as long as there is room, and what is left goes to the best first. Neighbours take what hits leave,
the nearest first. What was shown before takes no room at all (SESSION-1).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from citewell.checks import check_count, check_number, refusal
from citewell.model import Budget, EvidenceBlock
from citewell.projection.cuts import good_end, grapheme_ends
from citewell.projection.nearby import nearest_first
from citewell.projection.overlap import follows, without_overlap
from citewell.projection.tokens import bound_fitting, token_bound

_NO_LIMIT = 2**62
_PREVIEW_CHARS = 200
_COUNTED = "a function from a text to a number >= 0"

_Count = Callable[[str], float]
_Fitting = Callable[[str, Sequence[int], float], int]

LeftOut = dict[str, str]
"""The limit that left out each of the other keys: `budget_items`, `budget_chars` or `budget_tokens`."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A block as it is shown.

    Attributes:
        content: its text, or a beginning of it; nothing of a repeat.
        whole: whether the end of its text is shown, or was.
        repeat: whether it stands for a text that was shown before.
        continues: the key of the block above whose end is the beginning of this one's text, which is left out here.
    """

    block: EvidenceBlock
    content: str
    whole: bool
    repeat: bool = False
    continues: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """A budget, or what is left of it.

    Attributes:
        count: a text -> its tokens.
        fitting: (text, ends of beginnings of it, tokens) -> how many of these beginnings have no more tokens.
    """

    items: int
    chars_per_item: int
    chars: int
    tokens: float
    count: _Count
    fitting: _Fitting

    def lack(self, content: str) -> str | None:
        """The limit that forbids this content; None if there is room for it."""
        if len(content) > min(self.chars, self.chars_per_item):
            return "budget_chars"
        return "budget_tokens" if self.count(content) > self.tokens else None

    def without(self, content: str) -> Room:
        """What is left beside this content."""
        return replace(self, chars=self.chars - len(content), tokens=self.tokens - self.count(content))

    def regained(self, content: str) -> Room:
        """What is left when this content goes."""
        return replace(self, chars=self.chars + len(content), tokens=self.tokens + self.count(content))


def room_of(budget: object, count_tokens: object) -> Room:
    """A budget as room, with `token_bound` or whatever counts instead.

    Raises:
        InvalidRequest: the budget is none, a limit is no integer >= 0, or `count_tokens` can't be called.
    """
    if not isinstance(budget, Budget):
        raise refusal("budget", budget, "a Budget such as Budget(max_items=5), or None for the default one")
    if count_tokens is not None and not callable(count_tokens):
        raise refusal("count_tokens", count_tokens, "a function from a text to its tokens, or None")
    items, per_item, chars, tokens = (
        _limit("max_items", budget.max_items),
        _limit("max_chars_per_item", budget.max_chars_per_item),
        _limit("max_chars", budget.max_chars),
        _limit("max_tokens", budget.max_tokens),
    )
    if items == 0:
        # The one id that is always shown then comes without content.
        items, chars = 1, 0
    return Room(items, per_item, chars, tokens, *_counting(count_tokens if tokens != _NO_LIMIT else _uncounted))


def _limit(name: str, limit: object) -> int:
    return _NO_LIMIT if limit is None else check_count(name, limit, least=0)


def _counting(count_tokens: Callable[[str], object] | None) -> tuple[_Count, _Fitting]:
    if count_tokens is None:
        return cache(token_bound), bound_fitting

    @cache
    def count(text: str) -> float:
        return check_number("what count_tokens gives", count_tokens(text), least=0, wanted=_COUNTED) if text else 0

    def fitting(text: str, ends: Sequence[int], tokens: float) -> int:
        # Where bisection stops, it has measured the last one that fits, however unevenly a counter grows.
        return bisect_right(ends, tokens, key=lambda end: count(text[:end]))

    return count, fitting


def _uncounted(_: str) -> int:
    return 0


def fit(
    blocks: Sequence[EvidenceBlock], room: Room, repeats: Collection[str] = frozenset()
) -> tuple[list[Shown], LeftOut]:
    """The blocks that are shown, and the limit that left out each of the others; in order.

    Those of `repeats` are shown without content. They cost no characters and no tokens, and of the items only places
    that no hit with content takes.
    """
    texts = {block.evidence_key: "" if block.evidence_key in repeats else block.text for block in blocks}
    hits = [block for block in blocks if block.role == "hit"] or list(blocks)
    content, left_out, room = _fit_hits(hits, room, repeats)
    complete = all(content.get(hit.evidence_key) == texts[hit.evidence_key] for hit in hits)
    beside = [] if len(hits) == len(blocks) else nearest_first(blocks)
    for block, nearer in sorted(beside, key=lambda each: each[0].evidence_key in repeats):
        key, text = block.evidence_key, texts[block.evidence_key]
        lack = left_out.get(nearer) or ("budget_items" if len(content) >= room.items else room.lack(text))
        if complete and lack is None:
            content[key] = text
            room = room.without(text)
        else:
            left_out[key] = lack or "budget_chars"
    shown = [_shown(block, content[block.evidence_key], repeats) for block in blocks if block.evidence_key in content]
    return _joined(shown), {b.evidence_key: left_out[b.evidence_key] for b in blocks if b.evidence_key in left_out}


def _fit_hits(
    hits: Sequence[EvidenceBlock], room: Room, repeats: Collection[str]
) -> tuple[dict[str, str], LeftOut, Room]:
    """The same for hits alone, and the room left; the best ones get what the previews of all leave."""
    new, known = ([hit for hit in hits if (hit.evidence_key in repeats) is repeat] for repeat in (False, True))
    seated = new[: room.items]
    previews, room, lack = _previews(seated, room)
    content: dict[str, str] = {}
    for hit, preview in zip(seated, previews, strict=False):
        room = room.regained(preview)
        content[hit.evidence_key] = _cut(hit.text, room)
        room = room.without(content[hit.evidence_key])
    left_out = {hit.evidence_key: lack for hit in seated[len(previews) :]}
    places = room.items - len(content)
    content |= {hit.evidence_key: "" for hit in known[:places]}
    beyond = [*new[room.items :], *known[places:]]
    return content, left_out | {hit.evidence_key: "budget_items" for hit in beyond}, room


def _shown(block: EvidenceBlock, content: str, repeats: Collection[str]) -> Shown:
    repeat = block.evidence_key in repeats
    return Shown(block, content, whole=repeat or content == block.text, repeat=repeat)


def _joined(shown: Sequence[Shown]) -> list[Shown]:
    """The same, each text without the beginning that is the end of the text right above it (CONTEXT-2)."""
    joined = list(shown[:1])
    for above, here in pairwise(shown):
        rest = here.content
        if follows(above.block, here.block) and above.whole and here.whole and not (above.repeat or here.repeat):
            rest = without_overlap(above.block, here.block)
        cut = rest != here.content
        joined.append(replace(here, content=rest, continues=above.block.evidence_key) if cut else here)
    return joined


def _previews(hits: Sequence[EvidenceBlock], room: Room) -> tuple[list[str], Room, str]:
    """A preview of each hit as long as there is room, of the first one anyway; the room left; what is lacking in it."""
    previews: list[str] = []
    for hit in hits:
        preview = _cut(hit.text, replace(room, chars=_PREVIEW_CHARS, tokens=_NO_LIMIT))
        lack = room.lack(preview)
        if lack and previews:
            return previews, room, lack
        previews.append(preview)
        room = room.without(preview)
    return previews, room, "budget_chars"


def _cut(text: str, room: Room) -> str:
    """The longest beginning of the text that there is room for and that ends well."""
    if room.lack(text) is None:
        return text
    ends = grapheme_ends(text, min(room.chars, room.chars_per_item))
    if ends and room.count(text[: ends[-1]]) > room.tokens:
        ends = ends[: room.fitting(text, ends, room.tokens)]
    good = good_end(text, ends)
    return text[:good] if room.count(text[:good]) <= room.tokens else text[: ends[-1]]
