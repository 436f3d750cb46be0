"""What a store must hold after any history, worked out beside it: plain dicts of pages, and the chunks that they make.

A page's splitting is obvious: a title and sections of about 500 characters, each a chunk of its own, since two of them
exceed the target of a chunk and one is far from small. Every section holds the word `anchor` and words that no other
section ever held. Nothing here asks Citewell what it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

ANCHOR = "anchor"
"""In every chunk."""
_BODY = 480


@dataclass(frozen=True)
class Page:
    """What a file or a document says.

    Attributes:
        title: the heading of level 1.
        words: one per section; no words, no text at all.
        category, team: front matter of a file, arguments of a document.
    """

    title: str
    words: tuple[str, ...]
    category: str | None = None
    team: str | None = None

    @property
    def chunks(self) -> tuple[str, ...]:
        """The texts of the chunks that this page is to become."""
        headings = [f"# {self.title}", *(f"## {word}" for word in self.words[1:])]
        return tuple(f"{heading}\n\n{_body(word)}" for heading, word in zip(headings, self.words, strict=False))

    @property
    def text(self) -> str:
        """As a document: Markdown without front matter."""
        return "\n\n".join(self.chunks) + "\n" if self.words else "  \n\n"

    @property
    def file(self) -> str:
        """As a file: Markdown with front matter, if there is something to put there."""
        matter = {"category": self.category, "team": self.team}
        lines = [f"{name}: {value}" for name, value in matter.items() if value is not None]
        return "\n".join(["---", *lines, "---", "", self.text]) if lines and self.words else self.text


def _body(word: str) -> str:
    """One paragraph of a few sentences, all of whose words but the anchor are the section's own."""
    sentences = " ".join(f"{word}{part} says what {word} holds here." for part in "abcdefghijklmnopqrs")
    return f"{ANCHOR} {word} begins. {sentences}"[:_BODY].rpartition(".")[0] + "."


@dataclass(frozen=True)
class Held:
    """A document as the store is to hold it.

    Attributes:
        category, scope: in force.
        asked: the category that the ingestion of a folder was called with; it may be the page's own, too, and then
            leaves no trace but the fingerprint.
    """

    page: Page
    category: str | None
    scope: tuple[str, ...] | None
    is_file: bool = True
    asked: str | None = None

    @property
    def shown(self) -> tuple[list[str], str | None, tuple[str, ...] | None, str | None]:
        """What the catalogue and the chunks' keys show of it."""
        return list(self.page.chunks), self.category, self.scope, self.page.team


@dataclass(frozen=True)
class Expected:
    """A chunk as every path is to show it."""

    text: str
    title: str
    category: str | None
    scope: tuple[str, ...] | None
    team: str | None

    @property
    def shown(self) -> tuple[str, str, str | None, str | None]:
        """What evidence says of it."""
        return self.text, self.title, self.category, self.team


@dataclass(frozen=True)
class Arguments:
    """What an ingestion of the folder is called with."""

    category: str | None = None
    scope: tuple[str, ...] | None = None
    prune: bool = False


@dataclass
class World:
    """The folder's files by name, and by document id what the store is to hold."""

    files: dict[str, Page] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    """Every document id that there ever was, and the most chunks that it had."""
    unsure: set[str] = field(default_factory=set)
    """Documents of which nothing shows whether a killed ingestion had come to them."""

    def version(self, name: str, arguments: Arguments) -> Held | None:
        """What ingesting a file makes of it; None if it holds no text."""
        page = self.files[name]
        if not page.words:
            return None
        category = arguments.category if arguments.category is not None else page.category
        return Held(page, category, arguments.scope, asked=arguments.category)

    def ingested(self, arguments: Arguments) -> dict[str, tuple[str, int]]:
        """The folder was ingested: the status that each file's report must have, and how many chunks it may embed.

        A status is empty where several are right.
        """
        reports = {name: self.put(name, self.version(name, arguments)) for name in sorted(self.files)}
        reports |= {name: ("", reports[name][1]) for name in self.unsure & reports.keys()}
        self.unsure.clear()
        if arguments.prune:
            gone = [name for name, held in self.held.items() if held.is_file and name not in self.files]
            reports |= {name: self.put(name, None) for name in gone}
        return reports

    def put(self, doc_id: str, new: Held | None) -> tuple[str, int]:
        """A document was handed over, None if it is without text: its status, and how many chunks it may embed."""
        old = self.held.pop(doc_id, None)
        if new is None:
            return ("deleted", 0) if old else ("no_text", 0)
        self.held[doc_id] = new
        self.known[doc_id] = max(self.known.get(doc_id, 0), len(new.page.chunks))
        status = "unchanged" if old == new else "updated" if old else "added"
        return status, len(set(inputs(new)) - set(inputs(old)))

    @property
    def chunks(self) -> dict[str, Expected]:
        """Every chunk by its evidence key."""
        return dict(self._chunks())

    def _chunks(self) -> Iterator[tuple[str, Expected]]:
        for doc_id, held in self.held.items():
            page = held.page
            for index, text in enumerate(page.chunks):
                yield f"{doc_id}#chunk-{index}", Expected(text, page.title, held.category, held.scope, page.team)


def inputs(held: Held | None) -> list[tuple[str, str]]:
    """What a document's vectors are made from: the title and the passage."""
    return [(held.page.title, text) for text in held.page.chunks] if held else []
