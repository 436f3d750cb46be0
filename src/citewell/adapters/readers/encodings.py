"""Which encoding bytes that are neither marked nor UTF-8 are in: Chinese, Japanese, Cyrillic, Western, ... (INGEST-2).

A wrong guess would store nonsense without a word, so each guess must also read like the script that it claims: words of
one script in a believable case, common characters. Bytes that read well in nothing are in no known encoding. Knows no
file; binary content was refused before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SAMPLE = 65_536
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_LEAD = 200
_EAST_ASIAN = {"GB18030": "gb18030", "Big5": "big5hkscs", "CP932": "cp932", "CP949": "cp949", "EUC-JP": "euc_jp"}
_ALPHABETS = {
    **{f"Windows-{number}": f"cp{number}" for number in range(1250, 1258)},
    **{f"ISO-8859-{number}": f"iso8859_{number}" for number in (2, 5, 6, 7, 8, 9)},
    "ISO-8859-1": "cp1252",
    "cp1258": "cp1258",
    "IBM866": "cp866",
    "KOI8-R": "koi8_r",
    "koi8-u": "koi8_u",
}
_PUNCTUATION = frozenset("、。〈〉《》「」『』【】〔〕〖〗·—…‘’“”！（），：；？～％＋－．／＝ 　①②③④⑤⑥⑦⑧⑨⑩×÷℃°→←↑↓")
_WORD = re.compile(r"[A-Za-z]*[^\x00-\x7f\s][A-Za-z’·]*(?:[^\x00-\x7f\s][A-Za-z’·]*)*")
_TYPOGRAPHY = "“”„‘’‚«»‹›–—…•·°ºª§¶©®™€£¥¢±×÷¿¡¹²³¼½¾№†‡µ\xa0\xad"
_SCRIPTS = (
    (0x250, "Latin"),
    (0x370, "marks"),
    (0x400, "Greek"),
    (0x530, "Cyrillic"),
    (0x600, "Hebrew"),
    (0x700, "Arabic"),
)
_THAI_RUN = re.compile(r"[\u0e00-\u0e7f]+")
_THAI_VOWEL = re.compile(r"[\u0e30-\u0e3a\u0e40-\u0e4e]")
_FEWEST_GOOD_WORDS = 0.85


def guess_encoding(data: bytes) -> str | None:
    """The name of an encoding in which all of `data` decodes and reads sensibly; None if there is none."""
    sample = _telling(data)
    for encoding, reads_well in [*_ranked(sample), *_BY_SCRIPT]:
        if _try(data, encoding) is not None and reads_well(sample.decode(encoding, "ignore")):
            return encoding
    return None


def _telling(data: bytes) -> bytes:
    """The first lines that hold more than ASCII, or what stands near it: elsewhere all encodings are alike."""
    parts: list[bytes] = []
    size = end = 0
    while size < _SAMPLE and (found := _BEYOND_ASCII.search(data, end)):
        start = max(data.rfind(b"\n", end, found.start()) + 1, end, found.start() - _LEAD)
        end = data.find(b"\n", found.end())
        end = len(data) if end < 0 else end
        parts.append(data[start : min(end, start + _SAMPLE - size)])
        size += len(parts[-1])
    return b"\n".join(parts)


def reads_as_wide(sample: bytes, encoding: str) -> bool:
    """Whether bytes read as East Asian text in UTF-16: nearly all characters common ones, at least some not Latin."""
    text = _try(sample, encoding)
    if text is None:
        return False
    high = [character for character in text if character > "\x7f"]
    common = sum(_is_common(character) for character in high)
    plain = sum("\x20" <= character <= "\x7e" or character in "\r\n\t" for character in text)
    return bool(high) and 10 * common >= 9 * len(high) and 10 * (common + plain) >= 9 * len(text)


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _ranked(sample: bytes) -> Sequence[tuple[str, Callable[[str], bool]]]:
    """What the detector's models of languages find likely, best first, each with what it must read like."""
    import chardet  # noqa: PLC0415 - most files are UTF-8

    names = [name for name in [*_EAST_ASIAN, *_ALPHABETS] if name != "EUC-JP"] + ["euc_jis_2004"]
    found = chardet.detect_all(sample, ignore_threshold=True, include_encodings=names)
    labels = [str(guess["encoding"]) for guess in found]
    known = [(label, _EAST_ASIAN.get(label) or _ALPHABETS.get(label)) for label in labels]
    return [(encoding, _CHECKS.get(encoding, _reads_as_words)) for label, encoding in known if encoding is not None]


