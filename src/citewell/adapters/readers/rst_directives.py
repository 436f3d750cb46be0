"""The directives of reStructuredText: which hold code, which are admonitions, which say nothing to a reader."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from citewell.adapters.readers.lines import Line, dedented
from citewell.adapters.readers.words import words

_NAME = re.compile(r"\.\. (?:\|[^|]*\| )?([A-Za-z][\w+.:-]*?)\s?::(?:\s+(.*))?$")
_OPTION = re.compile(r":([\w-]+):\s*(.*)$")

CODE = words(
    """
    code-block code sourcecode parsed-literal prompt doctest testcode testoutput testsetup ipython
    jupyter-execute graphviz digraph mermaid uml plantuml math productionlist highlight-block command-output
    """
)
PICTURES = frozenset({"image", "figure"})
DROPPED = words(
    """
    toctree contents index meta highlight default-role role raw include sectnum section-numbering target-notes
    header footer currentmodule py:currentmodule default-domain tabularcolumns sectionauthor codeauthor
    moduleauthor bibliography todolist unicode date replace highlightlang program
    restructuredtext-test-directive autosummary automodule title
    """
)
ADMONITIONS: Mapping[str, str] = {
    **{
        name: name.capitalize()
        for name in ["attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning", "todo"]
    },
    "seealso": "See also",
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}
WRAPPERS = words(
    """
    only container rst-class class cssclass tabs tab-set grid compound epigraph highlights pull-quote glossary
    hlist centered ifconfig md-tab-set
    """
)
TITLED = words(
    """
    admonition topic sidebar rubric tab tab-item dropdown card grid-item-card details collapse step group-tab
    """
)
DESCRIBED = words(
    """
    function class method classmethod staticmethod attribute property data exception module option envvar
    confval cmdoption describe object decorator type var macro struct member enum enumerator setting directive
    role get post put delete patch autofunction autoclass automethod opcode cfunction ctype
    """
)


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive: its name without a domain, what stands behind it, its options and its content."""

    name: str
    argument: str
    options: Mapping[str, str] = field(default_factory=dict)
    content: Sequence[Line] = ()


def directive(line: Line, body: Sequence[Line]) -> Directive | None:
    """The directive that a line opens, with the indented lines below it; None if it is none."""
    match = _NAME.match(line.text)
    if match is None:
        return None
    name, argument = match.group(1), [match.group(2) or ""]
    lines = dedented(body) if body and not body[0].is_blank else list(body)
    head = next((index for index, each in enumerate(lines) if each.is_blank), len(lines))
    if argument[0] and plain_name(name) not in CODE | PICTURES | WRAPPERS:  # it may go on below
        begins = next((index for index, each in enumerate(lines[:head]) if _OPTION.match(each.text)), head)
        argument += [each.text for each in lines[:begins]]
        lines, head = lines[begins:], head - begins
    options, taken = _options(lines[:head])
    return Directive(name, "\n".join(filter(None, argument)), options, dedented(lines[taken:]))


def _options(lines: Sequence[Line]) -> tuple[dict[str, str], int]:
    """Options at the top of some lines, each with the deeper lines below it; and how many lines they take."""
    options: dict[str, str] = {}
    last = ""
    for index, line in enumerate(lines):
        if option := _OPTION.match(line.text):
            last = option.group(1)
            options[last] = option.group(2).strip()
        elif options and line.indent:
            options[last] = f"{options[last]} {line.text.strip()}".strip()
        else:
            return options, index
    return options, len(lines)


def plain_name(name: str) -> str:
    """A directive's name without its domain: `py:function` -> `function`."""
    return name.rpartition(":")[2]
