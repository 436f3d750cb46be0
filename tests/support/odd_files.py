"""Files as users have them and no one expects them; each with the outcome that ingestion owes it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from docx.document import Document
from office_files import docx_file, pptx_file, with_part, xlsx_file, zip_file
from pdf_files import Piece, encrypted, paragraph, pdf_file

from citewell.model import FileStatus

CHINESE = "数据库连接池耗尽时先扩容再重启网关"
TRADITIONAL = "網關重啟之前先檢查資料庫連接池是否已經耗盡"
JAPANESE = "データベースの接続プールが枯渇したときは、まず拡張してください"
KOREAN = "데이터베이스 연결 풀이 고갈되면 먼저 확장하세요"
RUSSIAN = "Сервер не отвечает: ошибка 502, перезапустите шлюз"
FRENCH = "Après la panne, les serveurs ont été redémarrés à 8 € l’unité"
ARABIC = "أعد تشغيل البوابة عندما ينفد تجمع الاتصالات"
GRAPHEMES = "e\u0301 n\u0303 \U0001f469\u200d\U0001f692 \U0001f1e9\U0001f1ea \u0928\u093f \u1112\u1161\u11ab"


@dataclass(frozen=True, slots=True)
class Odd:
    """A file and its outcome.

    Attributes:
        detail: of the report, in full.
        texts: of the chunks, in order; None where the sizes are left to the splitter, and `said` stands in them.
        said: texts that stand in the chunks.
    """

    name: str
    data: bytes
    status: FileStatus
    detail: str = ""
    texts: tuple[str, ...] | None = ()
    said: tuple[str, ...] = ()


def added(name: str, data: bytes, *texts: str, detail: str = "") -> Odd:
    return Odd(name, data, "added", detail, texts)


def no_text(name: str, data: bytes, detail: str) -> Odd:
    return Odd(name, data, "no_text", detail)


def failed(name: str, data: bytes, detail: str) -> Odd:
    return Odd(name, data, "failed", detail)


def _merged(document: Document) -> None:
    table = document.add_table(3, 2)
    for row, cells in enumerate((("Test", "Method"), ("A", "blood"), ("B", ""))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(1, 1).merge(table.cell(2, 1)).text = "blood"


_NOTEBOOK = {
    "nbformat": 4,
    "metadata": {"language_info": {"name": "python"}},
    "cells": [
        {
            "cell_type": "code",
            "source": "run()",
            "outputs": [{"output_type": "stream", "text": "\x1b[31mfailed\x1b[0m: pool is empty\n"}],
        }
    ],
}
_MAIL = b"""From: =?gb2312?B?1cXI/Q==?= <zhang@shop.example>
Subject: =?GB2312?B?sunRr8Gsvdaz2A==?=
MIME-Version: 1.0
Content-Type: text/html; charset=gb2312
Content-Transfer-Encoding: quoted-printable

