"""Bytes become clean text or are refused by name (INGEST-2)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.readers import declared
from citewell.adapters.readers.decode import Decoded, clean, decode
from citewell.errors import IngestError

CHINESE = "数据库连接池耗尽时先扩容再重启网关"


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gbk", "gb2312", "gb18030"])
def test_one_chinese_sentence_reads_the_same_in_every_encoding(encoding: str) -> None:
    """Trial I114; `utf-16` and `utf-32` write a byte order mark of their own."""
    assert decode(CHINESE.encode(encoding)).text == CHINESE


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize(("mark", "encoding"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
def test_utf_16_is_told_by_its_mark(mark: bytes, encoding: str) -> None:
    """Trial I114."""
    assert decode(mark + CHINESE.encode(encoding)).text == CHINESE
    assert decode(mark + CHINESE.encode(encoding)).encoding == encoding


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        CHINESE,
        "这是一个测试",
        "網關重啟之前先檢查資料庫",
        "データベースの接続プール",
        "데이터베이스 연결 풀이 고갈되면\n",
    ],
)
def test_utf_16_without_a_mark_is_told_by_common_characters(encoding: str, text: str) -> None:
    assert (decode(text.encode(encoding)).text, decode(text.encode(encoding)).encoding) == (text, encoding)


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_by_its_zero_bytes(encoding: str) -> None:
    assert decode("requests==2.31\r\nnumpy==1.26\r\n".encode(encoding)).text == "requests==2.31\nnumpy==1.26\n"


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("網關重啟之前先檢查資料庫連接池是否已經耗盡", "big5"),
        ("データベースの接続プールが枯渇したときは、まず拡張してください", "shift_jis"),
        ("データベースの接続プールが枯渇したときは、まず拡張してください", "euc_jp"),
        ("接続上限値到達時再起動手順書をまず確認", "euc_jp"),
        ("데이터베이스 연결 풀이 고갈되면 먼저 확장하세요", "euc_kr"),
        ("Перед перезапуском шлюза проверьте базу данных и очередь сообщений", "cp1251"),
        ("Après la panne, les serveurs ont été redémarrés à l'aide de la procédure prévue", "cp1252"),
        ("Größe der Tabelle überschreitet das Maß", "latin-1"),
        ("Übung macht den Meister", "latin-1"),
        ("naïve façade – “quoted” text costs 5 €", "cp1252"),
        ("Сервер не отвечает: ошибка 502", "koi8-r"),
        ("Сервер не отвечает: ошибка 502", "cp1251"),
        ("Привет, мир", "koi8-r"),
        ("Привет, мир", "cp866"),
        ("Сервер не відповідає, перевірте підключення до бази", "koi8-u"),
        ("Zażółć gęślą jaźń, proszę sprawdzić połączenie z bazą", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "iso8859-2"),
        ("Ο διακομιστής δεν ανταποκρίνεται, ελέγξτε τη σύνδεση", "iso8859-7"),
        ("השרת אינו מגיב, בדוק את החיבור למסד הנתונים", "cp1255"),
        ("الخادم لا يستجيب، تحقق من الاتصال بقاعدة البيانات", "cp1256"),
        ("เซิร์ฟเวอร์ไม่ตอบสนอง โปรดตรวจสอบการเชื่อมต่อ", "cp874"),
        ("接続プールが枯渇", "iso2022_jp"),
        ("你好，世界", "gbk"),
        ("这是一个测试", "gbk"),
        ("東京都の人口", "euc_jp"),
        ("안녕하세요", "euc_kr"),
    ],
)
def test_other_encodings_are_told_by_what_they_read_like(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (bytes(range(256)), "it is binary"),
        (b"plain \x01\x02\x03\x04\x05\x06 ascii", "it is binary"),
        (b"\xff\xfe\x00", "begins with the mark ff fe of utf-16-le but is not valid"),
        (b"\xef\xbb\xbf\xff\xff", "is not valid utf-8"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(data: bytes, cause: str) -> None:
    with pytest.raises(IngestError, match=cause):
        decode(data)


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize(
    ("declaration", "codec"),
    [
        (b'<meta charset="gb2312">', "gb18030"),
        (b"<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=Shift_JIS'>", "cp932"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?>', "cp1252"),
        (b'<meta charset="x-unknown">', None),
        (b'<meta charset="rot13">', None),
        (b'<meta charset="utf-7">', None),
        (b"<p>charset=gb2312", None),
    ],
)
def test_what_markup_declares(declaration: bytes, codec: str | None) -> None:
    assert declared.of_markup(declaration) == codec


@pytest.mark.requirement("INGEST-2")
def test_a_declaration_counts_after_utf_8_and_only_if_the_bytes_fit() -> None:
    assert decode(CHINESE.encode(), "gb18030").encoding == "utf-8"
    assert decode("Größe".encode("latin-1"), "cp1252").text == "Größe"
    assert decode(CHINESE.encode("gbk"), "utf-16").text == CHINESE
    assert decode(b"~{VPND~}", "hz").text == "中文"
    assert decode("設定".encode("shift_jis_2004"), "shift_jis_2004").encoding == "shift-jis-2004"


@pytest.mark.requirement("INGEST-2")
def test_the_encoding_is_told_by_the_lines_that_need_one() -> None:
    text = "plain English\n" * 20_000 + CHINESE
    assert decode(text.encode("gbk")).text == text
    assert decode(text.replace("\n", " ").encode("gbk")).text == text.replace("\n", " ")


@pytest.mark.requirement("INGEST-2")
def test_the_line_of_the_first_fault_is_told() -> None:
    with pytest.raises(IngestError, match=r"it is not UTF-8 \(byte 80 on line 3\)"):
        decode("café\nthé\n".encode() + bytes(range(0x80, 0xC0)))


@pytest.mark.requirement("INGEST-2")
def test_random_bytes_are_refused() -> None:
    """Trial I114."""
    chance = random.Random(7)
    accepted = 0
    for _ in range(200):
        try:
            decode(chance.randbytes(400))
            accepted += 1
        except IngestError:
            pass
    assert accepted == 0


@pytest.mark.requirement("INGEST-2")
def test_line_ends_nul_surrogates_and_the_mark_are_cleaned_and_nothing_else() -> None:
    assert clean("\ufeffa\r\nb\rc\x00d\ud800e\ufffdf\x0b\u200b") == "a\nb\ncd\ufffde\ufffdf\x0b\u200b"


@pytest.mark.requirement("INGEST-2")
def test_a_stray_nul_in_utf_8_is_cleaned_away() -> None:
    assert decode(b"one two three four five six \x00 seven").text == "one two three four five six  seven"


@pytest.mark.requirement("INGEST-2")
def test_the_encoding_is_told() -> None:
    assert [decode(CHINESE.encode(name)).encoding for name in ("utf-8", "gbk", "utf-16")] == [
        "utf-8",
        "gb18030",
        "utf-16-le",
    ]


@pytest.mark.requirement("INGEST-2")
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_utf_8_text_without_control_characters_comes_back_as_it_is(text: str) -> None:
    assert decode(text.encode("utf-8")).text == text.removeprefix("\ufeff")


@pytest.mark.requirement("INGEST-2")
@given(st.binary(max_size=200))
def test_whatever_comes_in_is_clean_text_or_an_ingest_error(data: bytes) -> None:
    try:
        text = decode(data).text
    except IngestError:
        return
    assert not {"\r", "\x00"} & set(text)
    text.encode("utf-8")


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *(
            (word, "cp1252")
            for word in ("café", "naïve", "El Niño", "« hi »", "5 €", "§ 5", "© 2020", "garçon", "père")
        ),
        *((word, "cp1252") for word in ("coût élevé", "a\xa0b", "10°", "São Paulo", "Ångström", "Ærø", "don’t", "É")),
        *((word, "cp1250") for word in ("Błąd połączenia", "Łódź", "nastavení sítě", "příliš")),
        *((word, "gb18030") for word in ("连接池", "配置", "重启网关")),
        *((word, "cp949") for word in ("연결 풀", "오류", "데이터베이스")),
        *((word, "cp1251") for word in ("Сервер", "ошибка")),
        *(
            (word, "utf-16-le")
            for word in ("Привет мир", "Καλημέρα κόσμε", "مرحبا بالعالم", "東京に住んでいます", "続ける")
        ),
        *((word, "utf-16-be") for word in ("Привет", "שלום עולם", "สวัสดีชาวโลก", "データベースの接続が枯渇した")),
    ],
)
@pytest.mark.parametrize("around", ["{}", "The gateway was restarted. {}. It is slow.\n", "| key | {} |\n"])
def test_a_few_words_are_told_even_among_english_ones(text: str, encoding: str, around: str) -> None:
    """A model of languages has nothing to go by in one word; a wrong guess would be stored without a word."""
    written = around.format(text)
    assert decode(written.encode(encoding)).text == written


@pytest.mark.requirement("INGEST-2")
@pytest.mark.parametrize("text", ["Grow the pool – slowly.", "数据库连接池", "Après la panne", "Сервер не отвечает"])
@pytest.mark.parametrize("fault", [b"\xff", b"\xe9", b"\xc3", b"\x92", b"\xa0"])
def test_utf_8_with_one_bad_byte_is_refused_with_its_line_instead_of_read_as_something_else(
    text: str, fault: bytes
) -> None:
    """Read as cp1252, its dashes and letters would be two or three wrong ones each."""
    with pytest.raises(IngestError, match=f"it is not UTF-8 \\(byte {fault.hex()} on line 2\\)"):
        decode(f"{text}\n".encode() + fault + f" {text}\n".encode())


@pytest.mark.requirement("INGEST-2")
def test_a_character_at_the_end_of_the_sample_does_not_hide_utf_16() -> None:
    text = "数据" * 16_383 + "中\U0001f469" * 3
    assert decode(text.encode("utf-16-le")) == Decoded(text, "utf-16-le")
