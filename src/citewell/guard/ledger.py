"""What was shown and what exists: the two facts that every verdict rests on, in forms that can be searched.

It takes them from whatever a caller has at hand. It knows no answer and no verdict; which ids exist within a scope it
asks the caller, once per id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from citewell.checks import check_list, check_mapping, refusal
from citewell.guard.tries import Node, trie
from citewell.guard.view import squash
from citewell.identity import parse_key
from citewell.model import Candidate, KnownChunk
from citewell.model import Shown as Remembered

_WANTED = "a mapping from evidence keys to digests, a list of keys, a lookup's result or what its `to_agent` returned"


@runtime_checkable
class Showing(Protocol):
    """A lookup's result: it can say what of its evidence an agent sees, without showing it."""

    def would_show(self) -> Sequence[Candidate]:
        """The evidence that `to_agent` shows."""
        ...


ShownArgument = Mapping[str, Any] | Iterable[Any] | Showing
KnownArgument = Callable[[Sequence[str]], Mapping[str, Any]] | Mapping[str, Any] | Iterable[str] | None


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was shown.

    Attributes:
        chunks: by evidence key, in the order given: digest and text as they were then.
        forms: the evidence keys by how a view has them; two may look alike.
        documents: the evidence keys of each document, by how a view has its id.
        whole: keys that end in a backslash, which would escape what follows.
        ends: backwards, the forms that end in a chunk's index; `heads`: forwards, all others.
        names: backwards, how a view has the document ids.
    """

    chunks: Mapping[str, KnownChunk]
    forms: Mapping[str, tuple[str, ...]]
    documents: Mapping[str, tuple[str, ...]]
    whole: tuple[str, ...]
    ends: Node = field(repr=False)
    heads: Node = field(repr=False)
    names: Node = field(repr=False)


def ledger_of(shown: ShownArgument) -> Ledger:
    """What was shown, ready to be searched.

    Raises:
        InvalidRequest: it can't be told what was shown, or something in it is no evidence key.
    """
    chunks: dict[str, KnownChunk] = {}
    forms: dict[str, list[str]] = {}
    documents: dict[str, list[str]] = {}
    ends: list[str] = []
    heads: list[str] = []
    for given, chunk in _entries(shown):
        identity = parse_key(given)
        if identity.evidence_key in chunks:
            continue
        chunks[identity.evidence_key] = chunk
        form = squash(identity.evidence_key)
        forms.setdefault(form, []).append(identity.evidence_key)
        (heads if identity.doc_id is None else ends).append(form)
        if identity.doc_id is not None:
            documents.setdefault(squash(identity.doc_id), []).append(identity.evidence_key)
    return Ledger(
        chunks,
        {form: tuple(keys) for form, keys in forms.items()},
        {name: tuple(keys) for name, keys in documents.items()},
        tuple(key for key in chunks if key.endswith("\\")),
        trie(form[::-1] for form in ends),
        trie(heads),
        trie(name[::-1] for name in documents),
    )


def _entries(shown: ShownArgument) -> list[tuple[str, KnownChunk]]:
    if isinstance(shown, Showing):
        return [_entry(block) for block in shown.would_show()]
    if not isinstance(shown, Mapping):
        items = list(shown) if isinstance(shown, set | frozenset) else check_list("shown", shown, wanted=_WANTED)
        return [_entry(item) for item in items]
    evidence = check_mapping("shown", shown, wanted=_WANTED).get("evidence")
    if isinstance(evidence, list | tuple):
        return [(_projected(item), KnownChunk()) for item in evidence]
    return [(key, KnownChunk(_digest(digest))) for key, digest in shown.items()]


def _entry(item: object) -> tuple[str, KnownChunk]:
    if isinstance(item, str):
        return item, KnownChunk()
    if isinstance(item, Candidate):
        return item.evidence_key, KnownChunk(item.digest, item.text)
    if isinstance(item, Remembered):
        return item.evidence_key, KnownChunk(item.digest)
    raise refusal("an entry of shown", item, _WANTED)


def _projected(item: object) -> str:
    key = item.get("document_id") if isinstance(item, Mapping) else None
    if isinstance(key, str):
        return key
    raise refusal("an item of shown evidence", item, "an item as `to_agent` makes it")


def _digest(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, KnownChunk | Remembered):
        return value.digest
    raise refusal("a digest in shown", value, "the digest of the chunk's text when it was shown, or ''")


class Existing:
    """Which chunks exist now within the caller's scope; each key is asked for once.

    Args:
        known: asks for some keys and gets those that exist; or a mapping or a list of all; None = what was shown is
            all.
        ledger: what was shown.
    """

    def __init__(self, known: KnownArgument, ledger: Ledger) -> None:
        self._known, self._ledger = _known(known), ledger
        self._found: dict[str, KnownChunk | None] = {}

    def ask(self, keys: Iterable[str]) -> None:
        """Find out about all of these at once."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._found]
        if wanted:
            answer = self._answer(wanted)
            self._found |= {key: _as_known(answer[key]) if key in answer else None for key in wanted}

    def get(self, key: str) -> KnownChunk | None:
        """The chunk, or None if there is none within the scope."""
        self.ask([key])
        return self._found[key]

    def _answer(self, keys: list[str]) -> Mapping[str, Any]:
        if self._known is None:
            return self._ledger.chunks
        if isinstance(self._known, Mapping):
            return self._known
        answer = self._known(keys)
        if not isinstance(answer, Mapping):
            raise refusal("what known returned", answer, "a mapping of the evidence keys that exist")
        return answer


def _known(known: KnownArgument) -> Callable[[Sequence[str]], Mapping[str, Any]] | Mapping[str, Any] | None:
    if known is None or callable(known) or isinstance(known, Mapping):
        return known
    wanted = "a mapping or a list of evidence keys, or a function from keys to such a mapping"
    keys = known if isinstance(known, set | frozenset) else check_list("known", known, wanted=wanted)
    return {parse_key(key).evidence_key: KnownChunk() for key in keys}


def _as_known(value: object) -> KnownChunk:
    digest, text = getattr(value, "digest", None), getattr(value, "text", None)
    if isinstance(digest, str) and (text is None or isinstance(text, str)):
        return KnownChunk(digest, text)
    raise refusal("a known chunk", value, "a KnownChunk")