<html><body><p>=CA=FD=BE=DD=BF=E2=C1=AC=BD=D3=B3=D8=BA=C4=BE=
=A1</p></body></html>
"""
_SCAN = pdf_file([[]], picture=True)
_PAGE = pdf_file([paragraph("Restart the gateway.")])
_SPREAD = xlsx_file({"Sums": [["n", "double"], [2, "=A2*2"]]})
_REGIONS = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    b'<row r="1"><c r="A1" t="inlineStr"><is><t>region</t></is></c><c r="B1" t="inlineStr"><is><t>n</t></is></c></row>'
    b'<row r="2"><c r="A2" t="inlineStr"><is><t>North</t></is></c><c r="B2"><v>1</v></c></row>'
    b'<row r="3"><c r="B3"><f>B2+1</f><v>2</v></c></row></sheetData>'
    b'<mergeCells><mergeCell ref="A2:A3"/></mergeCells></worksheet>'
)
_BOMB = zip_file({"word/document.xml": b"<w>" + b" " * 100_000_000 + b"</w>"})
_ALIASES = b'a: &a ["ha", "ha"]\n' + b"".join(
    b"%c: &%c [%s]\n" % (98 + step, 98 + step, b", ".join([b"*%c" % (97 + step)] * 9)) for step in range(12)
)
_HEADED = [
    [Piece(50, 770, f"Shop manual, page {number}"), *paragraph(f"Chapter text {number}.")] for number in (1, 2, 3, 4)
]

ODD_FILES = (
    # Encodings
    added("gbk.txt", CHINESE.encode("gbk"), CHINESE, detail="read as gb18030"),
    added("big5.txt", TRADITIONAL.encode("big5"), TRADITIONAL, detail="read as big5hkscs"),
    added("shift_jis.txt", JAPANESE.encode("shift_jis"), JAPANESE, detail="read as cp932"),
    added("euc_jp.txt", JAPANESE.encode("euc_jp"), JAPANESE, detail="read as euc-jp"),
    added("iso2022.txt", JAPANESE.encode("iso2022_jp"), JAPANESE, detail="read as iso2022-jp-2"),
    added("euc_kr.txt", KOREAN.encode("euc_kr"), KOREAN, detail="read as cp949"),
    added("koi8.txt", RUSSIAN.encode("koi8-r"), RUSSIAN, detail="read as koi8-r"),
    added("cp1251.md", RUSSIAN.encode("cp1251"), RUSSIAN, detail="read as cp1251"),
    added("cp1252.txt", FRENCH.encode("cp1252"), FRENCH, detail="read as cp1252"),
    added("utf16.txt", CHINESE.encode("utf-16-le"), CHINESE, detail="read as utf-16-le"),
    added(
        "utf16be.txt",
        b"a plain line\nof Latin text\n".decode().encode("utf-16-be"),
        "a plain line\nof Latin text",
        detail="read as utf-16-be",
    ),
    added("utf32.txt", CHINESE.encode("utf-32"), CHINESE, detail="read as utf-32-le"),
    added("declared.html", b"<meta charset=gb2312><p>" + CHINESE.encode("gbk"), CHINESE, detail="read as gb18030"),
    added(
        "latin.xml",
        '<?xml version="1.0" encoding="iso-8859-1"?><a>Größe</a>'.encode("latin-1"),
        '<?xml version="1.0" encoding="iso-8859-1"?><a>Größe</a>',
        detail="read as cp1252",
    ),
    failed(
        "cut.txt",
        b"\xff\xfe\x00",
        "it begins with the mark ff fe of utf-16-le but is not valid utf-16-le. Save it as UTF-8.",
    ),
    failed(
        "noise.txt",
        bytes(range(128, 256)) * 4,
        "its encoding can't be told: it is not UTF-8 (byte 80 on line 1), and reads like a language in no other. "
        "Save it as UTF-8.",
    ),
    failed("controls.txt", b"\x01\x02\x03text" * 20, "it is binary: 60 of its first 140 characters are controls"),
    added(
        "clean.txt",
        b"one\r\ntwo\x00 three\rfour of many words in a line\n",
        "one\ntwo three\nfour of many words in a line",
    ),
    added("graphemes.txt", GRAPHEMES.encode(), GRAPHEMES),
    added("rtl.md", f"# {ARABIC}\n".encode(), f"# {ARABIC}"),
    # Nothing in it
    no_text("empty.pdf", b"", "it is empty"),
    no_text("blank.md", b" \r\n\t\n", "it is empty"),
    no_text("invisible.md", "\u200b\ufeff \u2060".encode(), "there is no text in it"),
    no_text("fields.md", b"---\ntitle: T\n---\n", "there is no text in it"),
    no_text("empty.docx", docx_file([]), "there is no text in it"),
    no_text("scan.pdf", _SCAN, "its one page holds no text, perhaps images of it; it needs OCR"),
    no_text("locked.pdf", encrypted(_PAGE, "key"), "it is a PDF file protected by a password; save it without one"),
    no_text(
        "locked.xlsx",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 504 + "EncryptedPackage".encode("utf-16-le"),
        "it is an Office document protected by a password; save it without one",
    ),
    # Damaged, or something else
    failed("cut.pdf", _PAGE[:300], "the PDF is damaged or cut short. Open it in its own program and save it again."),
    failed(
        "zipped.docx",
        zip_file({"a.txt": b"text"}),
        "it is a ZIP archive, which can't be read. Convert it, or leave it out.",
    ),
    failed(
        "cut.docx",
        docx_file(["Text."])[:5000],
        "it is a damaged ZIP archive or Office document, which can't be read. Convert it, or leave it out.",
    ),
    failed(
        "picture.md",
        b"\x89PNG\r\n\x1a\n" + b"\x00" * 40,
        "it is a PNG image, which can't be read. Convert it, or leave it out.",
    ),
    failed(
        "old.docx",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600,
        "it is an Office document of the time before 2007, which can't be read. Convert it, or leave it out.",
    ),
    failed(
        "bomb.docx",
        _BOMB,
        f"it unpacks to 100,000,007 bytes, {100_000_007 // len(_BOMB)} times its size. "
        "Split the document, or save its text in another format.",
    ),
    failed("deep.html", b"<div>" * 5_000 + b"text", "its elements nest deeper than 1000. Save it anew, or as text."),
    added("pdf.txt", _PAGE, "Restart the gateway.", detail="it is a PDF file, not plain text, and read as such"),
    added("text.pdf", b"just words", "just words", detail="it is plain text, not a PDF file, and read as such"),
    added(
        "page.md",
        b"<!doctype html><html><body><p>Hello",
        "Hello",
        detail="it is an HTML page, not Markdown, and read as such",
    ),
    # Documents
    added("merged.docx", docx_file(_merged), "| Test | Method |\n| --- | --- |\n| A | blood |\n| B | blood |"),
    added("sums.xlsx", _SPREAD, "## Sums\n\n| n | double |\n| --- | --- |\n| 2 | =A2*2 |"),
    added(
        "merged.xlsx",
        with_part(_SPREAD, "xl/worksheets/sheet1.xml", _REGIONS),
        "## Sums\n\n| region | n |\n| --- | --- |\n| North | 1 |\n| North | 2 |",
    ),
    added(
        "slides.pptx",
        pptx_file([("Pools", [(0, "Grow them")], "Slowly.")]),
        "## Pools\n\nGrow them\n\nNotes:\n\nSlowly.",
    ),
    Odd("headed.pdf", pdf_file(_HEADED), "added", texts=None, said=("Chapter text 1.", "Chapter text 4.")),
    added("notebook.ipynb", json.dumps(_NOTEBOOK).encode(), "```python\nrun()\n```\n\n```\nfailed: pool is empty\n```"),
    added("mail.eml", _MAIL, "From: 张三 <zhang@shop.example>\nSubject: 查询连街池\n\n数据库连接池耗尽"),
    added(
        "semicolons.csv",
        b'name;price;note\ntea;1,5;"hot\nor cold"\n',
        "| name | price | note |\n| --- | --- | --- |\n| tea | 1,5 | hot<br>or cold |",
    ),
    added(
        "records.jsonl",
        b'{"a": 1}\n{broken\n{"b": {"c": 2}}\n',
        "a: 1\n\n{broken\n\nb.c: 2",
        detail="line 2 is no valid JSON and kept as text",
    ),
    Odd(
        "aliases.yaml",
        _ALIASES,
        "added",
        texts=None,
        said=('a: &a ["ha", "ha"]', "m: &m [*l, *l, *l, *l, *l, *l, *l, *l, *l]"),
    ),
    Odd(
        "line.json",
        json.dumps([{"host": f"node-{number}", "port": number} for number in range(9_000)]).encode(),
        "added",
        texts=None,
        said=("[0].host: node-0", "[8999].host: node-8999"),
    ),
    Odd(
        "table.csv",
        b"id,name\n" + b"".join(b"%d,item %d\n" % (number, number) for number in range(5_000)),
        "added",
        texts=None,
        said=("| 0 | item 0 |", "| 4999 | item 4999 |"),
    ),
    Odd(
        "blob.md",
        b"# Key\n\n" + b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 600,
        "added",
        texts=None,
        said=("# Key", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"),
    ),
    Odd(
        "long.txt",
        ("数据库连接池耗尽时先扩容，再重启网关。" * 300).encode(),
        "added",
        texts=None,
        said=("数据库连接池耗尽时先扩容，再重启网关。",),
    ),
)
