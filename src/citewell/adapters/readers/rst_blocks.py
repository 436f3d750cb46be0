"""Lines of reStructuredText -> blocks of Markdown lines: sections, lists, directives, literal blocks, tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from citewell.adapters.readers import blocks
from citewell.adapters.readers import rst_directives as known
from citewell.adapters.readers import rst_tables as tables
from citewell.adapters.readers.lines import Line, dedented, indented
from citewell.adapters.readers.rst_directives import Directive, directive, plain_name
from citewell.adapters.readers.rst_grid import grid_rows
from citewell.adapters.readers.rst_inline import inline
from citewell.adapters.readers.tables import markdown_table, one_header

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+$")
_BULLET = re.compile(r"([-*+•‣]) +(?=\S)")
_NUMBER = re.compile(r"(\(?(?:\d{1,4}|#|[A-Za-z]|[ivxlcIVXLC]{1,6})[.)]) +(?=\S)")
_FIELD = re.compile(r":((?!:)[^:]*[^:\s]): *")
_FOOTNOTE = re.compile(r"\.\. \[([^\]]+)\] ?")
_DOCTEST = ">>> "
_DEEPEST = 12
_MOST_STYLES = 6
_SHORTEST_TRANSITION = 4

Blocks = Iterator[list[Line]]


class Converter:
    """Converts the lines of one file; remembers the adornments of its sections and the language of its code."""

    def __init__(self, substitutions: Mapping[str, str], targets: Mapping[str, str]) -> None:
        self._substitutions, self._targets = substitutions, targets
        self._styles: list[tuple[str, bool]] = []
        self._language = ""

    def blocks(self, lines: Sequence[Line], depth: int = 0) -> Blocks:
        """The blocks of these lines, each a run of lines of Markdown."""
        index = 0
        while index < len(lines):
            if lines[index].is_blank:
                index += 1
                continue
            end, found = self._block(lines, index, depth)
            yield from found
            index = max(end, index + 1)

    def _block(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks]:
        """(the line behind the block that begins here, what it becomes)."""
        if depth > _DEEPEST:
            return len(lines), iter(
                [[Line(line.number, blocks.literal(line.text.strip())) for line in lines[index:] if not line.is_blank]]
            )
        if lines[index].indent:
            end = _behind_indented(lines, index)
            return end, self.blocks(dedented(lines[index:end]), depth + 1)
        for rule in (self._section, self._explicit, self._table, self._item, self._field, self._verbatim):
            if found := rule(lines, index, depth):
                return found
        return self._paragraph(lines, index, depth)

    def _section(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks] | None:
        line = lines[index]
        following = lines[index + 1].text if index + 1 < len(lines) else ""
        over = _ADORNMENT.match(line.text)
        if over and following.strip() and index + 2 < len(lines) and lines[index + 2].text == line.text:
            return index + 3, self._heading(Line(line.number + 1, following.strip()), line.text[0], over=True)
        under = _ADORNMENT.match(following)
        if not over and under and not depth and len(following) >= min(len(line.text), _SHORTEST_TRANSITION):
            return index + 2, self._heading(line, following[0], over=False)
        if over and len(line.text) >= _SHORTEST_TRANSITION and not following.strip():
            return index + 1, iter(())
        return None

    def _heading(self, line: Line, sign: str, *, over: bool) -> Blocks:
        style = (sign, over)
        if style not in self._styles:
            self._styles.append(style)
        level = min(self._styles.index(style) + 1, _MOST_STYLES)
        yield [Line(line.number, blocks.heading(level, self._inline(line.text)).text)]

    def _explicit(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks] | None:
        line = lines[index]
        if line.text.startswith("__ "):
            return index + 1, iter(())
        if line.text != ".." and not line.text.startswith(".. "):
            return None
        end = _behind_indented(lines, index + 1)
        body = lines[index + 1 : end]
        if match := _FOOTNOTE.match(line.text):
            rest = [Line(line.number, f"[{match.group(1)}] {line.text[match.end() :]}"), *dedented(body)]
            return end, self.blocks(rest, depth + 1)
        found = directive(line, body)
        if found is None or line.text.startswith((".. _", ".. |")):
            return end, iter(())
        return end, self._directive(line, found, depth)

    def _directive(self, line: Line, found: Directive, depth: int) -> Blocks:
        name = plain_name(found.name)
        if found.name in known.DROPPED or name in known.DROPPED:
            self._language = found.argument if name in {"highlight", "highlightlang"} else self._language
        elif name in known.CODE:
            yield from self._code(line, found, name)
        elif name.endswith("table"):
            yield from self._directive_table(line, found, name, depth)
        elif name in known.PICTURES:
            if alt := found.options.get("alt", ""):
                yield [Line(line.number, blocks.literal(self._inline(alt)))]
            yield from self.blocks(found.content, depth + 1)
        else:
            yield from self._described(line, found, name)
            yield from self.blocks(found.content, depth + 1)

    def _described(self, line: Line, found: Directive, name: str) -> Blocks:
        """What a directive says before its content."""
        argument = " ".join(found.argument.split())
        if name in known.ADMONITIONS:
            lead = known.ADMONITIONS[name]
            is_version = name.startswith(("version", "deprecated"))
            version, _, rest = argument.partition(" ") if is_version else ("", "", argument)
            title = f"**{lead} {version}:**" if version else f"**{lead}:**"
            yield [Line(line.number, f"{title} {self._inline(rest)}".rstrip())]
        elif name in known.DESCRIBED and argument:
            yield [Line(line.number, blocks.code_span(signature)) for signature in found.argument.split("\n")]
        elif name in known.TITLED and argument:
            yield [Line(line.number, f"**{self._inline(argument)}**")]
        elif argument and name not in known.WRAPPERS:
            yield [Line(line.number, blocks.literal(self._inline(argument)))]

    def _code(self, line: Line, found: Directive, name: str) -> Blocks:
        if caption := found.options.get("caption") or found.options.get("name", ""):
            yield [Line(line.number, blocks.literal(self._inline(caption)))]
        language = (
            found.argument.split("\n")[0].strip() if name in {"code-block", "code", "sourcecode", "prompt"} else ""
        )
        language = language or {"math": "math", "doctest": "python"}.get(
            name, self._language if name.startswith("code") else ""
        )
        content = list(found.content)
        if found.argument and name not in {"code-block", "code", "sourcecode", "prompt"}:
            content.insert(0, Line(line.number, found.argument))
        yield from _fenced(content, language)

    def _directive_table(self, line: Line, found: Directive, name: str, depth: int) -> Blocks:
        if found.argument:
            yield [Line(line.number, blocks.literal(self._inline(" ".join(found.argument.split()))))]
        texts = [each.text for each in found.content]
        if name == "list-table":
            rows, header = (
                tables.list_rows(texts),
                int(
                    found.options.get("header-rows", "0") or 0 if found.options.get("header-rows", "0").isdigit() else 0
                ),
            )
        elif name == "csv-table":
            delimiter = found.options.get("delim", ",")
            named = list(tables.csv_rows([found.options["header"]], delimiter)) if "header" in found.options else []
            rows, header = [*named, *tables.csv_rows(texts, delimiter)], len(named)
        else:
            yield from self.blocks(found.content, depth + 1)
            return
        yield from self._rows(line.number, rows, header)

    def _rows(self, number: int, rows: list[list[str]], header: int) -> Blocks:
        shown = [[self._inline(cell.replace("\n", " ")) for cell in row] for row in rows]
        table = markdown_table(list(one_header(shown, header)))
        if table:
            yield [Line(number + index, text) for index, text in enumerate(table.split("\n"))]

    def _table(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks] | None:
        first = lines[index].text
        if tables.is_grid(first):
            end = _behind(lines, index, lambda line: line.text[:1] in {"+", "|"})
            found = grid_rows([line.text for line in lines[index:end]])
        elif tables.is_simple(first):
            end = _behind_simple_table(lines, index)
            found = tables.simple_rows([line.text for line in lines[index:end]])
            end = end if found else _behind(lines, index, lambda line: not line.is_blank)
        else:
            return None
        if found is None:
            return end, _fenced(lines[index:end], "")
        return end, self._rows(lines[index].number, *found)

    def _item(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks] | None:
        line = lines[index]
        match = _BULLET.match(line.text) or _NUMBER.match(line.text)
        if match is None:
            return None
        width = match.end()
        end = _behind_indented(lines, index + 1, width=min(width, 2))
        content = [Line(line.number, line.text[width:]), *_shifted(lines[index + 1 : end], width)]
        number = re.sub(r"\D", "", match.group(1))
        mark = "- " if match.re is _BULLET else f"{number or '1'}. "
        if match.re is _NUMBER and not number and "#" not in match.group(1):
            content[0] = Line(line.number, f"{match.group(1)} {content[0].text}")
            mark = "- "
        return end, indented(self.blocks(content, depth + 1), mark, " " * len(mark))

    def _field(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks] | None:
        line = lines[index]
        match = _FIELD.match(line.text)
        if match is None or line.text[match.end() :].startswith("`"):
            return None
        end = _behind_indented(lines, index + 1)
        name = self._inline(match.group(1))
        content = [Line(line.number, f"{name}: {line.text[match.end() :]}".rstrip()), *dedented(lines[index + 1 : end])]
        return end, indented(self.blocks(content, depth + 1), "- ", "  ")

    def _verbatim(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks] | None:
        """Doctests and line blocks."""
        if lines[index].text.startswith(_DOCTEST):
            end = _behind(lines, index, lambda line: not line.is_blank)
            return end, _fenced(lines[index:end], "python")
        if lines[index].text.startswith("| "):
            end = _behind(lines, index, lambda line: line.text[:1] in {"|", " "} and not line.is_blank)
            texts = (
                Line(line.number, blocks.literal(self._inline(line.text.lstrip("| ").strip())))
                for line in lines[index:end]
            )
            return end, iter([[line for line in texts if line.text]])
        return None

    def _paragraph(self, lines: Sequence[Line], index: int, depth: int) -> tuple[int, Blocks]:
        end = _behind(lines, index, lambda line: not line.is_blank and not line.indent)
        if end == index + 1 and end < len(lines) and lines[end].indent and not lines[index].text.endswith("::"):
            behind = _behind_indented(lines, end)
            return behind, self._defined(lines[index], lines[end:behind], depth)
        text = "\n".join(line.text for line in lines[index:end])
        if not text.endswith("::"):
            return end, iter([self._text(lines[index].number, text)])
        behind = _behind_indented(lines, end)
        return behind, self._introduced(lines[index].number, text, lines[end:behind])

    def _defined(self, term: Line, definition: Sequence[Line], depth: int) -> Blocks:
        yield [Line(term.number, f"**{self._inline(term.text)}**")]
        yield from self.blocks(dedented(definition), depth + 1)

    def _introduced(self, number: int, text: str, literal: Sequence[Line]) -> Blocks:
        shown = text[:-2].rstrip() if text[:-2].endswith((" ", "\n")) or len(text) == 2 else text[:-1]
        if shown:
            yield self._text(number, shown)
        yield from _fenced(dedented(literal), self._language)

    def _text(self, number: int, text: str) -> list[Line]:
        shown = self._inline(text).split("\n")
        return [Line(number + index, blocks.literal(line.strip())) for index, line in enumerate(shown) if line.strip()]

    def _inline(self, text: str) -> str:
        return inline(text, self._substitutions, self._targets)


def _fenced(lines: Sequence[Line], language: str) -> Blocks:
    if lines:
        language = language if re.fullmatch(r"[\w+#.-]{1,30}", language) else ""
        text = blocks.fence("\n".join(line.text for line in lines), language).text.split("\n")
        numbers = [lines[0].number, *(line.number for line in lines), lines[-1].number]
        yield [Line(number, line) for number, line in zip(numbers, text, strict=True)]


def _behind(lines: Sequence[Line], index: int, belongs: Callable[[Line], bool]) -> int:
    while index < len(lines) and belongs(lines[index]):
        index += 1
    return index


def _behind_indented(lines: Sequence[Line], index: int, *, width: int = 1) -> int:
    """Behind the lines that are blank or indented, blank ones at the end not counted."""
    end = _behind(lines, index, lambda line: line.is_blank or line.indent >= width)
    while end > index and lines[end - 1].is_blank:
        end -= 1
    return end


def _shifted(lines: Sequence[Line], width: int) -> list[Line]:
    """Lines without up to `width` spaces."""
    return [Line(line.number, line.text[min(width, line.indent) :]) for line in lines]


def _behind_simple_table(lines: Sequence[Line], index: int) -> int:
    """Behind the last border: the one that a blank line follows."""
    end = index + 1
    while end < len(lines):
        is_border = tables.is_simple(lines[end].text)
        if is_border and (end + 1 == len(lines) or lines[end + 1].is_blank):
            return end + 1
        if lines[end].is_blank and end + 1 < len(lines) and lines[end + 1].is_blank:
            break
        end += 1
    return end
