"""Makes texts that look alike be alike before they are cut: NFKC, and what can't be seen is taken out.

It doesn't know what a word is. Case folding comes later, word by word, because `fetchTableRow` shows its parts by case.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f"  # soft hyphen, joiners, fillers of Hangul and Mongolian
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, directions
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"  # variation selectors, byte order mark, tags
    "]"  # one by one: runs of them would be looked for in twice the time
)


def normalize(text: str) -> str:
    """The text in NFKC, without invisible characters: `Ｒｅｄｉｓ` -> `Redis`, `data<soft hyphen>base` -> `database`.

    Control characters and lone surrogates stay; they part words and never become a token. Linear in the text.
    """
    if text.isascii():
        return text
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
