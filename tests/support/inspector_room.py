"""Rooms for tests of the inspector: its pages behind an application in this process, and a strict look at them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, Final

from http_room import client, filled, settings
from starlette.testclient import TestClient

from citewell import Document, Knowledge
from citewell.server.callers import Callers
from citewell.server.http.app import Beside
from citewell.server.http.house import House
from citewell.server.web.gate import HOME
from citewell.server.web.router import router

EVIL_ID: Final = "evil/<script>boom(1)</script>'\".md"
EVIL_TEXT: Final = (
    "# <img src=x onerror=boom(2)>\n\n<script>boom(3)</script> zanzibar <svg onload=boom(4)>"
    "<a xlink:href=javascript:boom(5)>x</a></svg> [click](javascript:boom(6)) <a href='javascript:boom(7)'>y</a>"
    " </div></main></textarea></title>"
    ' <iframe srcdoc="<script>boom(8)</script>"> " onmouseover="boom(9) \' {{ 7 * 7 }} {% raw %} &lt;b&gt; <!-- ]]>'
    " \u202egnp.exe \u200b\u200b end"
)
EVIL: Final = Document(
    EVIL_ID,
    EVIL_TEXT,
    title='"><script>boom(10)</script>',
    source="javascript:boom(11)",
    category="<b>bold</b>",
    metadata={"<i>": ["</table><script>boom(12)</script>"]},
)


def beside(house: House) -> Beside:
    """The inspector, as a server mounts it."""
    knowledge = house.service.knowledge
    callers = Callers(knowledge.settings.server.tokens)
    made = router(knowledge, callers=callers, desk=house.lookups, jobs=house.jobs)
    return Beside(routers=[made], guests=["/", HOME])


@contextlib.contextmanager
def pages(knowledge: Knowledge) -> Iterator[TestClient]:
    """A client of the inspector over a Knowledge, that follows no redirection."""
    with client(knowledge, beside=beside) as opened:
        opened.follow_redirects = False
        yield opened


@contextlib.contextmanager
def inspector(*documents: Document, **server: Any) -> Iterator[TestClient]:  # noqa: ANN401 - as `http_room.settings`
    """The same over the documents of `http_room` and these."""
    with filled(settings(**server)) as knowledge:
        if documents:
            knowledge.ingest_documents(documents)
        with pages(knowledge) as opened:
            yield opened


_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_SVG_EMPTY = frozenset(("path", "rect", "circle", "line"))


class Page(HTMLParser):
    """What a page is made of.

    Attributes:
        faults: what is wrong with it: tags that don't close, names or ids twice, anything inline that could run.
        text: everything between tags.
        links: every address in it.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self._ids: list[str] = []
        self._named: list[str] = []
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self._open]
        self.faults += [f"id {name!r} twice" for name in set(self._ids) if self._ids.count(name) > 1]
        self.faults += [f"no element is named {name!r}" for name in set(self._named) - set(self._ids)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._look(tag, attrs)
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._look(tag, attrs)
        if tag not in _SVG_EMPTY:
            self.faults.append(f"<{tag}/> closes itself")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing at line {self.getpos()[0]}")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open and self._open[-1] in ("script", "style") and data.strip():
            self.faults.append(f"an inline {self._open[-1]}")

    def _look(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        given = dict(attrs)
        self.faults += [f"<{tag}> has {name!r} twice" for name in set(names) if names.count(name) > 1]
        self.faults += [
            f"<{tag}> has {name!r}" for name in names if name.startswith("on") or name in ("style", "srcdoc")
        ]
        for name in ("href", "src", "action", "xlink:href"):
            if (address := given.get(name)) is not None:
                self.links.append(address)
        self._ids += [value for name in ("id",) if (value := given.get(name))]
        for name in ("for", "list", "aria-labelledby"):
            self._named += (given.get(name) or "").split()
