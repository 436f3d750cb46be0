"""Bad values for every place where one enters, and those places: what is refused is refused by name, in a line.

`tried(place, value)` says what is wrong with the outcome; empty if nothing is. bench/bad_inputs.py counts them.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from citewell import Document, Knowledge, Settings
from citewell.adapters.readers import FileReader
from citewell.analysis import analyze, analyze_query, identifiers
from citewell.checks import shown
from citewell.config import KEYS
from citewell.config.parse import parse_environment, parse_file
from citewell.errors import CitewellError
from citewell.fusion import fuse
from citewell.identity import find_identity, format_key, identify, parse_key
from citewell.model import Budget, RawDocument
from citewell.projection import foreign, printable, printable_id, token_bound
from citewell.testing.fakes import HashEmbedder

LONG: Final = 100_000
MESSAGE: Final = 1_000
"""The most characters of an error, whatever it is about."""

SECONDS: Final = 20.0
"""Of processor time that one call may take: a bound against hanging, not a measurement."""

TEXTS: Mapping[str, str] = {
    "empty": "",
    "blank": " \t\n\u3000",
    "nul": "a\x00b",
    "half a character": "a\ud800b",
    "half a pair, reversed": "\udc00\ud800",
    "all controls": "".join(map(chr, range(32))) + "\x7f\x85\x9b",
    "line separators": "a\u2028b\u2029c\x0bd\x0ce",
    "byte order mark": "\ufeffa\ufffe",
    "no characters": "\ufdd0\uffff\U0010ffff",
    "right to left": "\u202egpj.exe\u202c\u2066x\u2069",
    "invisible": "\u200b\u200d\u2060\ufe0f\U000e0061",
    "decomposed": "e\u0301" * 50,
    "marks without end": "a" + "\u0301" * 5_000,
    "grows in normal form": "\ufdfa" * 500,
    "case that grows": "ß\u0130\ufb03" * 100,
    "emoji": "👩\u200d👩\u200d👧\u200d👦🏽🇩🇪" * 50,
    "wide": "ｄｏｃ＃ｃｈｕｎｋ－０",
    "quotes": "'\"`´’”«\\",
    "sql": "'; DROP TABLE documents; --",
    "sql, joined": "x' OR 1=1 UNION SELECT value FROM meta --",
    "expression": '" or version >= 0 or "" == "',
    "expression, escaped": '\\" or array_contains(labels, "x") or \\"',
    "expression, by template": "{scope} %(scope)s ${scope} $[0]",
    "a backslash at the end": "label\\",
    "a digest of another": "\x1d" + "0" * 64,
    "a mark of another": "4\x1fteam\x1fsred",
    "traversal": "../../../../etc/passwd",
    "traversal, encoded": "..%2f..%2fetc%2fpasswd\x00.md",
    "traversal of windows": "..\\..\\windows\\win.ini",
    "a device": "/dev/zero",
    "a device of windows": "CON",
    "a pipe": "|cat /etc/passwd",
    "an option": "--kb=/etc",
    "a home": "~root/.ssh/id_rsa",
    "a file's address": "file:///etc/passwd",
    "script": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "script in an address": "javascript:alert(1)",
    "a template": "{{ 7 * 7 }}{% include '/etc/passwd' %}",
    "a format": "%s%n%d{0.__class__}{}",
    "escapes of a terminal": "\x1b[2J\x1b]0;title\x07\x9b31m",
    "a header": "x\r\nSet-Cookie: a=b\r\n\r\n",
    "a tag of yaml": "!!python/object/apply:os.system [ls]",
    "json": '{"docId": "a", "chunkIndex": 0, "__proto__": {}}',
    "json, deep": "[" * 20_000,
    "json, numbers": "1e999, -0, 9" + "9" * 400,
    "xml": "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
    "a key": "docA#chunk-0",
    "a key of keys": "docA#chunk-0#chunk-0",
    "no key": "#chunk-0",
    "a key of a vector": "vector:7",
    "a key of content": "content:0123456789abcdef",
    "an escaped key": "doc:doc:vector:7#chunk-0",
    "an index too large": "docA#chunk-9223372036854775808",
    "an index with a sign": "docA#chunk--1",
    "digits of other scripts": "docA#chunk-٣",
    "not a number": "NaN",
    "infinity": "-Infinity",
    "none": "None",
    "true": "true",
    "zero": "-0.0",
    "a number of many digits": "9" * 5_000,
    "an exponent": "1e99999",
    "hexadecimal": "0x" + "f" * 2_000,
    "a pattern": "(a+)+$ .*.*.*.* [a-",
    "a's": "a" * LONG,
    "spaces": "a" + " " * LONG + "b",
    "lines": "\n" * LONG,
    "brackets": "[" * LONG,
    "citations": "[a#chunk-1]" * (LONG // 11),
    "ticks": "`" * LONG,
    "han": "漢" * LONG,
    "commas": "," * LONG,
}
"""By name."""

LONG_TEXTS: Final = frozenset(f"text: {name}" for name, text in TEXTS.items() if len(text) >= LONG // 2)
"""Names of values that take their time at some places."""


def _nested() -> list[Any]:
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    return deep


def _endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


OTHERS: Mapping[str, object] = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "a huge integer": 1 << 20_000,
    "minus a huge integer": -(1 << 20_000),
    "a large float": 1.7e308,
    "NaN": math.nan,
    "infinity": math.inf,
    "a float of numpy": np.float32("nan"),
    "an integer of numpy": np.int64(-(2**63)),
    "an array": np.zeros((2, 2)),
    "bytes": b"\xff\x00",
    "a list": [],
    "a list of nothing": [None, [], {}],
    "a table": {},
    "a table of odd keys": {None: 1, 2: 3, ("a",): []},
    "a set": {1, 2},
    "an object": object(),
    "a type": int,
    "a nested list": _nested(),
    "an endless list": _endless(),
    "a list of many": ["x"] * 20_000,
    "a complex number": 3 + 4j,
}
"""What is no text."""

VALUES: Mapping[str, object] = {**{f"text: {name}": text for name, text in TEXTS.items()}, **OTHERS}

Place = Callable[[Any], object]

_OURS = (
    Document("a.md", "# First\n\nThe first document of this store."),
    Document("b.md", "# Second\n\nThe second one.", scope="blue", category="plans"),
)


@contextlib.contextmanager
def room(location: str = "memory:") -> Iterator[Knowledge]:
    """An open Knowledge with two documents, one of them shown to the session `s`."""
    with Knowledge.open(location, settings=Settings.of({}), embedder=HashEmbedder()) as knowledge:
        knowledge.ingest_documents(_OURS)
        knowledge.lookup("the first document", session="s").to_agent()
        yield knowledge


def harm(knowledge: Knowledge) -> list[str]:
    """What the store lacks after all that was tried."""
    held = {info.doc_id for info in knowledge.documents()}
    lacks = [f"{document.doc_id} is gone" for document in _OURS if document.doc_id not in held]
    report = knowledge.verify()
    found = knowledge.lookup("the first document of this store", mode="hybrid").evidence
    lost = [] if any(block.doc_id == "a.md" for block in found) else ["a.md is not found"]
    return [*lacks, *lost, *([] if report.ok else [f"verify: {report.findings[:3]}"])]


def calls(knowledge: Knowledge) -> dict[str, Place]:
    """Every argument of the library's calls."""
    look = partial(knowledge.lookup, "the first document")
    arguments = (
        "category", "scope", "where", "mode", "retrieve_k", "return_n", "min_similarity", "max_chunks_per_document",
        "session", "neighbours", "repeat",
    )  # fmt: skip
    return {
        "lookup query": lambda value: knowledge.lookup(value, session="s").to_agent(),
        "lookup query, hybrid": lambda value: knowledge.lookup(value, mode="hybrid").to_dict(),
        **{f"lookup {name}": partial(_named, look, name) for name in arguments},
        "lookup a label": lambda value: look(scope=[value]),
        "lookup a field": lambda value: look(where=_keyed(value)),
        "lookup a field's value": lambda value: look(where={"field": value}),
        "show": knowledge.show,
        "show within": lambda value: knowledge.show("a.md#chunk-0", scope=value),
        "read": lambda value: knowledge.read(value, neighbours=1).to_agent(),
        "read within a session": lambda value: knowledge.read("a.md#chunk-0", session=value).to_agent(),
        "read neighbours": lambda value: knowledge.read("a.md#chunk-0", neighbours=value),
        "read a document": knowledge.read_document,
        "a document": knowledge.document,
        "check an answer": lambda value: knowledge.check(value, session="s"),
        "check a cited id": lambda value: knowledge.check(f"See [{value}]." if _is_text(value) else value, session="s"),
        "check an id": lambda value: knowledge.check([value], session="s"),
        "check against": lambda value: knowledge.check("[a.md#chunk-0]", shown=value),
        "check against a key": lambda value: knowledge.check("[a.md#chunk-0]", shown=[value]),
        "check within a session": lambda value: knowledge.check("[a.md#chunk-0]", session=value),
        "delete": knowledge.delete,
        "forget a session": knowledge.forget_session,
        "a budget": lambda value: look().to_agent(budget=value),
        "a budget's characters": lambda value: look().to_agent(budget=Budget(max_chars=value)),
        "ingest a path": knowledge.ingest,
        "ingest under a prefix": lambda value: knowledge.ingest([], prefix=value),
        "ingest a glob": lambda value: knowledge.ingest([], include=value, exclude=[value]),
        **{f"ingest a document's {name}": partial(_ingested, knowledge, name) for name in _FIELDS},
        "ingest metadata": lambda value: _ingested(knowledge, "metadata", {"field": value}),
        "ingest a metadata field": lambda value: _ingested(knowledge, "metadata", _keyed(value)),
        "ingest a label": lambda value: _ingested(knowledge, "scope", [value]),
        "ingest bytes": lambda value: knowledge.ingest_documents([RawDocument("raw", _bytes(value), "raw.md")]),
        "ingest bytes from a source": lambda value: knowledge.ingest_documents([RawDocument("raw", b"text", value)]),
        "ingest a file's name": lambda value: knowledge.ingest_documents([RawDocument(value, b"text")]),
        "ingest no documents": lambda value: knowledge.ingest_documents(value),
    }  # fmt: skip


