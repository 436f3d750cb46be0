"""Where the blocks of a page are collected: inline pieces become paragraphs, frames hold list items, quotes and cells.

Knows Markdown blocks, no tags.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from citewell.adapters.readers import blocks
from citewell.adapters.readers.blocks import Block

_MOST_FRAMES = 24


@dataclass(slots=True)
class Frame:
    """Blocks that belong together: the page, an item of a list, a quote, a cell of a table."""

    blocks: list[Block] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    flushed: int = 0
    in_cell: bool = False


Mark = tuple[Frame, int, int]


class Canvas:
    """The page's frame, and those that are open in it."""

    def __init__(self) -> None:
        self.page = Frame()
        self._frames = [self.page]

    @property
    def top(self) -> Frame:
        """The innermost open frame."""
        return self._frames[-1]

    @property
    def is_page(self) -> bool:
        """Whether no frame is open in the page."""
        return len(self._frames) == 1

    def write(self, piece: str) -> None:
        """Add inline text."""
        self._frames[-1].pieces.append(piece)

    def add(self, block: Block) -> None:
        """Add a block after what was written so far."""
        self.flush()
        self._frames[-1].blocks.append(block)

    def flush(self) -> None:
        """What was written inline becomes a paragraph."""
        frame = self._frames[-1]
        frame.flushed += 1
        if frame.pieces:
            text = blocks.inline("".join(frame.pieces).replace("\xad", ""))
            frame.pieces.clear()
            if text:
                frame.blocks.append(blocks.paragraph(text))

    def mark(self) -> Mark:
        """A place in the inline text."""
        frame = self._frames[-1]
        return frame, frame.flushed, len(frame.pieces)

    def take(self, mark: Mark) -> str | None:
        """What was written inline since a mark, taken away; None if a block came between."""
        frame, flushed, length = mark
        if frame is not self._frames[-1] or frame.flushed != flushed:
            return None
        text = "".join(frame.pieces[length:])
        del frame.pieces[length:]
        return text

    def open(self, finish: Callable[[list[Block]], Block | None], *, in_cell: bool = False) -> Callable[[], None]:
        """Open a frame; the function returned closes it and adds what `finish` makes of its blocks.

        Beyond a depth that no reader would follow, blocks stay in the frame that is open.
        """
        self.flush()
        if len(self._frames) >= _MOST_FRAMES:
            return self.flush
        frame = Frame(in_cell=in_cell)
        self._frames.append(frame)

        def close() -> None:
            while self._frames[-1] is not frame:
                self._merge()
            self.flush()
            self._frames.pop()
            block = finish(frame.blocks)
            if block is not None:
                self._frames[-1].blocks.append(block)

        return close

    def finish(self) -> list[Block]:
        """The page's blocks, once everything is written."""
        while not self.is_page:
            self._merge()
        self.flush()
        return self.page.blocks

    def _merge(self) -> None:
        self.flush()
        self._frames[-2].blocks += self._frames.pop().blocks
