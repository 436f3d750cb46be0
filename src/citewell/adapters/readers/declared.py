"""Which encoding a text says that it has: HTML's meta, the XML declaration, a coding cookie -> the name of a codec.

A declaration is a hint: whoever decodes with it still checks that the bytes fit. Labels mean what browsers take them to
mean: `gb2312` is GB18030, `latin-1` is Windows-1252. Knows no file.
"""

from __future__ import annotations

import codecs
import re

_HEAD = 4_096
_META = re.compile(rb"""<meta\s[^>]{0,400}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_COOKIE = re.compile(rb"^[ \t\f]*(?:#|//|/\*|%|;|--|\.\.).{0,80}?coding[:=][ \t]*([\w.-]{1,40})")
_WIDER = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_KNOWN = re.compile(
    r"utf-8|utf-16(?:-[lb]e)?|utf-32(?:-[lb]e)?|cp125[0-8]|cp8[67][46]|cp437|cp85[02]|cp932|cp949|cp950|iso8859-\d+|koi8-[rut]"
    r"|gb18030|hz|big5hkscs|euc_jp|euc_jis_2004|shift_jis(?:_2004|x0213)?|johab|iso2022_(?:jp(?:_\w+)?|kr)|mac-(?:roman|cyrillic)"
)


def codec(label: str) -> str | None:
    """The codec that a declared label means; None if it is no character encoding that is known."""
    try:
        name = codecs.lookup(label.strip()).name
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if _KNOWN.fullmatch(name) else None


def of_markup(data: bytes) -> str | None:
    """What an HTML or XML file declares near its start."""
    head = data[:_HEAD]
    match = _XML.search(head) or _META.search(head)
    return codec(match.group(1).decode("ascii")) if match else None


def of_source(data: bytes) -> str | None:
    """The coding cookie in the first two lines of a source file."""
    for line in data[:_HEAD].splitlines()[:2]:
        if match := _COOKIE.match(line):
            return codec(match.group(1).decode("ascii"))
    return None
