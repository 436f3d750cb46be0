"""Inline markup of AsciiDoc -> Markdown: links, cross references, monospace, attributes. Knows one paragraph."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PASS = re.compile(r"`?\+{1,3}([^+\n]+)\+{1,3}`?|pass:[a-z,]*\[([^\]\n]{0,2000})\]")
_CODE = re.compile(r"``([^`\n]+)``|(?<![\w`\\])`([^`\s](?:[^`\n]*[^`\s])?)`(?![\w`])")
_ATTRIBUTE = re.compile(r"(?<!\\)\{([A-Za-z0-9_][\w-]*)\}")
_LINK = re.compile(r"(?:link:|(?=https?://|mailto:))([^\s\[\]<>]{1,500})\[([^\]\n]{0,1000})\]")
_REFERENCE = re.compile(r"xref:([^\s\[\]]{1,300})\[([^\]\n]{0,300})\]|<<([^,<>\n]{1,300})(?:,\s*([^<>\n]{1,300}))?>>")
_MACRO = re.compile(
    r"(?:image|icon|kbd|btn|menu|footnote|footnoteref|stem|latexmath|asciimath|indexterm2):+([^\s\[\]]{0,300})\[([^\]\n]{0,1000})\]"
)
_ANCHOR = re.compile(
    r"\[\[[^\[\]\n]{0,300}\]\]|\[#[\w-]{1,200}\]|\(\(\([^()\n]{0,300}\)\)\)|indexterm:\[[^\]\n]{0,300}\]"
)
_ROLE = re.compile(r"\[\.?[\w.-]+\](?=[#*_`])|(?<=\])#(?=\S)")
_MARKED = re.compile(r"(?<![\w#])##?([^#\s](?:[^#\n]*[^#\s])?)##?(?![\w#])")
_BOLD = re.compile(r"(?<![\w*\\])\*([^*\s](?:[^*\n]*[^*\s])?)\*(?![\w*])")
_HARD_BREAK = re.compile(r" \+$", re.MULTILINE)
_ESCAPED = re.compile(r"\\(?=[\[{*_`#<])")
_NAMED = re.compile(r"^\"?([^\",]*)\"?(?:,.*)?$")
_HIDDEN = "\x00"
_PLACE = re.compile(rf"{_HIDDEN}(\d+){_HIDDEN}")
_BUILT_IN: Mapping[str, str] = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "plus": "+", "asterisk": "*", "tilde": "~",
    "caret": "^", "backtick": "`", "vbar": "|", "lt": "<", "gt": ">", "amp": "&", "startsb": "[", "endsb": "]",
    "apos": "'", "quot": '"', "deg": "°", "ldquo": "“", "rdquo": "”", "lsquo": "‘", "rsquo": "’",
    "two-colons": "::", "two-semicolons": ";;", "cpp": "C++",
}  # fmt: skip
_SIGNS = re.compile(r"[`*_{<\[#:+\\(]")


def inline(text: str, attributes: Mapping[str, str]) -> str:
    """A paragraph's text as Markdown; attributes that are not known stay as they are written."""
    if not _SIGNS.search(text):
        return text
    kept: list[str] = []

    def restored(text: str) -> str:
        return _PLACE.sub(lambda match: kept[int(match.group(1))], text)

    def keep(shown: str) -> str:
        kept.append(restored(shown))  # code may stand in the text of a link
        return f"{_HIDDEN}{len(kept) - 1}{_HIDDEN}"

    def code(match: re.Match[str]) -> str:
        return keep(f"`{attribute_values(match.group(1) or match.group(2), attributes)}`")

    text = _PASS.sub(lambda match: keep(_verbatim(match)), text)
    text = _CODE.sub(code, text)
    text = attribute_values(text, attributes)
    text = _LINK.sub(lambda match: keep(_linked(match.group(1), match.group(2))), text)
    text = _REFERENCE.sub(_referred, text)
    text = _MACRO.sub(_macro, text)
    text = _ANCHOR.sub("", text)
    text = _ROLE.sub("", text)
    text = _MARKED.sub(r"\1", text)
    text = _BOLD.sub(r"**\1**", text)
    text = _ESCAPED.sub("", _HARD_BREAK.sub("", text))
    return restored(text)


def attribute_values(text: str, attributes: Mapping[str, str]) -> str:
    """The text with the values of the attributes that are known; values are not looked into."""
    return _ATTRIBUTE.sub(
        lambda match: attributes.get(match.group(1).lower(), _BUILT_IN.get(match.group(1), match.group())), text
    )


def _verbatim(match: re.Match[str]) -> str:
    text = match.group(1) or match.group(2) or ""
    return f"`{text}`" if match.group().startswith("`") else text


def _linked(address: str, written: str) -> str:
    address, text = address.removeprefix("++").removesuffix("++"), _text_of(written).rstrip("^")
    if not address.startswith(("http://", "https://", "mailto:")):
        return text or address
    return f"[{text}]({address})" if text and text != address else address


def _text_of(written: str) -> str:
    match = _NAMED.match(written.strip())
    return (match.group(1) if match else written).strip()


def _referred(match: re.Match[str]) -> str:
    target, text = match.group(1) or match.group(3), match.group(2) or match.group(4) or ""
    return text.strip() or target.rpartition("#")[2].removesuffix(".adoc").strip("_")


def _macro(match: re.Match[str]) -> str:
    name = match.group().partition(":")[0]
    text = match.group(2).strip()
    if name in {"image", "icon"}:
        return _text_of(text) if "=" not in text.partition(",")[0] else ""
    if name.startswith("footnote"):
        return f" ({text})" if text else ""
    return " > ".join(part for part in (match.group(1), *text.split(">")) if part.strip()) if name == "menu" else text
