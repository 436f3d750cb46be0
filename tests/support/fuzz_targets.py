"""What is fuzzed: each target takes chance and damaged data, and asserts what must hold of whatever comes of it.

Nothing but a CitewellError may be raised, and nothing take longer than SECONDS of processor time. bench/fuzz.py
goes on as long as it is told; a test tries some of each.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hostile_values import TEXTS
from mutations import damaged

from citewell import Settings, guard
from citewell.adapters.readers import FileReader
from citewell.admission import admit
from citewell.analysis import analyze, analyze_query, identifiers
from citewell.checks import shown
from citewell.config.parse import parse_file
from citewell.errors import CitewellError
from citewell.identity import find_identity, format_key, identify
from citewell.ingest.ignore import Rules
from citewell.ingest.split import split
from citewell.model import Budget, EvidenceBlock, LookupPolicy, SearchPolicy, Trace
from citewell.projection import foreign, project, to_markdown, to_text, token_bound

LARGEST, LONGEST, SECONDS, MAXIMUM = 60_000, 8_000, 15.0, 2_000
READER = FileReader()
PIECES = (
    "#chunk-", "[", "]", "【", "】", "(", ")", "docA", "a.md", "0", "12", "`", "```\n", "**", "\n", "\n\n", " ", "# ",
    "- ", "| a | b |\n", "|---|\n", "\\", "&#35;", "\\u0061", "\u200d", "\u0301", "é", "中文", "。", "E1207",
    "max_conn", "v1.2.3", "don't", '"', "“quoted words here”", "citewell:///a.md%23chunk-1", "rag:", "retrieve-k",
    "= 1", ": [", "{", "}", "*a", "!", "**/", "[a-z]", "?", "\ud800", "\x00", "👩\u200d👩", "<<end>>", "<b>", "---\n",
)  # fmt: skip

Target = Callable[[random.Random, bytes, str], None]


def _text(chance: random.Random, data: bytes) -> str:
    """Of the data, of a hostile text or of pieces that mean something, bounded."""
    kind = chance.random()
    if kind < 0.3:
        return data.decode("utf-8", "replace")[:LONGEST]
    if kind < 0.5:
        return damaged(chance, chance.choice(list(TEXTS.values()))[:LONGEST].encode("utf-8", "surrogatepass")).decode(
            "utf-8", "replace"
        )
    return "".join(chance.choices(PIECES, k=chance.choice([2, 8, 40, 300])))


def read(chance: random.Random, data: bytes, name: str) -> None:
    """What is read can be written, has its headings and places in order, and is split within bounds."""
    text = READER.read(data, name)
    text.text.encode("utf-8")
    assert not {"\x00", "\r"} & set(text.text)
    starts = [heading.start for heading in text.headings]
    assert starts == sorted(set(starts)), "headings out of order"
    assert all(0 <= start <= len(text.text) for start, _ in text.places), "a place outside the text"
    _passages(text.text, format=text.format, start=text.start, headings=text.headings, markdown_from=text.markdown_from)


def cut(chance: random.Random, data: bytes, name: str) -> None:
    """Passages are bounded, and nothing but white space stands between them."""
    text = _text(chance, data).replace("\x00", "").replace("\r", "\n")
    _passages(text.encode("utf-8", "replace").decode(), format=chance.choice(["markdown", "text"]))


def _passages(text: str, *, start: int = 0, **options: Any) -> None:  # noqa: ANN401 - of `split`
    last = start
    for passage in split(text, start=start, max_tokens=300, **options).passages:
        begin, end = passage.span
        assert last <= begin < end, "passages overlap"
        assert not text[last:begin].strip(), "text was lost between passages"
        assert len(passage.text) <= MAXIMUM, "a passage is too long"
        last = end
    assert not text[last:].strip(), "the end was lost"


def terms(chance: random.Random, data: bytes, name: str) -> None:
    """Terms hold no white space, and the same text has the same terms."""
    text = _text(chance, data)
    found = analyze(text)
    assert all(term and not any(char.isspace() for char in term) for term in found), "a term with white space"
    assert analyze(text) == found
    analyze_query(text)
    identifiers(text)


def keys(chance: random.Random, data: bytes, name: str) -> None:
    """A key that is made is read back, and what is read is a key again."""
    text, index = _text(chance, data), chance.choice([0, 1, 12, 2**62])
    identity = identify({"docId": text, "chunk_index": index}, vector_id=text, text=text)
    assert identity.evidence_key
    found = find_identity(text)
    assert found is None or find_identity(found.evidence_key) == found, "a key is not stable"
    key = format_key(text, index)
    back = find_identity(key)
    assert back is not None, "a key can't be read back"
    assert (back.evidence_key, back.chunk_index) == (key, index), "a key is read back as another"


def cited(chance: random.Random, data: bytes, name: str) -> None:
    """Shown are shown ids alone; the cleaned answer holds no bad citation; the same twice."""
    answer, shown_keys = _text(chance, data), ["docA#chunk-1", "a.md#chunk-12"]
    report = guard.check(answer, shown_keys)
    good = {citation.evidence_key for citation in report.citations if citation.verdict == "shown"}
    assert good <= set(shown_keys), "an id that was not shown counts as shown"
    assert guard.check(answer, shown_keys) == report
    assert guard.check(report.cleaned, shown_keys).ok, "the cleaned answer is not clean"
    guard.check([answer], shown_keys, strict=True)


def seen(chance: random.Random, data: bytes, name: str) -> None:
    """Within the budget, whole characters, and a fence that no text ends."""
    text = _text(chance, data)
    blocks = tuple(_block(chance, text[at:], at) for at in range(chance.choice([1, 3])))
    room = chance.choice([0, 1, 50, 4_000])
    budget = Budget(max_items=None, max_chars_per_item=None, max_chars=room, max_tokens=None)
    outcome: Any = _Outcome(text, blocks)
    view: Any = project(outcome, budget)
    assert sum(len(item["content"]) for item in view["evidence"]) <= room, "over the budget"
    assert len(view["evidence"]) >= 1, "no id is shown"
    to_text(view)
    to_markdown(view)
    foreign(text)
    token_bound(text)


class _Outcome:
    """A lookup's outcome as the projection asks for it."""

    status, degraded, hints = "ok", (), ()
    already_shown: frozenset[str] = frozenset()

    def __init__(self, query: str, evidence: tuple[EvidenceBlock, ...]) -> None:
        self.query, self.evidence = query, evidence
        self.partly_shown: dict[str, int] = {}
        self.trace = Trace(mode="hybrid")


