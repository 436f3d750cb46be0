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
_FEW = 3
_SHORT = 24
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH_BYTES = bytes(range(0x80, 0x100))
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_COMMON_PAIRS = re.compile(rb"(?:[\xb0-\xd7][\xa1-\xfe]|\xa1[\xa1-\xbf]|\xa3[\xa1-\xfe])+")
_WITHIN_WORD = re.compile(rb"[A-Za-z][\x80-\xff]{2}[A-Za-z]")
_LATIN = re.compile(rb"[A-Za-z ]")
# Letters that cp1250 has at the same bytes, or at which it has none that a word is likely to have.
_WESTERN = frozenset("abcdefghijklmnopqrstuvwxyzáâäçéëíîóôöúüß’·\xad")
# The others where they are what they seem: `è` of `père` is a vowel, no `č`; `ñ` of `año` is between two, as no `ń`.
_IN_PLACE = re.compile(
    r"(?<=[aeiouáéíóú])ñ(?=[aeiouáéíóú])|(?<![aeoy])è(?![aeiouyáéíóú])|ê(?=[a-z])|[ûàå]|ã(?=[oe]|$)|õ(?=e)|ï(?=[a-z])"
    r"|ø(?=[b-df-hj-np-tv-xz]|$)|(?<![aeiouy])æ(?=[b-df-hj-np-tv-xz])|œ(?=[ui])|(?:(?<=os)ì|[òù])$"
)
_GLUED = re.compile(r"[A-Za-z]{3}[¹³¼½¾±¶¿¬¥£¢¡¦]|[¹³¼½¾±¶¬¥¢¡¦][A-Za-z]{2}")
_SYLLABLES = frozenset(
    "이다는에의을가고지한로하기사리자도인은대시어나해일정아그를전스수보서제주라들과부상조여동장원성구유만있신공비우미오세안"
    "연문관소계경산국분선무실게내위각모물방면러회화진학입으체까되와데터베템버네트워크설파류결드프램코메작업용요청응답결과"
    "재배처음확습니될때없않못중단본생활발급간치저출력값초반환행번호표현차드래드웨맞춰등록키검색료목재것거더니까된"
)
"""Syllables that every other one of a Korean text is among."""


def guess_encoding(data: bytes) -> str | None:
    """The name of an encoding in which all of `data` decodes and reads sensibly; None if there is none."""
    sample = _telling(data)
    if (thin := _by_little(data, sample)) is not None:
        return thin
    for encoding, reads_well in [*_ranked(sample), *_BY_SCRIPT]:
        if _try(data, encoding) is not None and reads_well(sample.decode(encoding, "ignore")):
            return encoding
    return None


def is_damaged_utf8(data: bytes) -> bool:
    """Whether most of what goes beyond ASCII is valid UTF-8: one bad byte makes a text no other encoding's."""
    valid = sum(map(len, _SEQUENCE.findall(data)))
    return valid > 2 * (len(data) - len(data.translate(None, _HIGH_BYTES)) - valid)


def _by_little(data: bytes, sample: bytes) -> str | None:
    """What bytes are in that say too little for a model of languages; None if they say more, or fit nothing here.

    Signs and accented letters in their places are Western; pairs that are all common Chinese characters, Chinese.
    """
    words = {word for match in _HIGH_RUN.finditer(sample) if (word := match.group())}
    if _try(data, "cp949") is not None and _is_surely_korean(sample.decode("cp949", "ignore")):
        return "cp949"
    if _try(data, "cp1252") is not None and _reads_as_western(sample.decode("cp1252", "ignore")):
        return "cp1252"
    pairs = all(_COMMON_PAIRS.fullmatch(word) for word in words) and not _WITHIN_WORD.search(sample)
    return "gb18030" if pairs and len(words) <= _FEW and _try(data, "gb18030") is not None else None


def _reads_as_western(text: str) -> bool:
    """Signs, and words in which each accented letter stands where a Western language has it."""
    if _GLUED.search(text):
        return False
    words = {stripped for match in _WORD.finditer(text) if (stripped := match.group().strip(_TYPOGRAPHY))}
    return all(_is_word(word) and set(_IN_PLACE.sub("", word.lower())) <= _WESTERN for word in words)


def _is_surely_korean(text: str) -> bool:
    """Bytes in another encoding hit one frequent syllable in ten."""
    syllables = [character for character in _high(text) if character not in _PUNCTUATION]
    return len(syllables) > 1 and 3 * sum(each in _SYLLABLES for each in syllables) >= 2 * len(syllables)


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
    if len(sample) <= _SHORT and 4 * len(_LATIN.findall(sample)) >= 3 * len(sample):  # `café` is two of them as well
        return False
    text = sample.decode(encoding, "ignore")  # the sample may end within a character
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
    if len(scripts - {"marks"}) != 1 or None in scripts or (scripts == {"Latin"} and _has_no_plain_letter(word)):
        return False
    return word.islower() or word.isupper() or word[1:].islower() or word.lower() == word.upper()


def _has_no_plain_letter(word: str) -> bool:
    """Of a word in Latin letters: no language writes three accented ones in a row and nothing else."""
    letters = [character for character in word if character.isalpha()]
    return len(letters) > 1 and all(character > "\x7f" for character in letters)


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
    if letters < 2 or any("\ue000" <= character <= "\uf8ff" for character in characters):
        return False
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
    return len(characters) > 1 and 10 * sum(
        0x21 <= _row(character, "big5") <= 0x46 for character in characters
    ) >= 9 * len(characters)


def _reads_as_japanese(text: str) -> bool:
    characters = _high(text)
    kana = sum("\u3041" <= character <= "\u30ff" for character in characters)
    known = sum("\u3000" <= character <= "\u30ff" or "\u4e00" <= character <= "\u9fff" for character in characters)
    return 10 * kana >= len(characters) > 1 and 10 * known >= 9 * len(characters)


def _reads_as_korean(text: str) -> bool:
    characters = [character for character in _high(text) if character not in _PUNCTUATION]
    frequent = sum(each in _SYLLABLES for each in characters)
    common = sum(map(_is_common_hangul, characters))
    return len(characters) > 1 and 10 * common >= 8 * len(characters) and 3 * frequent >= len(characters)


def _is_common_hangul(character: str) -> bool:
    return "\uac00" <= character <= "\ud7a3" and 0x30 <= _row(character, "euc_kr") <= 0x48


def _is_common(character: str) -> bool:
    """A character that East Asian text is made of: punctuation, kana, and what each country's first level holds."""
    if character in _PUNCTUATION or "\u3001" <= character <= "\u30ff" or "\uff01" <= character <= "\uff5e":
        return True
    if "\u0370" <= character <= "\u06ff" or "\u0e00" <= character <= "\u0e7f":
        return not character.isspace()  # in UTF-16, half of their bytes are controls: no other text has those
    if not "\u4e00" <= character <= "\u9fff":
        return _is_common_hangul(character)
    if 0x30 <= _row(character, "gb2312") <= 0x57 or 0x24 <= _row(character, "big5") <= 0x46:
        return True
    return 0x30 <= _row(character, "euc_jp") <= 0x4F


_BY_SCRIPT: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("gb18030", _reads_as_chinese),
    ("euc_jp", _reads_as_japanese),
    ("cp932", _reads_as_japanese),
    ("big5hkscs", _reads_as_traditional_chinese),
    ("cp949", _reads_as_korean),
    ("cp874", _reads_as_thai),
)
_CHECKS = dict(_BY_SCRIPT)