def _reads_as_words(text: str) -> bool:
    """Most words with letters beyond ASCII are of one script, in a case that a word can have."""
    words = [stripped for match in _WORD.finditer(text) if (stripped := match.group().strip(_TYPOGRAPHY))]
    good = sum(_is_word(word) for word in words)
    return good >= _FEWEST_GOOD_WORDS * len(words)


def _is_word(word: str) -> bool:
    scripts = {_script(character) for character in word if character not in "’·\xad"}
    if len(scripts - {"marks"}) != 1 or None in scripts:
        return False
    return word.islower() or word.isupper() or word[1:].islower() or word.lower() == word.upper()


def _script(character: str) -> str | None:
    """Of a letter or a mark on one; None for anything else."""
    code = ord(character)
    if not character.isalpha() and not (0x300 <= code < 0x370 or 0x591 <= code < 0x5C8 or 0x64B <= code < 0x660):
        return None
    return next((script for end, script in _SCRIPTS if code < end), None)


def _reads_as_thai(text: str) -> bool:
    """Little else beyond ASCII, in runs as long as a language has that writes no spaces, with its share of vowels."""
    runs = _THAI_RUN.findall(text)
    thai, vowels = sum(map(len, runs)), len(_THAI_VOWEL.findall(text))
    return 10 * thai >= 9 * len(_high(text)) and 4 * vowels >= thai >= 4 * len(runs) > 0


def _high(text: str) -> list[str]:
    return [character for character in text if character > "\x7f"]


def _reads_as_chinese(text: str) -> bool:
    """Mostly common characters (kana are none: Japanese in EUC), and not only early ones (Korean in EUC)."""
    characters = _high(text)
    han = [character for character in characters if "\u4e00" <= character <= "\u9fff"]
    rows = [_row(character, "gb2312") for character in han]
    common = sum(0x30 <= row <= 0x57 or 0x24 <= _row(each, "big5") <= 0x46 for each, row in zip(han, rows, strict=True))
    letters = sum(character not in _PUNCTUATION for character in characters)
    if not han or 10 * len(han) < 8 * letters or 10 * common < 8 * len(han):
        return False
    return len(set(han)) < 8 or any(row > 0x48 for row in rows)


def _row(character: str, encoding: str) -> int:
    try:
        return character.encode(encoding)[0] - 0x80
    except UnicodeEncodeError:
        return 0


def _reads_as_traditional_chinese(text: str) -> bool:
    characters = _high(text)
    return 10 * sum(0x21 <= _row(character, "big5") <= 0x46 for character in characters) >= 9 * len(characters) > 0


def _reads_as_japanese(text: str) -> bool:
    characters = _high(text)
    kana = sum("\u3041" <= character <= "\u30ff" for character in characters)
    known = sum("\u3000" <= character <= "\u30ff" or "\u4e00" <= character <= "\u9fff" for character in characters)
    return 10 * kana >= len(characters) > 0 and 10 * known >= 9 * len(characters)


def _reads_as_korean(text: str) -> bool:
    characters = [character for character in _high(text) if character not in _PUNCTUATION]
    return 10 * sum(map(_is_common_hangul, characters)) >= 8 * len(characters) > 0


def _is_common_hangul(character: str) -> bool:
    return "\uac00" <= character <= "\ud7a3" and 0x30 <= _row(character, "euc_kr") <= 0x48


def _is_common(character: str) -> bool:
    """A character that East Asian text is made of: punctuation, kana, and what each country's first level holds."""
    if character in _PUNCTUATION or "\u3001" <= character <= "\u30ff" or "\uff01" <= character <= "\uff5e":
        return True
    if not "\u4e00" <= character <= "\u9fff":
        return _is_common_hangul(character)
    return 0x30 <= _row(character, "gb2312") <= 0x57 or 0x24 <= _row(character, "big5") <= 0x46


_BY_SCRIPT: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("gb18030", _reads_as_chinese),
    ("euc_jp", _reads_as_japanese),
    ("cp932", _reads_as_japanese),
    ("big5hkscs", _reads_as_traditional_chinese),
    ("cp949", _reads_as_korean),
    ("cp874", _reads_as_thai),
)
_CHECKS = dict(_BY_SCRIPT)
