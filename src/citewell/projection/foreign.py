r"""What documents say -> what a model may be given: no hidden characters, no tokens that a chat template lives on.

Two things that a fence of text can't hold. A model reads characters that nobody sees, so that a sentence can be
smuggled past the person who checks what was shown. And where a server turns text into tokens, `<|im_end|>` in a
document may become the very token that ends the turn. Both are shown by their code points, as `printable` does with
what acts on a terminal. It knows characters and names of tokens alone, never what a text means.
"""

from __future__ import annotations

import regex

from citewell.patterns import late
from citewell.printable import code_point, printable

_IGNORABLE = r"[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]"
_SELECTOR = r"[\uFE00-\uFE0F\U000E0100-\U000E01EF]"
_TAG = r"[\U000E0000-\U000E007F]"
_REGIONS = ("gbeng", "gbsct", "gbwls")  # England, Scotland, Wales: the flags in use that are written in tags
_FLAG = "|".join(f"\U0001f3f4{''.join(chr(0xE0000 + ord(c)) for c in name)}\U000e007f" for name in _REGIONS)
_HIDDEN = late(
    lambda: regex.compile(
        rf"(?P<keep>{_FLAG}"
        rf"|(?<!{_IGNORABLE})(?:(?!{_TAG}){_IGNORABLE}|{_SELECTOR}\u200D)(?!{_IGNORABLE}))"  # alone, or in an emoji
        rf"|{_IGNORABLE}+"
    )
)
_SPECIAL = late(
    lambda: regex.compile(
        r"<(?=[|｜][^\s<>|｜][^<>|｜\n]{0,60}[|｜]?>|[^\s<>|｜/]{1,60}[|｜]>)"  # <|im_start|>, <｜User｜>, <turn|>
        r"|<(?=/?(?:s|bos|eos|unk|pad|sop|eop|(?:start|end)_of_(?:turn|image|document)|tool_call|tool_response|think)>)"
        r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|gMASK|sMASK)\])"
    )
)


def foreign(text: str) -> str:
    r"""A text of a document as a model may be given it.

    - What `printable` shows by its code point is shown so.
    - Characters that can't be seen (tags, variation selectors, zero-width ones) stay where one stands alone, as
      Persian, emoji and flags need them; wherever two meet, all of them are shown: `\u200b\u200b`, `\U000e0041`.
    - The first character of what chat templates use as a token is shown: `<|im_end|>` -> `\u003c|im_end|>`.

    Applied twice, it changes nothing more.

    Raises:
        InvalidRequest: it is no text.
    """
    shown = _HIDDEN.sub(_unless_kept, printable(text))
    return _SPECIAL.sub(lambda match: code_point(match[0], wide=True), shown)


def foreign_line(text: str) -> str:
    """The same on one line, each run of white space one space."""
    return foreign(" ".join(text.split()))


def _unless_kept(match: regex.Match[str]) -> str:
    return match[0] if match["keep"] else "".join(map(code_point, match[0]))