def _block(chance: random.Random, text: str, at: int) -> EvidenceBlock:
    return EvidenceBlock(
        evidence_key=format_key("a.md", at), doc_id="a.md", chunk_index=at, text=text, source=text[:99],
        title=text[:99], breadcrumb=text[:50], category=None, similarity=chance.choice([None, 0.5]), lexical_score=None,
        fused_score=None, reasons=(), span=(0, len(text)), metadata={}, digest="",
    )  # fmt: skip


def configured(chance: random.Random, data: bytes, name: str) -> None:
    """Settings or a refusal."""
    Settings.of(parse_file(_text(chance, data), chance.choice(["a.yaml", "a.toml"])))


def asked(chance: random.Random, data: bytes, name: str) -> None:
    """A request or a refusal."""
    text = _text(chance, data)
    request = admit(
        text, category=text[:20], scope=[text[:9]], where={text[:5]: text}, session=text[:99], policy=LookupPolicy(),
        search=SearchPolicy(),
    )  # fmt: skip
    assert 0 < len(request.query) <= 4_000, "a query of no bounded length"


def left_out(chance: random.Random, data: bytes, name: str) -> None:
    """Patterns of ignore files match or don't."""
    text = _text(chance, data)
    Rules(text.split("\n")[:50]).verdict(text[-200:].replace("\n", ""), folder=False)


TARGETS: dict[str, Target] = {
    "readers": read, "splitter": cut, "analysis": terms, "identity": keys, "guard": cited, "projection": seen,
    "configuration": configured, "admission": asked, "ignore files": left_out,
}  # fmt: skip


def corpus(folder: Path) -> list[tuple[str, bytes]]:
    """Small files of this folder, and the hostile texts under a name of each kind."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()] if folder.is_dir() else []
    held = [(path.name, path.read_bytes()) for path in files if 0 < path.stat().st_size <= LARGEST]
    suffixes = ("md", "txt", "html", "rst", "adoc", "json", "jsonl", "yaml", "ipynb", "eml", "csv", "py", "c")
    texts = [text[:LARGEST].encode("utf-8", "surrogatepass") for text in TEXTS.values() if text]
    return held + [(f"own.{suffixes[at % len(suffixes)]}", text) for at, text in enumerate(texts)]


def broke(target: Target, seed: str, held: Sequence[tuple[str, bytes]]) -> str:
    """What went wrong in this case; empty if nothing did."""
    chance = random.Random(seed)
    name, data = chance.choice(held)
    started = time.process_time()
    try:
        target(chance, damaged(chance, data), name)
    except CitewellError:
        pass
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"{name}: {type(error).__name__}: {shown(str(error))}"
    spent = time.process_time() - started
    return f"{name}: it took {spent:.1f} s" if spent > SECONDS else ""
