"""Lines of AsciiDoc -> blocks of Markdown lines: sections, lists, delimited blocks, tables, admonitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from citewell.adapters.readers import blocks
from citewell.adapters.readers.asciidoc_inline import attribute_values, inline
from citewell.adapters.readers.asciidoc_tables import table_rows
from citewell.adapters.readers.lines import Line
from citewell.adapters.readers.tables import markdown_table, one_header

_SECTION = re.compile(r"(={1,6}|#{1,6}) +(\S.*)$")
_ATTRIBUTE = re.compile(r":(!?[A-Za-z0-9_][\w-]*!?):(?: +(.*))?$")
_LIST_OF_ATTRIBUTES = re.compile(r"\[(?!\[)([^\[\]]{0,1000})\]$")
_TITLE = re.compile(r"\.(?![. ])(\S.*)$")
_DELIMITER = re.compile(r"(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|```+.*)$")
_TABLE = re.compile(r"[|,:!]={3,}$")
_BULLET = re.compile(r"\s*(\*{1,6}|-|•)\s+(?=\S)(?:\[[ x*]\]\s+)?")
_NUMBER = re.compile(r"\s*(\.{1,5}|\d{1,4}\.|<(?:\d{1,3}|\.)>)\s+(?=\S)")
_TERM = re.compile(r"\s*(\S.*?)(:{2,4}|;;)(?:\s+(\S.*))?$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION): +(.*)$")
_CONDITION = re.compile(r"(?:ifdef|ifndef)::\S*?\[(.+)\]$")
_SILENT = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif|toc|video|audio)::?\S*\[.*\]$|'''|<<<|\[\[[^\]]*\]\]$")
_IMAGE = re.compile(r"image::(\S+?)\[(.*)\]$")
_FORMATS = {",": "csv", ":": "dsv"}
_ADMONITIONS = frozenset({"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"})
_NO_PROSE = re.compile(r" *(?:[-|`]|\d+\. )")
_VERBATIM = frozenset("-.+`")
_DEEPEST = 8

Blocks = Iterator[list[Line]]


@dataclass(slots=True)
class _Above:
    """What stands above a block: its title and attributes."""

    style: str = ""
    second: str = ""
    third: str = ""
    options: str = ""
    named: dict[str, str] = field(default_factory=dict)
    title: str = ""


class Converter:
    """Converts the lines of one file; remembers its attributes and how deep the open list is."""

    def __init__(self) -> None:
        self.attributes: dict[str, str] = {}
        self._indent = ""
        self._continues = False

    def blocks(self, lines: Sequence[Line], depth: int = 0) -> Blocks:
        """The blocks of these lines, each a run of lines of Markdown."""
        index = 0
        above = _Above()
        while index < len(lines):
            line = lines[index].text
            if not line.strip():
                index += 1
                continue
            taken = self._taken_above(line, above)
            if taken:
                index += 1
                continue
            if not self._continues and not (_BULLET.match(line) or _NUMBER.match(line)):
                self._indent = ""
            self._continues = False
            index, found = self._block(lines, index, above, depth)
            indent = self._indent
            for block in found:
                yield [Line(each.number, f"{indent}{each.text}" if each.text else "") for each in block]
            above = _Above()

    def _taken_above(self, line: str, above: _Above) -> bool:
        """Whether a line only says something of the block below it, or nothing to a reader."""
        if line == "+":
            self._continues = True
        elif line.startswith("//") and not line.startswith("////"):
            pass
        elif match := _ATTRIBUTE.match(line):
            self._set(match.group(1), match.group(2) or "")
        elif _SILENT.match(line) and not _CONDITION.match(line):
            pass
        elif match := _LIST_OF_ATTRIBUTES.match(line):
            _note(above, match.group(1))
        elif (match := _TITLE.match(line)) and not _DELIMITER.match(line):
            above.title = match.group(1)
        else:
            return False
        return True

    def _set(self, name: str, value: str) -> None:
        key = name.strip("!").lower()
        if "!" in name:
            self.attributes.pop(key, None)
        else:
            self.attributes[key] = attribute_values(value.rstrip("\\ +"), self.attributes)[:2_000]

    def _block(self, lines: Sequence[Line], index: int, above: _Above, depth: int) -> tuple[int, Blocks]:
        """(the line behind the block that begins here, what it becomes)."""
        line = lines[index]
        if (match := _SECTION.match(line.text)) and not depth:
            heading = blocks.heading(len(match.group(1)), self._inline(match.group(2)))
            return index + 1, iter([*self._titled(line, above), [Line(line.number, heading.text)]])
        if match := _CONDITION.match(line.text):
            return index + 1, iter([self._text(line.number, match.group(1))])
        if _TABLE.match(line.text):
            end = _closing(lines, index)
            above.named.setdefault("format", _FORMATS.get(line.text[0], ""))
            above.named.setdefault("separator", line.text[0])
            return end + 1, self._table(lines[index + 1 : end], line.number, above)
        if _DELIMITER.match(line.text):
            end = _closing(lines, index)
            if line.text.startswith("/") and end == len(lines):  # a comment that never ends would swallow the rest
                return index + 1, iter(())
            return end + 1, self._delimited(line, lines[index + 1 : end], above, depth)
        if match := _IMAGE.match(line.text):
            alt = inline(f"image:x[{match.group(2)}]", self.attributes)
            return index + 1, iter([*self._titled(line, above), *([[Line(line.number, alt)]] if alt else [])])
        title = list(self._titled(line, above))  # before the item sets how deep its list is
        if item := self._item(lines, index):
            end, found = item
            return end, chain(title, found)
        return self._paragraph(lines, index, above)

    def _said_by(self, line: Line, above: _Above) -> Blocks:
        if above.style in {"quote", "verse"} and (said_by := _attribution(above)):
            yield [Line(line.number, f"— {self._inline(said_by)}")]

    def _titled(self, line: Line, above: _Above) -> Blocks:
        if above.title:
            yield [Line(line.number, f"**{self._inline(above.title)}**")]

    def _table(self, lines: Sequence[Line], number: int, above: _Above) -> Blocks:
        yield from self._titled(Line(number, ""), above)
        rows, header = table_rows([line.text for line in lines], above.named, above.options)
        shown = [[self._inline(cell) for cell in row] for row in rows]
        if table := markdown_table(list(one_header(shown, header))):
            yield [Line(number + index, text) for index, text in enumerate(table.split("\n"))]

    def _delimited(self, line: Line, content: Sequence[Line], above: _Above, depth: int) -> Blocks:
        sign = line.text[0]
        if sign == "/":
            return
        if sign == "+" and above.style not in {"stem", "latexmath", "asciimath"}:
            yield [each for each in content if not each.is_blank]  # HTML, which is text to Markdown
            return
        yield from self._titled(line, above)
        if (sign in _VERBATIM and line.text != "--") or above.style in {"source", "listing", "literal"}:
            yield from self._fenced(content, above, line.text)
            return
        if depth >= _DEEPEST:
            yield [Line(each.number, blocks.literal(each.text.strip())) for each in content if not each.is_blank]
            return
        outer, self._indent = self._indent, ""
        inner = list(self.blocks(content, depth + 1))
        self._indent = outer
        yield from _led(inner, above.style) if above.style in _ADMONITIONS else inner
        yield from self._said_by(line, above)

    def _fenced(self, content: Sequence[Line], above: _Above, delimiter: str) -> Blocks:
        while content and content[-1].is_blank:
            content = content[:-1]
        if not content:
            return
        language = (
            delimiter.lstrip("`").strip() if delimiter.startswith("`") else above.named.get("language", above.second)
        )
        language = language or (self.attributes.get("source-language", "") if above.style == "source" else "")
        language = language if re.fullmatch(r"[\w+#.-]{1,30}", language) else ""
        substitutes = "attributes" in above.named.get("subs", "")
        texts = [attribute_values(each.text, self.attributes) if substitutes else each.text for each in content]
        fence = blocks.fence("\n".join(texts), language).text.split("\n")
        numbers = [content[0].number, *(each.number for each in content), content[-1].number]
        yield [Line(number, text) for number, text in zip(numbers, fence, strict=True)]

    def _item(self, lines: Sequence[Line], index: int) -> tuple[int, Blocks] | None:
        """An item of a list with the lines that go on with it, or a term and its definition."""
        line = lines[index]
        match = _BULLET.match(line.text) or _NUMBER.match(line.text)
        if match is None:
            return self._term(lines, index)
        sign = match.group(1)
        level = len(sign) if sign[0] in "*." and not sign[:-1].isdigit() else 1
        mark = "- " if match.re is _BULLET else "1. "
        if sign.startswith("<"):
            mark = f"{sign.strip('<>').replace('.', '') or '1'}. "
        self._indent = "  " * (level - 1)
        end = _behind_text(lines, index + 1)
        texts = [line.text[match.end() :], *(each.text.strip() for each in lines[index + 1 : end])]
        shown = self._inline("\n".join(texts)).split("\n")
        block = [Line(line.number + place, f"{mark if not place else '  '}{text}") for place, text in enumerate(shown)]
        return end, self._then_indent(block, self._indent + "  ")

    def _then_indent(self, block: list[Line], indent: str) -> Blocks:
        yield block
        self._indent = indent

    def _term(self, lines: Sequence[Line], index: int) -> tuple[int, Blocks] | None:
        line = lines[index]
        match = _TERM.match(line.text)
        if match is None or "://" in match.group(1)[-8:] or len(match.group(1)) > 200:
            return None
        term = [Line(line.number, f"**{self._inline(match.group(1))}**")]
        end = _behind_text(lines, index + 1, in_list=True) if match.group(3) or _goes_on(lines, index) else index + 1
        text = "\n".join(filter(None, [match.group(3), *(each.text.strip() for each in lines[index + 1 : end])]))
        return end, iter([term, self._text(line.number + (not match.group(3)), text)])

    def _paragraph(self, lines: Sequence[Line], index: int, above: _Above) -> tuple[int, Blocks]:
        end = _behind_text(lines, index + 1)
        content = lines[index:end]
        if above.style in {"source", "listing", "literal"} or (lines[index].indent and not self._indent):
            least = min(line.indent for line in content)
            verbatim = [Line(line.number, line.text[least:]) for line in content]
            return end, iter([*self._titled(lines[index], above), *self._fenced(verbatim, above, "")])
        text = "\n".join(line.text for line in content)
        lead = above.style.capitalize() if above.style in _ADMONITIONS else ""
        if match := _ADMONITION.match(text.partition("\n")[0]):
            lead, text = match.group(1).capitalize(), text[match.start(2) :]
        block = self._text(lines[index].number, text)
        if lead and block:
            block[0] = Line(block[0].number, f"**{lead}:** {block[0].text}")
        return end, iter([*self._titled(lines[index], above), block, *self._said_by(lines[end - 1], above)])

    def _text(self, number: int, text: str) -> list[Line]:
        shown = self._inline(text).split("\n")
        return [Line(number + index, blocks.literal(line.strip())) for index, line in enumerate(shown) if line.strip()]

    def _inline(self, text: str) -> str:
        return inline(text, self.attributes)


def _led(inner: Sequence[list[Line]], style: str) -> Blocks:
    """Blocks behind the name of an admonition, on the first one's line if that is prose."""
    lead = f"**{style.capitalize()}:**"
    if inner and inner[0] and not _NO_PROSE.match(inner[0][0].text):
        first, *rest = inner[0]
        yield [Line(first.number, f"{lead} {first.text}"), *rest]
        yield from inner[1:]
    elif inner and inner[0]:
        yield [Line(inner[0][0].number, lead)]
        yield from inner


