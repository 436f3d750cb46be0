"""Answers of agents and what the guard must say of them: every citation, in order, as written, its verdict and its key.

The world they speak of is small: SHOWN was shown with these digests, KNOWN exists within the caller's scope.
"""

from __future__ import annotations

from typing import NamedTuple

from citewell.model import KnownChunk

DISK = "The disk is slow because fsync takes 40 ms. Restart the gateway within 5 minutes."

SHOWN = {
    "docA#chunk-1": "d",
    "docA#chunk-2": "d",
    "docA#chunk-12": "d",
    "alpha#chunk-1": "d",
    "docs/etcd.md#chunk-0": "d",
    "etcd#chunk-5": "d",
    "my notes.md#chunk-2": "d",
    "snake_case_doc#chunk-3": "d",
    "old[1].md#chunk-4": "d",
    "a(b).md#chunk-0": "d",
    "a, b; c.md#chunk-0": "d",
    'the "best" way.md#chunk-1': "d",
    "C&A.md#chunk-1": "d",
    "café.md#chunk-0": "d",
    "`tick`.md#chunk-0": "d",
    "win\\dir\\x.md#chunk-1": "d",
    "https://kb.example/p?q=1#chunk-3": "d",
    "x#chunk-1#chunk-2": "d",
    "42#chunk-0": "d",
    "手册#chunk-3": "d",
    "运维手册.md#chunk-1": "d",
    "z#chunk-0": "d",
    "[z#chunk-0": "d",
    "vector:7": "d",
    "vector:7 b": "d",
    "vector:x [z#chunk-0": "d",
    "plan.md#chunk-2": "d",
    "my plan.md#chunk-2": "d",
    "vector:a b": "d",
    "content:0123456789abcdef": "d",
    "stale.md#chunk-0": "old",
    "gone.md#chunk-0": "d",
}
NOT_SHOWN = (
    "docB#chunk-1",
    "docC.md#chunk-0",
    "77#chunk-0",
    "x#chunk-0",
    "docA#chunk-3",
    "your notes.md#chunk-2",
    "old/docA#chunk-1",
    "手册#chunk-4",
    "vector:8",
    "content:fedcba9876543210",
)
KNOWN = {key: KnownChunk("d", DISK) for key in (*SHOWN, *NOT_SHOWN) if key != "gone.md#chunk-0"}
"""`secret.md#chunk-0` exists outside the scope, `gone.md#chunk-0` no more; here both are missing alike."""


class Cited(NamedTuple):
    """One citation that is expected."""

    raw: str
    verdict: str
    key: str | None


class Row(NamedTuple):
    """An answer, the citations in it, and the ids in its code."""

    answer: str
    cited: tuple[Cited, ...]
    in_code: tuple[Cited, ...] = ()


def shown(raw: str, key: str = "") -> Cited:
    return Cited(raw, "shown", key or raw)


def not_shown(raw: str, key: str = "") -> Cited:
    return Cited(raw, "not_shown", key or raw)


def unknown(raw: str) -> Cited:
    return Cited(raw, "unknown", None)


def ambiguous(raw: str) -> Cited:
    return Cited(raw, "ambiguous", None)


def stale(raw: str) -> Cited:
    return Cited(raw, "stale", raw)


A1, A2, A12 = shown("docA#chunk-1"), shown("docA#chunk-2"), shown("docA#chunk-12")