_FIELDS = ("doc_id", "text", "title", "source", "category", "scope", "metadata", "format")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _named(call: Callable[..., object], name: str, value: object) -> object:
    return call(**{name: value})


def _ingested(knowledge: Knowledge, name: str, value: object) -> object:
    document: Any = {"doc_id": "hostile", "text": "Some text.", name: value}
    report = knowledge.ingest_documents([Document(**document)])
    assert len(report.files) == 1
    return knowledge.lookup("Some text.", mode="hybrid").to_agent()


def _bytes(value: object) -> Any:  # noqa: ANN401 - bad on purpose
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def rules() -> dict[str, Place]:
    """The pure functions, readers and the configuration."""
    reader = FileReader()
    suffixes = ("md", "txt", "html", "rst", "adoc", "json", "jsonl", "yaml", "ipynb", "eml", "csv", "py", "c")
    return {
        "parse_key": parse_key,
        "find_identity": find_identity,
        "format_key": lambda value: format_key(value, 0),
        "format_key's index": lambda value: format_key("a", value),
        "identify": identify,
        "identify a docId": lambda value: identify({"docId": value, "chunk_index": value}, vector_id=value),
        "identify by text": lambda value: identify(None, text=value),
        "fuse": lambda value: fuse({"dense": value}),
        "fuse a key": lambda value: fuse({"dense": [value]}),
        "fuse with k": lambda value: fuse({"dense": ["a"]}, k=value),
        "fuse with a weight": lambda value: fuse({"dense": ["a"]}, weights={"dense": value}),
        **{
            function.__name__: partial(_on_text, function)
            for function in (analyze, analyze_query, identifiers, printable, printable_id, token_bound, foreign)
        },
        **{f"read .{suffix}": partial(_read, reader, suffix) for suffix in suffixes},
        "settings": Settings.of,
        "a setting's name": lambda value: Settings.of(_keyed(value)),
        "a YAML file": lambda value: _on_text(lambda text: parse_file(text, "a.yaml"), value),
        "a TOML file": lambda value: _on_text(lambda text: parse_file(text, "a.toml"), value),
        "a variable": lambda value: _on_text(
            lambda text: Settings.of(parse_environment({"CITEWELL_SERVER__TOKENS": text})), value
        ),
        **{f"setting {key.name}": partial(_setting, key.name) for key in KEYS},
    }


