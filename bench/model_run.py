"""The random operations: each changes the store, the folder and the model alike, then both are compared.

It knows no seed's length and no command line; `model_ops` has them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from citewell import IngestReport
from kill_ingest import killed_round
from model_observer import CATEGORIES, SCOPES, TEAMS, DifferenceError, Observer, as_document, same
from model_world import Arguments, Held, Page, World

_CONSONANTS = "bcdfghjklmnpqrtvwxz"
_FILES, _DOCUMENTS, _SECTIONS = 12, 4, 6
_LONGEST_KILL_S = 0.25


class Run:
    """The store, the folder and the model, and the operations on all three.

    Args:
        folder: empty.
        seed: of all that is random.
        engine: `local`, or `lite` for Milvus Lite, which one process has to itself.
    """

    def __init__(self, folder: Path, seed: int, engine: str = "local") -> None:
        self.chance = random.Random(seed)
        self.docs, self.is_shared = folder / "docs", engine == "local"
        self.location: Path | str = folder / "kb" if self.is_shared else f"milvus:{folder / 'kb.db'}"
        self.docs.mkdir()
        self.writer, self.reader = Observer(self.location), Observer(self.location)
        self.world = World()
        self.arguments = Arguments()
        self.gone: list[str] = []
        self.said = ""
        self.counts: Counter[str] = Counter()
        self._words = self._pages = 0

    def step(self, *, deep: bool = False) -> str:
        """One operation, after which everything is compared; what it was."""
        name = self.chance.choices(list(OPERATIONS), [weight for weight, _ in OPERATIONS.values()])[0]
        self.counts[name] += 1
        self.gone, self.said = [], name
        self.said = f"{name} {OPERATIONS[name][1](self)}"
        for observer in (self.writer, self.reader):
            observer.check(self.world, self.chance, self.gone[:3])
            if deep:
                observer.check_deeply(self.world)
        return self.said

    def close(self) -> None:
        """Let go of the stores."""
        self.writer.close()
        self.reader.close()

    # What pages are made of.

    def word(self) -> str:
        """A word that no section held before; without vowels, so that no stemmer touches it."""
        self._words += 1
        number, word = self._words, ""
        for _ in range(5):
            number, rest = divmod(number, len(_CONSONANTS))
            word = _CONSONANTS[rest] + word
        return f"w{word}"

    def words(self, most: int) -> tuple[str, ...]:
        """One to so many new words."""
        return tuple(self.word() for _ in range(self.chance.randint(1, most)))

    def page(self) -> Page:
        """A page that shares no word with any other."""
        self._pages += 1
        category, team = self.chance.choice(CATEGORIES), self.chance.choice(TEAMS)
        return Page(f"Guide {self._pages}", self.words(_SECTIONS), category, team)

    def changed(self, page: Page) -> Page:
        """The page with some of its sections replaced, put elsewhere, added or taken out."""
        words = list(page.words)
        kind = self.chance.choice(["edit", "edit", "grow", "grow", "shrink", "shuffle", "retitle"])
        if kind == "edit" and words:
            words[self.chance.randrange(len(words))] = self.word()
        elif kind == "grow":
            at = self.chance.randint(0, len(words))
            words[at:at] = self.words(3)
        elif kind == "shrink":
            words = self.chance.sample(words, max(1, len(words) // 2)) if words else []
        elif kind == "shuffle":
            self.chance.shuffle(words)
        else:
            return replace(page, title=f"{page.title} anew", words=page.words or self.words(2))
        self.gone += [word for word in {*page.words, *words} if (word in words) != (word in page.words)]
        return replace(page, words=tuple(words))

    # Operations on files; the folder is ingested afterwards.

    def write(self, name: str, page: Page) -> None:
        """Put a page into the folder."""
        self.world.files[name] = page
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.file, encoding="utf-8")

    def unlink(self, name: str) -> Page:
        """Take a file out of the folder; what it said."""
        (self.docs / name).unlink()
        page = self.world.files.pop(name)
        self.gone += page.words[:2]
        return page

    def any_file(self) -> str:
        """The name of a file; one is made if there is none."""
        if not self.world.files:
            self.write("first.md", self.page())
        return self.chance.choice(sorted(self.world.files))

    def new_name(self) -> str:
        """A name that may or may not be taken."""
        folder = self.chance.choice(["", "", "deep/", "deep/er/", "数据/"])
        return f"{folder}{self.chance.choice('abcdefgh')}{self.chance.randrange(3)}.md"

    def add(self) -> str:
        """A file with a new page, in place of another if there are many."""
        name = self.new_name() if len(self.world.files) < _FILES else self.any_file()
        self.write(name, self.page())
        return name

    def edit(self) -> str:
        """One to three files say something else."""
        names = {self.any_file() for _ in range(self.chance.randint(1, 3))}
        for name in sorted(names):
            self.write(name, self.changed(self.world.files[name]))
        return ", ".join(sorted(names))

    def empty(self) -> str:
        """A file without text."""
        name = self.any_file()
        self.gone += self.world.files[name].words[:2]
        self.write(name, replace(self.world.files[name], words=()))
        return name

    def retag(self) -> str:
        """Other front matter, the same text."""
        name = self.any_file()
        category, team = self.chance.choice(CATEGORIES), self.chance.choice(TEAMS)
        self.write(name, replace(self.world.files[name], category=category, team=team))
        return f"{name} -> {category!r}, {team!r}"

    def copy(self) -> str:
        """The same text under a second name."""
        source, target = self.any_file(), self.new_name()
        if len(self.world.files) < _FILES or target in self.world.files:
            self.write(target, self.world.files[source])
        return f"{source} -> {target}"

    def swap(self) -> str:
        """Two files change places."""
        one, other = self.any_file(), self.any_file()
        pages = self.world.files[one], self.world.files[other]
        self.write(one, pages[1])
        self.write(other, pages[0])
        return f"{one} <-> {other}"

    def rename(self) -> str:
        """A file gets another name, or goes into another folder under its own, if that is free."""
        source, target = self.any_file(), self.new_name()
        if self.chance.random() < 0.5:
            target = f"{target.rpartition('/')[0]}/{source.rpartition('/')[2]}".lstrip("/")
        if target not in self.world.files:
            self.write(target, self.unlink(source))
        return f"{source} -> {target}"

    def remove(self) -> str:
        """A file is gone."""
        name = self.any_file()
        self.unlink(name)
        return name

    def relabel(self) -> str:
        """The folder gets another category and other labels."""
        self.arguments = Arguments(self.chance.choice(CATEGORIES), self.chance.choice(SCOPES))
        return str(self.arguments)

    def ingested(self, *, prune: bool) -> str:
        """Ingest the folder and compare the report."""
        arguments = replace(self.arguments, prune=prune)
        before = self.world.held.copy()
        report = self.writer.knowledge.ingest(
            self.docs, category=arguments.category, scope=arguments.scope, prune=prune
        )
        self.gone += [word for name in before.keys() - self.world.held.keys() for word in before[name].page.words[:1]]
        self.reported(report, self.world.ingested(arguments))
        return f"prune={prune}"

    def reported(self, report: IngestReport, expected: dict[str, tuple[str, int]]) -> None:
        """Compare what an ingestion says of each file, and how much it embedded."""
        said = {file.doc_id: file for file in report.files}
        statuses = {name: status or said[name].status for name, (status, _) in expected.items()}
        same("statuses", {name: file.status for name, file in said.items()}, statuses)
        for name, (_, most) in expected.items():
            if said[name].embedded > most:
                raise DifferenceError(f"{name}: {said[name].embedded} chunks were embedded, and {most} are new")

    # Operations through the API.

    def document(self) -> str:
        """A document is added, changed or emptied."""
        doc_id = f"api/{self.chance.randrange(_DOCUMENTS)}"
        held = self.world.held.get(doc_id)
        page = self.changed(held.page) if held and self.chance.random() < 0.7 else self.page()
        if self.chance.random() < 0.15:
            self.gone += page.words[:2]
            page = replace(page, words=())
        new = Held(page, page.category, self.chance.choice(SCOPES), is_file=False)
        report = self.writer.knowledge.ingest_documents([as_document(doc_id, new)])
        self.reported(report, {doc_id: self.world.put(doc_id, new if page.words else None)})
        return doc_id

    def delete(self) -> str:
        """A document is deleted, whether or not it came from a file that is still there."""
        doc_id = self.chance.choice([*sorted(self.world.held), "nowhere.md"])
        held = self.world.held.pop(doc_id, None)
        self.gone += held.page.words[:2] if held else ()
        same("removed", self.writer.knowledge.delete(doc_id), len(held.page.chunks) if held else 0)
        return doc_id

    # What happens to processes.

    def reopen(self) -> str:
        """One of the two that look at the store closes and opens it."""
        observer = self.chance.choice([self.writer, self.reader])
        observer.reopen()
        return "the writer" if observer is self.writer else "the reader"

    def kill(self) -> str:
        """A process that ingests the changed folder is killed; each document must be its old or its new version."""
        for _ in range(self.chance.randint(1, 5)):
            self.chance.choice([Run.add, Run.edit, Run.edit, Run.empty, Run.retag, Run.rename])(self)
        delay = self.chance.uniform(0, _LONGEST_KILL_S)
        if not self.is_shared:
            self.close()
        complete = killed_round(self.location, self.docs, delay).complete
        if not self.is_shared:
            self.writer.open()
            self.reader.open()
        elif self.chance.random() < 0.5:
            self.writer.reopen()
        new = {name: self.world.version(name, Arguments()) for name in self.world.files}
        seen = {name: self.seen(name, version) for name, version in new.items()}
        if complete:
            same("a run to its end", seen, new)
        for name, version in seen.items():
            old = self.world.held.get(name)
            if old and version and old != version and old.shown == version.shown and not complete:
                self.world.unsure.add(name)
            self.world.put(name, version)
        self.gone = []
        return f"after {delay:.3f} s: {sum(seen[name] == new[name] for name in new)} of {len(new)} up to date"

    def seen(self, name: str, new: Held | None) -> Held | None:
        """Which of its two versions a document is; what is neither is found out by the comparison that follows."""
        infos = {info.doc_id: info for info in self.writer.knowledge.documents()}
        if name not in infos:
            return None if new is None else self.world.held.get(name)
        info = infos[name]
        texts = [self.writer.shown(f"{name}#chunk-{index}") for index in range(info.chunks)]
        is_new = new is not None and (texts, info.category, info.scope, info.metadata.get("team")) == new.shown
        return new if is_new else self.world.held.get(name)


def _then_ingest(change: Callable[[Run], str], *, prune: float) -> Callable[[Run], str]:
    """A change of files, and the ingestion after it, with `prune` in that share of the cases."""

    def both(run: Run) -> str:
        said = change(run)
        return f"{said}; {run.ingested(prune=run.chance.random() < prune)}"

    return both


OPERATIONS: dict[str, tuple[int, Callable[[Run], str]]] = {
    "add": (12, _then_ingest(Run.add, prune=0.2)),
    "edit": (30, _then_ingest(Run.edit, prune=0.2)),
    "empty": (5, _then_ingest(Run.empty, prune=0.2)),
    "retag": (7, _then_ingest(Run.retag, prune=0.2)),
    "relabel": (5, _then_ingest(Run.relabel, prune=0.2)),
    "copy": (3, _then_ingest(Run.copy, prune=0.2)),
    "swap": (3, _then_ingest(Run.swap, prune=0.2)),
    "rename": (6, _then_ingest(Run.rename, prune=0.6)),
    "remove": (8, _then_ingest(Run.remove, prune=0.6)),
    "nothing": (3, _then_ingest(lambda _: "", prune=0.5)),
    "document": (12, Run.document),
    "delete": (5, Run.delete),
    "reopen": (5, Run.reopen),
    "kill": (4, Run.kill),
}
"""By name: how often it comes, relative to the others, and what it does."""
