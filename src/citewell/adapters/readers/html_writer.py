"""Events of an HTML parser -> Markdown blocks and what the page says of itself; one pass, whatever the nesting.

The parser balances its events. Each open element leaves behind what is to be done at its end, so nothing recurses.
"""

from __future__ import annotations

from collections.abc import Callable

from citewell.adapters.readers import blocks, html_rules
from citewell.adapters.readers.blocks import BREAK, Block
from citewell.adapters.readers.html_canvas import Canvas
from citewell.adapters.readers.html_page import Page
from citewell.adapters.readers.html_rules import Attributes
from citewell.adapters.readers.html_tables import Table
from citewell.adapters.readers.tables import Allowance
from citewell.errors import IngestError

End = Callable[[], None]

_DEEPEST = 1_000
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_ANCHORS = frozenset({"¶", "#", "§", "🔗", "Permalink", "\uf0c1", ""})
_BACK = frozenset({"↑", "↩", "↩︎", "⤴"})
_NO_CARET = frozenset({"st", "nd", "rd", "th", "TM", "®", "SM", "er", "e", "o", "a", "ª", "º"})
_WEB = ("http://", "https://", "mailto:")
_LONGEST_ADDRESS = 500
_MOST_CELLS = 1_000_000


class Writer:
    """A target of lxml's HTML parser; `close` returns itself."""

    def __init__(self) -> None:
        self.page = Page()
        self.canvas = Canvas()
        self._ends: list[End | None] = []
        self._skipped = self._cells = 0
        self._in_text = 0
        self._lists: list[list[int | None]] = []
        self._tables: list[Table] = []
        self._allowance = Allowance()
        self._caught: list[str] | None = None
        self._language = ""
        self._languages: list[str] = []
        self._in_heading = self._in_code = self._has_link = False
        self._starts: dict[str, Callable[[str, Attributes], End | None]] = {
            "title": self._title,
            "main": self._region,
            "article": self._region,
            "pre": self._pre,
            "ul": self._list,
            "ol": self._list,
            "li": self._item,
            "blockquote": self._quote,
            "table": self._table,
            "thead": self._head,
            "tr": self._row,
            "td": self._cell,
            "th": self._cell,
            "a": self._link,
            "sup": self._raised,
            "br": self._break,
            "hr": self._rule,
            "img": self._image,
            "annotation": self._annotation,
            **dict.fromkeys(("code", "kbd", "samp", "tt"), self._code),
            **dict.fromkeys(_HEADINGS, self._heading),
            **dict.fromkeys(("div", "figure", "span"), self._hint),
        }

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""
        if len(self._ends) + self._skipped >= _DEEPEST:
            raise IngestError(f"its elements nest deeper than {_DEEPEST}", way_out="Save it anew, or as text.")
        if self._skipped or html_rules.is_dropped(tag, attributes, in_text=self._in_text > 0):
            self._skipped += 1
            return
        if tag in _OF_THE_PAGE:
            self.page.note(tag, attributes)
        is_block = tag in html_rules.BLOCKS and self._caught is None
        if is_block and self._in_heading and tag not in _HEADINGS:  # a heading stays one line, whatever it is made of
            is_block = False
            self.canvas.write(" ")
        if is_block:
            self.canvas.flush()
        begin = self._starts.get(tag)
        end = begin(tag, attributes) if begin else None
        self._ends.append(end or (self.canvas.flush if is_block else None))

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._skipped:
            self._skipped -= 1
        elif self._ends and (end := self._ends.pop()):
            end()

    def data(self, text: str) -> None:
        """Text, in pieces of any size."""
        if self._skipped:
            return
        if "\r" in text:  # written as a reference, before or instead of a line feed
            text = text.replace("\r", "" if self._caught is not None else " ")
        if self._caught is not None:
            self._caught.append(text)
        else:
            self.canvas.write(text)

    def comment(self, text: str) -> None:
        """Left out."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Left out."""

    def close(self) -> Writer:
        """The document has ended."""
        return self

    def _catch(self, use: Callable[[str], None]) -> End | None:
        """Text goes to `use` instead of the page, up to the element's end."""
        if self._caught is not None:
            return None
        caught: list[str] = []
        self._caught = caught

        def end() -> None:
            self._caught = None
            use("".join(caught))

        return end

    def _title(self, tag: str, attributes: Attributes) -> End | None:
        def use(text: str) -> None:
            self.page.title = self.page.title or " ".join(text.split())

        return self._catch(use)

    def _annotation(self, tag: str, attributes: Attributes) -> End | None:
        """Of a formula: the TeX in it is written once already, as symbols."""
        return self._catch(lambda text: None)

    def _region(self, tag: str, attributes: Attributes) -> End:
        """`main` and `article`: where the page's own text is, if they stand on the page's ground."""
        frame, begin = self.canvas.top, len(self.canvas.top.blocks)
        self._in_text += 1

        def end() -> None:
            self._in_text -= 1
            self.canvas.flush()
            if frame is self.canvas.page:
                self.page.regions.append((tag, begin, len(frame.blocks)))

        return end

    def _heading(self, tag: str, attributes: Attributes) -> End | None:
        if self._caught is not None:
            return None
        self._in_heading = True
        mark = self.canvas.mark()

        def end() -> None:
            self._in_heading = False
            text = blocks.inline((self.canvas.take(mark) or "").replace(BREAK, " "))
            if tag == "h1":
                self.page.first_heading = self.page.first_heading or text
            if text and (self.canvas.is_page or self.canvas.top.in_cell):
                self.canvas.add(blocks.heading(int(tag[1]), text))
            elif text:
                self.canvas.add(Block(f"**{text}**"))

        return end

    def _hint(self, tag: str, attributes: Attributes) -> End | None:
        """A container may name the language of the code in it."""
        if tag == "span" or not attributes:
            return None
        self._languages.append(html_rules.code_language(attributes))

        def end() -> None:
            self._languages.pop()
            if not self._in_heading:
                self.canvas.flush()

        return end

    def _pre(self, tag: str, attributes: Attributes) -> End | None:
        nearby = [*self._languages[-3:], html_rules.code_language(attributes)]
        self._language = next((each for each in reversed(nearby) if each), "")

        def use(text: str) -> None:
            code = text.strip("\n").rstrip()
            if code:
                self.canvas.add(blocks.fence(code, self._language))

        return self._catch(use)

    def _code(self, tag: str, attributes: Attributes) -> End | None:
        if self._caught is not None:
            self._language = html_rules.code_language(attributes) or self._language
            return None
        if self._in_code or self._in_heading:
            return None
        self._in_code = True
        mark = self.canvas.mark()

        def end() -> None:
            self._in_code = False
            self.canvas.write(blocks.code_span((self.canvas.take(mark) or "").replace(BREAK, " ")))

        return end

    def _link(self, tag: str, attributes: Attributes) -> End:
        address = attributes.get("href", "").strip()
        mark = self.canvas.mark()

        def end() -> None:
            written = self.canvas.take(mark)
            if written is None:
                return
            text = blocks.inline(written)
            self._has_link = True
            if text in (_ANCHORS if self._in_heading else _BACK) and not address.startswith(_WEB):
                return
            self.canvas.write(
                _linked(written, text, address) if not self._in_heading and not self._in_code else written
            )

        return end

    def _raised(self, tag: str, attributes: Attributes) -> End:
        mark = self.canvas.mark()
        self._has_link = False

        def end() -> None:
            written = self.canvas.take(mark) or ""
            text = written.strip()
            if self._has_link and text.strip("[]").isalnum():
                written = f"[{text.strip('[]')}]"
            elif text and text not in _NO_CARET and len(text) <= 10:
                written = f"^{text}"
            self.canvas.write(written)

        return end

    def _break(self, tag: str, attributes: Attributes) -> None:
        if self._caught is not None:
            self._caught.append("\n")
        else:
            self.canvas.write(BREAK)

    def _rule(self, tag: str, attributes: Attributes) -> None:
        self.canvas.flush()

    def _image(self, tag: str, attributes: Attributes) -> None:
        if self._caught is None and (text := " ".join(attributes.get("alt", "").split())):
            self.canvas.write(f" {text} ")

    def _list(self, tag: str, attributes: Attributes) -> End:
        start = attributes.get("start", "1")
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1
        self._lists.append([number if tag == "ol" else None, 0])

        def end() -> None:
            self._lists.pop()
            self.canvas.flush()

        return end

    def _item(self, tag: str, attributes: Attributes) -> End:
        state = self._lists[-1] if self._lists else [None, 0]
        number, before = state
        tight = bool(before)
        state[:] = [None if number is None else number + 1, 1]

        def finish(inside: list[Block]) -> Block | None:
            return blocks.item(inside, number, tight=tight) if inside else None

        return self.canvas.open(finish)

    def _quote(self, tag: str, attributes: Attributes) -> End:
        return self.canvas.open(lambda inside: blocks.quote(inside) if inside else None)

    def _table(self, tag: str, attributes: Attributes) -> End:
        if self._tables:
            self._tables[-1].nest()
        table = Table(self._allowance, is_layout=attributes.get("role") in ("presentation", "none"))
        self._tables.append(table)

        def end() -> None:
            self.canvas.flush()
            self._tables.pop()
            self.canvas.top.blocks.extend(table.blocks())

        return end

    def _head(self, tag: str, attributes: Attributes) -> End | None:
        if not self._tables:
            return None
        table = self._tables[-1]
        table.in_head = True

        def end() -> None:
            table.in_head = False
            self.canvas.flush()

        return end

    def _row(self, tag: str, attributes: Attributes) -> None:
        if self._tables:
            self._tables[-1].start_row()

    def _cell(self, tag: str, attributes: Attributes) -> End | None:
        if not self._tables:
            return None
        table = self._tables[-1]
        self._cells += 1
        if self._cells > _MOST_CELLS:
            raise IngestError(f"its tables hold more than {_MOST_CELLS:,} cells", way_out="Save the data as CSV.")
        columns, rows = html_rules.span_of(attributes, "colspan"), html_rules.span_of(attributes, "rowspan")

        def finish(inside: list[Block]) -> None:
            table.add_cell(inside, columns=columns, rows=rows, is_header=tag == "th")

        return self.canvas.open(finish, in_cell=True)


_OF_THE_PAGE = frozenset({"html", "meta", "link"})


def _linked(written: str, text: str, address: str) -> str:
    """A link's text, with its address where that leads somewhere from here."""
    if not text or not address.startswith(_WEB) or len(address) > _LONGEST_ADDRESS or " " in address:
        return written
    if text == address or f"mailto:{text}" == address:
        return written
    return f"[{text}]({address})"