ROWS: dict[str, Row] = {
    # Plain English
    "nothing is cited": Row("The disk is slow. Restart it (twice) [sic].", ()),
    "square brackets": Row("The disk is slow [docA#chunk-1].", (A1,)),
    "round brackets": Row("The disk is slow (docA#chunk-1).", (A1,)),
    "bare": Row("As docA#chunk-1 says, the disk is slow.", (A1,)),
    "bare at the end of a sentence": Row("Look at docA#chunk-1.", (A1,)),
    "the same twice": Row("[docA#chunk-1] and again [docA#chunk-1]", (A1, A1)),
    "several in one bracket, by commas": Row("[docA#chunk-1, docA#chunk-2]", (A1, A2)),
    "several in one bracket, by semicolons": Row("[docA#chunk-1;docA#chunk-12]", (A1, A12)),
    "several in one bracket, by spaces": Row(
        "[docA#chunk-1 docB#chunk-1 docA#chunk-2]", (A1, not_shown("docB#chunk-1"), A2)
    ),
    "several in one bracket, by words": Row("[docA#chunk-1 and docA#chunk-2]", (A1, A2)),
    "several by a slash": Row("docA#chunk-1/docA#chunk-2", (A1, A2)),
    "brackets side by side": Row("slow [docA#chunk-1][docA#chunk-2]", (A1, A2)),
    "nested brackets": Row(
        "slow [[docA#chunk-1]] ([docA#chunk-2], [docB#chunk-1])", (A1, A2, not_shown("docB#chunk-1"))
    ),
    "a bracket that never closes": Row("slow [docA#chunk-1 and so on", (A1,)),
    "angle brackets": Row("slow <docA#chunk-1>", (A1,)),
    "braces": Row("slow {docA#chunk-1}", (A1,)),
    "emphasis": Row("**docA#chunk-1** _docA#chunk-2_ *docA#chunk-12* ~~docA#chunk-1~~", (A1, A2, A12, A1)),
    "quotation marks around the id": Row('"docA#chunk-1" and “docA#chunk-2”', (A1, A2)),
    "punctuation around the id": Row("…docA#chunk-1! docA#chunk-2? -docA#chunk-12:", (A1, A2, A12)),
    "possessive": Row("docA#chunk-1's first line", (A1,)),
    "label evidence": Row("[evidence: docA#chunk-1]", (A1,)),
    "label without a space": Row("evidence:docA#chunk-1 document_id=docA#chunk-2", (A1, A2)),
    "label source": Row("Source: docA#chunk-1", (A1,)),
    "label in words": Row("(see also docA#chunk-1)", (A1,)),
    "numbered label": Row("[1: docA#chunk-1]", (A1,)),
    # What the guard is for
    "an invented chunk of a shown document": Row(
        "[alpha#chunk-99] and [alpha#chunk-1]", (unknown("alpha#chunk-99"), shown("alpha#chunk-1"))
    ),
    "exists, but was not shown": Row("slow [docB#chunk-1]", (not_shown("docB#chunk-1"),)),
    "another chunk of a shown document": Row("slow [docA#chunk-3]", (not_shown("docA#chunk-3"),)),
    "outside the scope": Row("slow [secret.md#chunk-0]", (unknown("secret.md#chunk-0"),)),
    "shown once, and gone since": Row("slow [gone.md#chunk-0]", (unknown("gone.md#chunk-0"),)),
    "shown, and changed since": Row("slow [stale.md#chunk-0]", (stale("stale.md#chunk-0"),)),
    "an invented document": Row("slow [nothing/at-all.md#chunk-0]", (unknown("nothing/at-all.md#chunk-0"),)),
    "good and bad in one bracket": Row("[docA#chunk-1, docA#chunk-9]", (A1, unknown("docA#chunk-9"))),
    # Prefixes and suffixes
    "an id that begins with another": Row("docA#chunk-12", (A12,)),
    "an id that no shown one is, but begins with two": Row("docA#chunk-123", (unknown("docA#chunk-123"),)),
    "letters before": Row("xdocA#chunk-1", (unknown("xdocA#chunk-1"),)),
    "letters after": Row("docA#chunk-1x", (unknown("docA#chunk-1x"),)),
    "letters after in brackets": Row("[docA#chunk-1abc]", (unknown("docA#chunk-1abc"),)),
    "a folder before that doesn't exist": Row("[new/docA#chunk-1]", (unknown("new/docA#chunk-1"),)),
    "a folder before that exists": Row("[old/docA#chunk-1]", (not_shown("old/docA#chunk-1"),)),
    "a hyphen before": Row("[pre-docA#chunk-1]", (unknown("pre-docA#chunk-1"),)),
    "a word before that makes it another id": Row("[your notes.md#chunk-2]", (not_shown("your notes.md#chunk-2"),)),
    "the same in running text": Row("see your notes.md#chunk-2 for it", (not_shown("your notes.md#chunk-2"),)),
    "a fraction after": Row("docA#chunk-1.5", (unknown("docA#chunk-1.5"),)),
    "a range after": Row("docA#chunk-1-2", (unknown("docA#chunk-1-2"),)),
    "a range with a dash": Row("docA#chunk-1–3", (unknown("docA#chunk-1–3"),)),
    "a second mark": Row("docA#chunk-1#chunk-2", (unknown("docA#chunk-1#chunk-2"),)),
    "a document id that holds the mark": Row("[x#chunk-1#chunk-2]", (shown("x#chunk-1#chunk-2"),)),
    "the first half of it": Row("[x#chunk-1]", (unknown("x#chunk-1"),)),
    "a file name after": Row("docA#chunk-1.md", (unknown("docA#chunk-1.md"),)),
    "an underscore and letters after": Row("docA#chunk-1_old", (unknown("docA#chunk-1_old"),)),
    "no document before the mark": Row("[#chunk-1]", (unknown("#chunk-1"),)),
    "an id glued to another": Row("docA#chunk-1docA#chunk-2", (unknown("docA#chunk-1docA#chunk-2"),)),
    # Case, width and other ways to copy badly
    "upper case": Row("[DOCA#chunk-1]", (unknown("DOCA#chunk-1"),)),
    "upper case in the mark": Row("[docA#Chunk-1]", (unknown("docA#Chunk-1"),)),
    "full width": Row("[docA＃chunk－１]", (unknown("docA＃chunk－１"),)),
    "a full-width digit after": Row("[docA#chunk-1２]", (unknown("docA#chunk-1２"),)),
    "a leading zero": Row("[docA#chunk-01]", (unknown("docA#chunk-01"),)),
    "a negative index": Row("[docA#chunk--1]", (unknown("docA#chunk--1"),)),
    "a decimal index": Row("[docA#chunk-1.0]", (unknown("docA#chunk-1.0"),)),
    "an index of thirty digits": Row(f"[docA#chunk-{'9' * 30}]", (unknown(f"docA#chunk-{'9' * 30}"),)),
    "an underscore for the hyphen": Row("[docA#chunk_1]", (unknown("docA#chunk_1"),)),
    "another hyphen": Row("[docA#chunk‑1]", (unknown("docA#chunk‑1"),)),
    "a Cyrillic letter that looks alike": Row("[dосA#chunk-1]", (unknown("dосA#chunk-1"),)),
    "decomposed accents": Row("[cafe\u0301.md#chunk-0]", (shown("cafe\u0301.md#chunk-0", "café.md#chunk-0"),)),
    "invisible characters within": Row(
        "[do\u200bcA#chu\u00adnk-1]", (shown("do\u200bcA#chu\u00adnk-1", "docA#chunk-1"),)
    ),
    "invisible characters around": Row("[\ufeffdocA#chunk-1\u2060]", (A1,)),
    "an escaped mark": Row(r"[docA\#chunk-1]", (shown(r"docA\#chunk-1", "docA#chunk-1"),)),
    "escaped brackets": Row(r"\[docA#chunk-1\]", (A1,)),
    "escaped underscores": Row(
        r"[snake\_case\_doc#chunk-3]", (shown(r"snake\_case\_doc#chunk-3", "snake_case_doc#chunk-3"),)
    ),
    "underscores of its own": Row("see snake_case_doc#chunk-3", (shown("snake_case_doc#chunk-3"),)),
    "HTML references": Row(
        "[docA&#35;chunk-1] [C&amp;A.md#chunk-1]",
        (shown("docA&#35;chunk-1", "docA#chunk-1"), shown("C&amp;A.md#chunk-1", "C&A.md#chunk-1")),
    ),
    "JSON escapes": Row(
        r'["old\u005b1\u005d.md#chunk-4"]', (shown(r"old\u005b1\u005d.md#chunk-4", "old[1].md#chunk-4"),)
    ),
    "put together from document and number": Row(
        "[docA chunk 2] [docA:2]", (unknown("docA chunk 2"), unknown("docA:2"))
    ),
    "put together from document and heading": Row("[docA#diagnosis]", (unknown("docA#diagnosis"),)),
    # Put together, marked up or addressed instead of copied
    "a percent-encoded id that is no link": Row(
        "see docA%23chunk-1 [docA%23chunk-9]", (unknown("docA%23chunk-1"), unknown("docA%23chunk-9"))
    ),
    "Citewell's own address": Row(
        "[disk](citewell:///docA%23chunk-1) citewell:///docs/etcd.md%23chunk-0. <citewell:///docA%23chunk-9>",
        (
            shown("citewell:///docA%23chunk-1", "docA#chunk-1"),
            shown("citewell:///docs/etcd.md%23chunk-0", "docs/etcd.md#chunk-0"),
            unknown("citewell:///docA%23chunk-9"),
        ),
    ),
    "Citewell's own address of a vector": Row(
        "(citewell:///vector%3A7)", (shown("citewell:///vector%3A7", "vector:7"),)
    ),
    "a space within the mark": Row(
        "[docB# chunk-1] docA# chunk-1", (unknown("docB# chunk-1"), unknown("docA# chunk-1"))
    ),
    "other signs within the mark": Row(
        "docA#chunk:1 docA#chunk.1 [docA#chunk/1] docA#chunk=1",
        (unknown("docA#chunk:1"), unknown("docA#chunk.1"), unknown("docA#chunk/1"), unknown("docA#chunk=1")),
    ),
    "the mark in the plural": Row("[docB#chunks-9]", (unknown("docB#chunks-9"),)),
    "a number in bold within the mark": Row("docA#chunk-**9**", (unknown("docA#chunk-**9"),)),
    "a number in bold after an id": Row("docA#chunk-1**2**", (unknown("docA#chunk-1**2"),)),
    "an emphasis that ends after an id": Row("**see docA#chunk-1** and *docA#chunk-2*, then 2", (A1, A2)),
    "numbers for further chunks": Row(
        "[docA#chunk-1, 9] [docA#chunk-2; 7, 8]",
        (A1, unknown("9"), A2, unknown("7"), unknown("8")),
    ),
    "numbers for further chunks, by words": Row(
        "[docA#chunk-1 and 9] 【docA#chunk-2、9】（docA#chunk-1和9）",
        (A1, unknown("9"), A2, unknown("9"), A1, unknown("9")),
    ),
    "a range of chunks": Row(
        "[docA#chunk-1 - 9] [docA#chunk-1...9] [docA#chunk-1 to 9]",
        (A1, unknown("- 9"), A1, unknown("...9"), A1, unknown("to 9")),
    ),
    "numbers that stand for no chunk": Row(
        "[docA#chunk-1, 40 ms] [docA#chunk-1, p. 9] docA#chunk-2, 9 (docA#chunk-1: 9)", (A1, A1, A2, A1)
    ),
    "a chunk of an unknown document, put together": Row(
        "[docZ chunk 2] [docZ-chunk-2] [docs/z.md: chunk 4]",
        (unknown("docZ chunk 2"), unknown("docZ-chunk-2"), unknown("docs/z.md: chunk 4")),
    ),
    "a chunk of nothing": Row("[chunk 3] [see chunk 3] (docZ chunk 2)", ()),
    "a document that exists, and of which nothing was shown": Row(
        "[docC.md] [source: docC.md] (docC.md) [page](docC.md)[^1]\n\n[^1]: docC.md\n", (ambiguous("docC.md"),) * 5
    ),
    "a document that exists in running text": Row("docC.md says so (77) [77].", ()),
    "a letter in brackets, though a document is called so": Row("- [x] done [docA#chunk-1]", (A1,)),
    # Odd ids
    "spaces in the id": Row("[my notes.md#chunk-2] and my notes.md#chunk-2 too", (shown("my notes.md#chunk-2"),) * 2),
    "brackets in the id": Row("[old[1].md#chunk-4]", (shown("old[1].md#chunk-4"),)),
    "parentheses in the id": Row("(a(b).md#chunk-0)", (shown("a(b).md#chunk-0"),)),
    "what stands in brackets goes before a longer id that holds one": Row("[z#chunk-0]", (shown("z#chunk-0"),)),
    "that longer id": Row("[[z#chunk-0]", (shown("[z#chunk-0"),)),
    "separators in the id": Row("[a, b; c.md#chunk-0, docA#chunk-1]", (shown("a, b; c.md#chunk-0"), A1)),
    "quotes in the id": Row('[the "best" way.md#chunk-1]', (shown('the "best" way.md#chunk-1'),)),
    "backticks in the id": Row("[`tick`.md#chunk-0]", (shown("`tick`.md#chunk-0"),)),
    "backslashes in the id": Row("[win\\dir\\x.md#chunk-1]", (shown("win\\dir\\x.md#chunk-1"),)),
    "an address as the id": Row("<https://kb.example/p?q=1#chunk-3>", (shown("https://kb.example/p?q=1#chunk-3"),)),
    "a number as the id": Row("[42#chunk-0]", (shown("42#chunk-0"),)),
    "keys by vector id": Row(
        "[vector:7] vector:8 [vector:a b]", (shown("vector:7"), not_shown("vector:8"), shown("vector:a b"))
    ),
    "a longer vector id": Row("[vector:77]", (unknown("vector:77"),)),
    "a vector is a word too": Row("The feature vector: three numbers [vector:] (vector:), vector:space.", ()),
    "keys by content": Row(
        "content:0123456789abcdef [content:fedcba9876543210] content:0000000000000000",
        (shown("content:0123456789abcdef"), not_shown("content:fedcba9876543210"), unknown("content:0000000000000000")),
    ),
    "a digest in capitals": Row("[CONTENT:0123456789ABCDEF]", (unknown("CONTENT:0123456789ABCDEF"),)),
    "the longer of two vector ids in running text": Row(
        "see vector:7 b, and vector:7", (shown("vector:7 b"), shown("vector:7"))
    ),
    "what stands in brackets goes before a longer id that begins before them": Row(
        "vector:x [z#chunk-0]", (shown("z#chunk-0"),)
    ),
    "an unknown chunk of the longer of two shown documents": Row(
        "see my plan.md#chunk-7 and plan.md#chunk-7", (unknown("my plan.md#chunk-7"), unknown("plan.md#chunk-7"))
    ),
    "an escape of an escape": Row(r"[docA&amp;#35;chunk-1]", (shown("docA&amp;#35;chunk-1", "docA#chunk-1"),)),
    "a bracket that reaches across a blank line": Row("[source:\n\ndocA]", ()),
    # Documents without a chunk
    "a document in brackets": Row("slow [docA] and [docs/etcd.md]", (ambiguous("docA"), ambiguous("docs/etcd.md"))),
    "a document in running text": Row("docs/etcd.md says so, and docA too.", ()),
    "a document in round brackets": Row("(docs/etcd.md) but (etcd)", (ambiguous("docs/etcd.md"),)),
    "a document with a label": Row("[source: docA]", (ambiguous("docA"),)),
    "a document that was not shown": Row("[docB]", ()),
    # Links and footnotes
    "a link": Row("[the runbook](docA#chunk-1)", (A1,)),
    "a link with a title": Row('[the runbook](docA#chunk-1 "Disk")', (A1,)),
    "a link to what was not shown": Row("[the runbook](docB#chunk-1)", (not_shown("docB#chunk-1"),)),
    "a percent-encoded link": Row(
        "[notes](my%20notes.md%23chunk-2)", (shown("my%20notes.md%23chunk-2", "my notes.md#chunk-2"),)
    ),
    "a link in angle brackets": Row("[notes](<my notes.md#chunk-2>)", (shown("my notes.md#chunk-2"),)),
    "a link beside the page": Row(
        "[etcd](./docs/etcd.md#chunk-0)", (shown("./docs/etcd.md#chunk-0", "docs/etcd.md#chunk-0"),)
    ),
    "a link to another site": Row(
        "[etcd](https://evil.example/docA#chunk-1)", (unknown("https://evil.example/docA#chunk-1"),)
    ),
    "a link to a document": Row("[etcd](docs/etcd.md)", (ambiguous("docs/etcd.md"),)),
    "an ordinary link": Row("[docA](https://example.com/page)", ()),
    "an id as the text of a link": Row("[docA#chunk-1](docA#chunk-1)", (A1, A1)),
    "an image": Row("![a chart](docA#chunk-1)", (A1,)),
    "a reference link": Row("[the runbook][r]\n\n[r]: docA#chunk-1\n", (A1,)),
    "a footnote": Row("Slow.[^1]\n\n[^1]: docA#chunk-1\n", (A1,)),
    "a footnote in words": Row(
        "Slow.[^a] Slower.[^b]\n\n[^a]: See docA#chunk-1, the disk.\n[^b]: docB#chunk-1",
        (A1, not_shown("docB#chunk-1")),
    ),
    "a footnote with a document": Row("Slow.[^1]\n\n[^1]: docs/etcd.md\n", (ambiguous("docs/etcd.md"),)),
    "numbered sources": Row(
        "Slow [1], slower [2].\n\nSources:\n[1] docA#chunk-1\n[2] docA#chunk-9\n", (A1, unknown("docA#chunk-9"))
    ),
    # Tables and lists
    "a table": Row(
        "| cause | source |\n|---|---|\n| disk | docA#chunk-1 |\n| net | [docB#chunk-1] |\n",
        (A1, not_shown("docB#chunk-1")),
    ),
    "a list": Row("- docA#chunk-1\n- docA#chunk-2: the disk\n1. docA#chunk-7\n", (A1, A2, unknown("docA#chunk-7"))),
    "a heading": Row("## docA#chunk-1\n\nSlow.", (A1,)),
    "a quoted block": Row("> The disk is slow [docA#chunk-1]\n", (A1,)),
    # Code
    "a fenced block": Row(
        "Run:\n\n```sh\ncat docA#chunk-1 [docB#chunk-1]\n```\n\n[docA#chunk-2]", (A2,), (A1, not_shown("docB#chunk-1"))
    ),
    "a block with tildes": Row("~~~\ndocA#chunk-99\n~~~\n", (), (unknown("docA#chunk-99"),)),
    "a block that never closes": Row("[docA#chunk-2]\n```\ndocA#chunk-1\n", (A2,), (A1,)),
    "inline code": Row("Use `docA#chunk-1` as it is [docA#chunk-2]", (A2,), (A1,)),
    "inline code as dress": Row("slow [`docA#chunk-1`] and [`docA#chunk-9`]", (A1, unknown("docA#chunk-9"))),
    "escaped backticks are no code": Row(r"slow \`docA#chunk-1\`", (A1,)),
    "code of HTML": Row("<code>docA#chunk-1</code> docA#chunk-2", (A2,), (A1,)),
    "JSON": Row('{"claim": "slow", "evidence": ["docA#chunk-1", "docA#chunk-9"]}', (A1, unknown("docA#chunk-9"))),
    # Chinese, Japanese, Korean
    "Chinese lenticular brackets": Row("磁盘很慢【docA#chunk-1】。", (A1,)),
    "Chinese round brackets": Row("磁盘很慢（docA#chunk-1；docA#chunk-2）。", (A1, A2)),
    "full-width square brackets": Row("磁盘很慢［docA#chunk-1］〔docA#chunk-2〕", (A1, A2)),
    "Chinese label": Row("【来源：docA#chunk-1】（参见：docA#chunk-2）", (A1, A2)),
    "Chinese list": Row("【docA#chunk-1、docA#chunk-2，docB#chunk-1】", (A1, A2, not_shown("docB#chunk-1"))),
    "between Chinese words": Row("根据docA#chunk-1所述，磁盘很慢；详见docA#chunk-2。", (A1, A2)),
    "invented between Chinese words": Row("根据docZ#chunk-1所述", (unknown("docZ#chunk-1"),)),
    "invented after a Chinese word": Row("原因在docZ#chunk-1中", (unknown("docZ#chunk-1"),)),
    "Chinese letters that make it another id": Row("新版docA#chunk-1", (unknown("新版docA#chunk-1"),)),
    "a Chinese id": Row("【手册#chunk-3】和[手册#chunk-4]", (shown("手册#chunk-3"), not_shown("手册#chunk-4"))),
    "a Chinese id after a label": Row("详见手册#chunk-3。", (shown("手册#chunk-3"),)),
    "a longer Chinese id": Row("【新手册#chunk-3】", (unknown("新手册#chunk-3"),)),
    "a Chinese file": Row("见运维手册.md#chunk-1，先扩容。", (shown("运维手册.md#chunk-1"),)),
    "a Chinese document": Row("【运维手册.md】", (ambiguous("运维手册.md"),)),
    "Japanese": Row("ディスクが遅い（docA#chunk-1を参照）", (A1,)),
    "Korean": Row("디스크가 느리다 docA#chunk-1에서 [docA#chunk-2]", (A1, A2)),
}
