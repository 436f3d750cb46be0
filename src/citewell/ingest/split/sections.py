"""Outline -> ranges of text that belong together: sections, small ones joined with their neighbours under one heading.

A range may still be too long for a chunk; cutting it is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from citewell.ingest.split.outline import Outline

Range = tuple[int, int]

_CRUMB = 80


@dataclass(slots=True)
class _Section:
    level: int
    start: int
    end: int = 0
    children: list[_Section] = field(default_factory=list)

    @property
    def own_end(self) -> int:
        return self.children[0].start if self.children else self.end


def section_ranges(outline: Outline, *, target: int, small: int) -> list[Range]:
    """Neighbouring ranges that cover the outline, in order.

    A section that fits the target with all its subsections is one range. Otherwise its own text and each subsection
    are taken apart, and whole neighbours under the same heading are joined again where one of the two is `small` and
    both together fit the target. A heading without text of its own goes with what follows it, as do a few words before
    the first subsection.
    """
    if not outline.blocks:
        return []
    return _ranges(_tree(outline), outline, target, small)


def _tree(outline: Outline) -> _Section:
    root = _Section(0, outline.blocks[0].start, outline.blocks[-1].end)
    path = [root]
    for heading in outline.headings:
        while path[-1].level >= heading.level:
            path.pop().end = heading.start
        section = _Section(heading.level, heading.start, root.end)
        path[-1].children.append(section)
        path.append(section)
    for section in path:
        section.end = root.end
    return root


def _ranges(section: _Section, outline: Outline, target: int, small: int) -> list[Range]:
    whole = (section.start, section.end)
    if not section.children or section.end - section.start <= target:
        return [whole]
    own = (section.start, section.own_end)
    parts = [[own]] if own[0] < own[1] else []
    parts += [_ranges(child, outline, target, small) for child in section.children]
    return _joined(parts, outline, target, small)


def _joined(parts: Sequence[list[Range]], outline: Outline, target: int, small: int) -> list[Range]:
    ranges: list[Range] = []
    previous_is_whole = False
    for part in parts:
        if ranges and _leads(outline, ranges[-1], is_first=len(ranges) == 1):
            ranges[-1:] = [(ranges[-1][0], part[0][1]), *part[1:]]
        elif len(part) == 1 and previous_is_whole and _go_together(ranges[-1], part[0], target, small):
            ranges[-1] = (ranges[-1][0], part[0][1])
        else:
            ranges += part
        previous_is_whole = len(part) == 1
    return ranges


def _go_together(left: Range, right: Range, target: int, small: int) -> bool:
    smaller = min(left[1] - left[0], right[1] - right[0])
    return smaller <= small and right[1] - left[0] <= target


def _leads(outline: Outline, part: Range, *, is_first: bool) -> bool:
    """Whether a range is a heading alone, or what stands before the first subsection and is hardly anything."""
    block = outline.block_at(part[0])
    bare = block.level > 0 and block.end >= part[1]
    return bare or (is_first and len(outline.text[part[0] : part[1]].strip()) <= _CRUMB)
