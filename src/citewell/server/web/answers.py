"""An address and a caller -> what a page shows, and the same as JSON; all of it blocks.

It puts questions, views and templates together. It knows no request and no header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from citewell.checks import check_count
from citewell.errors import CitewellError, InvalidRequest
from citewell.server.discreet import told
from citewell.server.faults import status_of
from citewell.server.service import Service
from citewell.server.web.forms import COMPARE, Form, form_of
from citewell.server.web.pages import address, address_of
from citewell.server.web.questions import Looked, Questions
from citewell.server.web.views.agent import AgentView, agent_view, shown_keys
from citewell.server.web.views.compare import compare_view
from citewell.server.web.views.corpus import CorpusView, corpus_view
from citewell.server.web.views.document import document_view
from citewell.server.web.views.evaluation import evaluation_view
from citewell.server.web.views.jobs import job_view
from citewell.server.web.views.lookup import MOST_ROWS, REASONS, LookupView, lookup_view
from citewell.server.web.views.plots import PLOT_HEIGHT, PLOT_WIDTH
from citewell.server.web.views.ranking import DEPTH, paths_figure, rerank_figure

if TYPE_CHECKING:
    from citewell.server.callers import Caller
    from citewell.server.web.runs import Runs

AROUND: Final = 2
"""Neighbours on each side that the page of a chunk shows."""

WINDOW: Final = 20
"""Chunks on each side that the page of a document shows."""

_DEPTHS: Final = (DEPTH, 25, 50)
_FATES: Final = {**{reason: reason.replace("_", " ") for reason in REASONS}, "not_found": "not found"}

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A page.

    Attributes:
        template: its file.
        here: the entry of the navigation that it belongs to.
        values: what the template draws, beside what every page has.
        data: the same as JSON; None = the page has no JSON.
        status: of HTTP.
    """

    template: str
    here: str
    values: Mapping[str, Any] = field(default_factory=dict)
    data: object = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers for one server; safe to use from several threads."""

    questions: Questions
    runs: Runs

    def search(self, caller: Caller, pairs: Pairs) -> Answer:
        """The first page; with a query, what a lookup came to."""
        form = form_of(pairs)
        values = self._form_values(caller, form)
        if not form.query:
            return Answer("search.html", "Search", {**values, "error": None, "view": None}, {"query": ""})
        try:
            return (
                self._compared(caller, form, values)
                if form.mode == COMPARE
                else self._found(caller, form, values, pairs)
            )
        except CitewellError as raised:
            error = told(raised, caller)
            shown = {**values, "error": error, "view": None}
            return Answer("search.html", "Search", shown, {"error": error.to_dict()}, status_of(error))

    def evidence(self, caller: Caller, pairs: Pairs) -> Answer:
        """One chunk with those around it."""
        key = _needed(pairs, "key")
        read = self.questions.read(caller, key, AROUND)
        hit = next(block for block in _blocks(read) if block["role"] == "hit")
        view = document_view(read, width=AROUND, marked=hit["chunk_index"])
        values = {"view": view, "key": hit["evidence_key"], "labels": self.questions.labels(caller, view.doc_id)}
        return Answer("evidence.html", "Corpus", values, read)

    def document(self, caller: Caller, pairs: Pairs) -> Answer:
        """A document from its beginning, or around a chunk of it, which is marked then."""
        doc_id, given = _needed(pairs, "id"), dict(pairs).get("chunk", "")
        index = _index(given)
        read = self.questions.document(caller, doc_id, index, WINDOW + 1)
        view = document_view(read, width=WINDOW, marked=index if given else None)
        values = {"view": view, "labels": self.questions.labels(caller, view.doc_id)}
        return Answer("document.html", "Corpus", values, read)

    def corpus(self, caller: Caller, pairs: Pairs) -> Answer:
        """Figures of all documents, and a page of the list."""
        after = dict(pairs).get("after", "")
        listed = Service(self.questions.knowledge).documents(caller, {"after": after})
        view, store = self.questions.corpus(caller), self.questions.store(caller)
        values = {"view": view, "store": store, "page_of": listed, "after": after, "held": caller.scope}
        return Answer("corpus.html", "Corpus", values, {"corpus": view.to_dict(), "store": store, **listed})

    def jobs(self, jobs: Sequence[Mapping[str, Any]]) -> Answer:
        """The caller's ingestions, the latest first."""
        views = [job_view(job) for job in reversed(jobs)]
        refresh = None if all(view.ended for view in views) else 2
        return Answer("jobs.html", "Ingestions", {"jobs": views, "refresh": refresh}, {"jobs": list(jobs)})

    def job(self, job: Mapping[str, Any]) -> Answer:
        """One ingestion; while it runs, the page comes again by itself."""
        view = job_view(job)
        return Answer("job.html", "Ingestions", {"view": view, "refresh": None if view.ended else 2}, job)

    def evaluations(self, caller: Caller) -> Answer:
        """The files of evaluation runs."""
        self.questions.check_everything(caller)
        names = self.runs.names()
        values = {"configured": self.runs.folder is not None, "names": names}
        return Answer("evaluations.html", "Evaluations", values, {"evaluations": names})

    def evaluation(self, caller: Caller, pairs: Pairs) -> Answer:
        """The figures of one."""
        self.questions.check_everything(caller)
        name = _needed(pairs, "name")
        content = self.runs.read(name)
        plot = {"width": PLOT_WIDTH, "height": PLOT_HEIGHT}
        values = {"name": name, "sets": evaluation_view(content), "plot": plot}
        return Answer("evaluation.html", "Evaluations", values, content)

    def _form_values(self, caller: Caller, form: Form) -> dict[str, Any]:
        settings = self.questions.knowledge.settings
        return {"form": form, "settings": settings, "held": caller.scope, "corpus": self._corpus(caller)}

    def _corpus(self, caller: Caller) -> CorpusView:
        """For what the form offers; where it can't be had, the form offers nothing."""
        try:
            return self.questions.corpus(caller)
        except CitewellError:
            return corpus_view((), caller.scope)

    def _found(self, caller: Caller, form: Form, values: Mapping[str, Any], pairs: Pairs) -> Answer:
        looked = self.questions.lookup(caller, form.query, form.scope, form.arguments())
        if dict(pairs).get("format") == "agent":
            return Answer("", "Search", {}, looked.seen)
        view, seen = self._views(looked)
        drawn = {
            "error": None,
            "view": view,
            "seen": seen,
            "drawing": paths_figure(view, form.depth),
            "reranked": rerank_figure(view, form.depth) if view.reranked else None,
            "columns": [report.path for report in view.paths if report.status == "ran" and not report.refill],
            "best_lexical": max((row.lexical or 0.0 for row in view.rows), default=0.0),
            "best_fused": max((row.fused or 0.0 for row in view.rows), default=0.0),
            "most": MOST_ROWS,
            "depths": [(depth, address_of("", form.pairs(depth=depth))) for depth in _DEPTHS],
            "agent_url": address_of("", [*form.pairs(), ("format", "agent")]),
            "again": partial(_again, form),
        }
        return Answer("search.html", "Search", {**values, **drawn}, looked.result)

    def _compared(self, caller: Caller, form: Form, values: Mapping[str, Any]) -> Answer:
        forms = {mode: replace(form, mode=mode) for mode in ("dense", "hybrid")}
        looked = {
            mode: self.questions.lookup(caller, form.query, form.scope, each.arguments())
            for mode, each in forms.items()
        }
        views = {mode: self._views(each) for mode, each in looked.items()}
        drawn = {
            "view": compare_view(views["dense"][0], views["hybrid"][0]),
            "sides": [(mode, *views[mode], address_of("", forms[mode].pairs())) for mode in views],
            "fates": _FATES,
            "most": MOST_ROWS,
        }
        data = {mode: each.result for mode, each in looked.items()}
        return Answer("compare.html", "Search", {**values, **drawn}, data)

    def _views(self, looked: Looked) -> tuple[LookupView, AgentView]:
        rrf_k = self.questions.knowledge.settings.search.rrf_k
        view = lookup_view(looked.result, shown_keys(looked.seen), rrf_k)
        return view, agent_view(looked.seen, looked.budget, looked.count_tokens)


def _again(form: Form, **changed: object) -> str:
    """The same query, with something changed."""
    return address_of("", form.pairs(**changed))


def _needed(pairs: Pairs, name: str) -> str:
    value = dict(pairs).get(name, "")
    if not value:
        raise InvalidRequest(f"the address has no {name!r}", way_out=f"Follow a link, or write {address()}/…?{name}=…")
    return value


def _index(given: str) -> int:
    """Of a chunk; the first one unless another is given."""
    if given and not (given.isascii() and given.isdigit() and len(given) < 12):
        raise InvalidRequest(f"chunk can't be {given!r}", way_out="Give a number from 0.")
    return check_count("chunk", int(given or 0), least=0)


def _blocks(read: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    blocks = read["evidence"]
    return blocks if isinstance(blocks, list) else []
