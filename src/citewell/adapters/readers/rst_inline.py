"""Inline markup of reStructuredText -> Markdown: roles, references, substitutions, literals. Knows one paragraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from citewell.adapters.readers.words import words

_LITERAL = re.compile(r"``(.+?)``")
_ROLE = re.compile(r"(?<![\w:`]):([\w+.:-]{1,40}):`([^`]+)`|`([^`]+)`:([\w+.:-]{1,40}):")
_LINK = re.compile(r"`([^`<>]*+)<([^`<>\s]++)>`__?")
_REFERENCE = re.compile(r"`([^`]+)`__?(?!\w)")
_WORD_REFERENCE = re.compile(r"(?<![\w`/.+-])([A-Za-z](?:[\w.+-]{0,80}[A-Za-z0-9])?)_(?=[\s.,;:!?)]|$)")
_SUBSTITUTION = re.compile(r"\|([^|\s](?:[^|]*[^|\s])?)\|_{0,2}")
_FOOTNOTE = re.compile(r"\[(\d+|#\w*|\*|[A-Za-z][\w.-]*)\]_")
_INTERPRETED = re.compile(r"(?<![`\w])`([^`\s](?:[^`]*[^`\s])?)`(?![`_\w])")
_ESCAPE = re.compile(r"\\(?:([ \n])|([^\w\s]))")
_PROSE = words(
    """
    ref doc term numref any eq abbr guilabel menuselection kbd dfn emphasis strong title title-reference t sub
    sup subscript superscript raw-html math cve pep rfc issue pr ghissue download cite footcite
    """
)
_HIDDEN = "\x00"
_PLACE = re.compile(rf"{_HIDDEN}(\d+){_HIDDEN}")


def inline(text: str, substitutions: Mapping[str, str], targets: Mapping[str, str]) -> str:
    """A paragraph's text as Markdown; what is no markup stays as it is."""
    if "`" not in text and "|" not in text and "_" not in text and "\\" not in text:
        return text
    literals: list[str] = []

    def shown(text: str) -> str:
        return _PLACE.sub(lambda match: literals[int(match.group(1))], text)

    def hide(code: str) -> str:
        code = shown(code)  # a literal may stand in the text of a role
        literals.append(f"`` {code} ``" if "`" in code else f"`{code}`")
        return f"{_HIDDEN}{len(literals) - 1}{_HIDDEN}"

    def role(match: re.Match[str]) -> str:
        return _role(match.group(1) or match.group(4), match.group(2) or match.group(3), hide)

    text = _LITERAL.sub(lambda match: hide(match.group(1)), text)
    text = _ROLE.sub(role, text)
    text = _LINK.sub(lambda match: _linked(match.group(1), match.group(2)), text)
    text = _REFERENCE.sub(lambda match: _linked(match.group(1), targets.get(_key(match.group(1)), "")), text)
    text = _SUBSTITUTION.sub(lambda match: substitutions.get(match.group(1), match.group(1)), text)
    text = _FOOTNOTE.sub(r"[\1]", text)
    text = _WORD_REFERENCE.sub(lambda match: _linked(match.group(1), targets.get(_key(match.group(1)), "")), text)
    text = _INTERPRETED.sub(lambda match: hide(match.group(1)), text)
    text = _ESCAPE.sub(lambda match: "" if match.group(1) else match.group(2), text)
    return shown(text)


def _key(name: str) -> str:
    return " ".join(name.lower().split())


def _role(role: str, content: str, hide: Callable[[str], str]) -> str:
    """Text for references and marks of prose, code for whatever names a thing of a program."""
    before = content.rpartition("<")[0] if content.endswith(">") else ""
    shown = " ".join((before or content).split())
    name = role.rpartition(":")[2].lower()
    if name in _PROSE or before:
        return f"{name.upper()} {shown}" if name in {"pep", "rfc", "cve"} and shown[:1].isdigit() else shown
    return hide(shown.lstrip("~!"))


def _linked(text: str, address: str) -> str:
    shown = " ".join(text.split())
    if address.startswith(("http://", "https://", "mailto:")):
        return f"[{shown}]({address})" if shown and shown != address else address
    return shown or address