def _attribution(above: _Above) -> str:
    """Who said it, and where: `[quote, Ada Lovelace, Notes]`."""
    named = (above.named.get("attribution", above.second), above.named.get("citetitle", above.third))
    return ", ".join(filter(None, named))


def _note(above: _Above, written: str) -> None:
    """Take the attributes in brackets: `[source%linenums,bash,subs="+quotes"]`."""
    positional: list[str] = []
    for part in re.findall(r"[^,\"]+(?:\"[^\"]*\"[^,\"]*)?|\"[^\"]*\"", written):
        name, is_named, value = part.partition("=")
        if is_named:
            above.named[name.strip().lower()] = value.strip().strip('"')
        else:
            positional.append(part.strip().strip('"'))
    style, _, options = (positional[0] if positional else "").partition("%")
    above.style = re.sub(r"[#.].*", "", style) or above.style
    above.second = positional[1] if len(positional) > 1 else above.second
    above.third = positional[2] if len(positional) > 2 else above.third
    above.options = f"{above.options} {options} {above.named.get('options', '')} {above.named.get('opts', '')}"


def _closing(lines: Sequence[Line], index: int) -> int:
    """The line that closes the block which this one opens; the end if none does."""
    mark = lines[index].text
    if mark.startswith("`"):
        mark = mark[: len(mark) - len(mark.lstrip("`"))]
    return next((place for place in range(index + 1, len(lines)) if lines[place].text == mark), len(lines))


def _behind_text(lines: Sequence[Line], index: int, *, in_list: bool = False) -> int:
    """Behind the lines that go on with a text: up to a blank line or one that opens something else."""
    while index < len(lines):
        line = lines[index].text
        if not line.strip() or line == "+" or _opens(line) or (in_list and _TERM.match(line)):
            break
        index += 1
    return index


def _goes_on(lines: Sequence[Line], index: int) -> bool:
    """Whether the line below is text and stands to the right."""
    return index + 1 < len(lines) and lines[index + 1].indent > lines[index].indent


def _opens(line: str) -> bool:
    return bool(
        _DELIMITER.match(line)
        or _TABLE.match(line)
        or _BULLET.match(line)
        or _NUMBER.match(line)
        or _LIST_OF_ATTRIBUTES.match(line)
        or _SECTION.match(line)
    )
