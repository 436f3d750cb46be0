"""What comes from documents -> what may be printed: no control reaches a terminal, no id passes for more than an id.

It knows characters alone: neither what a text says nor where it is printed.
"""

from __future__ import annotations

import json
import re

import regex

from citewell.checks import check_text

# A carriage return is left before a line feed alone: elsewhere it lets a line overwrite itself.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"  # C0, C1, directions, surrogates
    "|\r(?!\n)"
)
_IN_IDS = (
    r"[[\p{L}\p{M}\p{N}\p{Pd}\p{Pc}\p{Po}\p{Pi}\p{Pf}+=~$()（）《》〈〉「」『』]"
    r"--[\p{Default_Ignorable_Code_Point}\"＂]]"
)
_ORDINARY_ID = regex.compile(rf"(?!\p{{M}}){_IN_IDS}+(?: {_IN_IDS}+)*", regex.V1)
_NOT_IN_IDS = regex.compile(rf"(?! |{_IN_IDS}).|[\\]", regex.V1 | regex.DOTALL)


def printable(text: str) -> str:
    r"""The text as a terminal may be given it: what would act instead of being seen is shown by its code point.

    Those are control characters (C0 and C1; line feed, tab, and a carriage return before a line feed stay), lone
    surrogates, and the nine controls that turn the direction of what follows (U+202A..202E, U+2066..2069): with them a
    line reads otherwise than it is. The marks U+200E, U+200F and U+061C, which Hebrew and Arabic need, turn nothing
    and stay. `ESC [ 2 J` -> `\x1b[2J`; U+202E -> `\u202e`. Meant for eyes: a text that spells `\x1b` reads the same.

    Raises:
        InvalidRequest: it is no text.
    """
    return _CONTROL.sub(lambda match: code_point(match[0]), check_text("the text to print", text))


def printable_id(key: str) -> str:
    r"""An id so that it stays one line, can be copied and has an end that it can't set itself.

    An ordinary id stays as it is: letters, marks, digits and punctuation of any script, single spaces. One with
    anything else (square, curly and angle brackets, double quotes, symbols, what can't be seen) becomes a JSON string:
    in quotes, all such characters as `\uXXXX`, so that no bracket is in it, and `json.loads` gives the id.

    Raises:
        InvalidRequest: it is no text.
    """
    if _ORDINARY_ID.fullmatch(check_text("an id", key)):
        return key
    return f'"{_NOT_IN_IDS.sub(_json_escape, key)}"'


def read_id(printed: str) -> str:
    r"""The id that `printable_id` printed so; a text that isn't printed so is returned as it is.

    No ordinary id begins with a quotation mark, so nothing is taken for what it isn't: `"a\u005d#chunk-0"` is the id
    `a]#chunk-0`, and `etcd.md#chunk-2` itself.

    Raises:
        InvalidRequest: it is no text.
    """
    text = check_text("a printed id", printed)
    if not text.startswith('"'):
        return text
    try:
        key = json.loads(text)
    except ValueError:
        return text
    return key if isinstance(key, str) else text


def code_point(character: str, *, wide: bool = False) -> str:
    r"""A character by its code point: `\x1b`, `\u202e`, `\U000e0041`; with `wide` never the short form."""
    code = ord(character)
    if code < 0x100 and not wide:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: regex.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "\\\\" if match[0] == "\\" else "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
