"""Which encoding bytes that are neither marked nor UTF-8 are in: GB18030 first, then others (INGEST-2).

A wrong guess would store nonsense without a word, so each guess must also read like the script that it claims. Knows no
file; control characters were refused before.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from charset_normalizer import from_bytes

_SINGLE_BYTE = re.compile(r"cp125[0-8]|iso8859_(?:[1-9]|1[0-6])|latin_1|koi8_[rut]|mac_cyrillic|cp866|tis_620")
_HIGH_CONTROLS = re.compile(r"[\x80-\x84\x86-\x9f]")
_PUNCTUATION = frozenset("、。〈〉《》「」『』【】〔〕〖〗·—…‘’“”！（），：；？～％＋－．／＝ 　①②③④⑤⑥⑦⑧⑨⑩×÷℃°→←↑↓")
_SAMPLE = 65_536
_NEARLY_AS_COHERENT = 0.1


def guess_encoding(data: bytes) -> str | None:
    """The name of an encoding in which all of `data` decodes and reads sensibly; None if there is none."""
    for encoding, reads_well in _EAST_ASIAN:
        text = _try(data, encoding)
        if text is not None and reads_well([character for character in text[:_SAMPLE] if character > "\x7f"]):
            return encoding
    western = _single_byte(data[:_SAMPLE])
    text = _try(data, western) if western else None
    return None if text is None or _HIGH_CONTROLS.search(text) else western


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _reads_as_chinese(characters: list[str]) -> bool:
    """Mostly common characters (kana are none: Japanese in EUC), and not only early ones (Korean in EUC)."""
    han = [character for character in characters if "\u4e00" <= character <= "\u9fff"]
    rows = [_row(character, "gb2312") for character in han]
    common = sum(
        0x30 <= row <= 0x57 or 0x24 <= _row(character, "big5") <= 0x46 for character, row in zip(han, rows, strict=True)
    )
    letters = sum(character not in _PUNCTUATION for character in characters)
    if not han or 10 * len(han) < 8 * letters or 10 * common < 8 * len(han):
        return False
    return len(han) < 8 or any(row > 0x48 for row in rows)


def _row(character: str, encoding: str) -> int:
    try:
        return character.encode(encoding)[0] - 0x80
    except UnicodeEncodeError:
        return 0


def _reads_as_traditional_chinese(characters: list[str]) -> bool:
    return 10 * sum(0x21 <= _row(character, "big5") <= 0x46 for character in characters) >= 9 * len(characters) > 0


def _reads_as_japanese(characters: list[str]) -> bool:
    kana = sum("\u3041" <= character <= "\u30ff" for character in characters)
    known = sum("\u3000" <= character <= "\u30ff" or "\u4e00" <= character <= "\u9fff" for character in characters)
    return 10 * kana >= len(characters) > 0 and 10 * known >= 9 * len(characters)


def _reads_as_korean(characters: list[str]) -> bool:
    hangul = sum(
        "\uac00" <= character <= "\ud7a3" and 0x30 <= _row(character, "euc_kr") <= 0x48 for character in characters
    )
    return 10 * hangul >= 8 * len(characters) > 0


_EAST_ASIAN: tuple[tuple[str, Callable[[list[str]], bool]], ...] = (
    ("gb18030", _reads_as_chinese),
    ("euc_jp", _reads_as_japanese),
    ("cp932", _reads_as_japanese),
    ("big5", _reads_as_traditional_chinese),
    ("cp949", _reads_as_korean),
)


def _single_byte(sample: bytes) -> str | None:
    matches = [match for match in from_bytes(sample) if _SINGLE_BYTE.fullmatch(match.encoding)]
    if not matches:
        return None
    best = matches[0]
    many_high_bytes = 4 * sum(byte > 0x7F for byte in sample) > len(sample)
    if best.coherence == 0 and many_high_bytes:
        return None
    # Western European texts read well in several encodings; then the one that most of them have is taken.
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if western and western.chaos <= best.chaos and western.coherence >= best.coherence - _NEARLY_AS_COHERENT:
        return western.encoding
    return best.encoding