def _keyed(value: object) -> Any:  # noqa: ANN401 - bad on purpose
    """A table whose key it is; what can't be one stands for itself."""
    try:
        return {value: 1}
    except TypeError:
        return value


def _on_text(function: Callable[[str], object], value: object) -> object:
    """Of a rule that is promised a text by its type."""
    return function(value) if isinstance(value, str) else None


def _read(reader: FileReader, suffix: str, value: object) -> object:
    return reader.read(_bytes(value), f"a.{suffix}") if isinstance(value, str | bytes) else None


def _setting(name: str, value: object) -> object:
    return Settings.of({name: value})


def tried(place: Place, value: object) -> str:
    """What is wrong with what comes of it; empty if nothing is."""
    started = time.process_time()
    try:
        place(value)
    except CitewellError as error:
        wrong = _said(error)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        wrong = f"{type(error).__name__}: {shown(str(error))}"
    else:
        wrong = ""
    spent = time.process_time() - started
    return wrong or (f"it took {spent:.1f} s" if spent > SECONDS else "")


def _said(error: CitewellError) -> str:
    said = str(error)
    if len(said) > MESSAGE:
        return f"{type(error).__name__} says {len(said)} characters: {shown(said)}"
    try:
        said.encode("utf-8")
    except UnicodeEncodeError:
        return f"{type(error).__name__} can't be written: {shown(said)}"
    return "" if error.code and error.message else f"{type(error).__name__} says nothing"
