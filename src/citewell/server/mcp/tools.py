"""The tools, one function each: arguments in, an Answer out; they block, and run in a desk's threads.

A tool narrows its caller's scope, names the session that remembers what it shows, and leaves the rest to Knowledge. It
knows no protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from citewell.admission import check_names, check_session
from citewell.checks import check_text, check_texts
from citewell.errors import InvalidRequest
from citewell.model import Citation, GuardReport
from citewell.printable import printable, printable_id, read_id
from citewell.projection import to_openai_fetch, to_openai_search, to_text_blocks
from citewell.server.discreet import found
from citewell.server.mcp import schemas
from citewell.server.mcp.answers import Answer, as_json
from citewell.server.service import check_size, check_switch
from citewell.tool import definition
from citewell.tool.shapes import Schema

if TYPE_CHECKING:
    from citewell.app import Knowledge
    from citewell.lookup import LookupResult
    from citewell.server.callers import Caller
    from citewell.server.mcp.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.

    Attributes:
        knowledge: to ask.
        caller: who asks.
        conversation: what the call belongs to if it names no session.
        arguments: as given, their names known, without those that are null.
        base_url: of pages that show a passage by its evidence key.
    """

    knowledge: Knowledge
    caller: Caller
    conversation: Conversation
    arguments: Mapping[str, Any]
    base_url: str

    @property
    def scope(self) -> tuple[str, ...] | None:
        """The labels that the call looks within."""
        return self.caller.narrowed(self.arguments.get("scope"))

    @property
    def named(self) -> str | None:
        """The session that the call names; None if it names none."""
        return check_session(self.arguments.get("session"))

    @property
    def session(self) -> str:
        """The name of the session that the call belongs to, as its caller knows it."""
        return self.named or self.conversation.name

    @property
    def kept(self) -> str | None:
        """The same as it is kept."""
        return self.caller.session(self.session)

    def text(self, name: str) -> str:
        """An argument that must be there.

        Raises:
            InvalidRequest: it isn't, or is no text.
        """
        if name not in self.arguments:
            raise InvalidRequest(f"the argument {name!r} is missing", way_out=f"Give `{name}` as a text.")
        return check_text(name, self.arguments[name])

    def lookup(self, query: str, **options: Any) -> LookupResult:  # noqa: ANN401 - admission checks them
        """Of the Knowledge, within the scope, as the caller may read it."""
        return found(self.knowledge.lookup(query, scope=self.scope, **options), self.caller)

    def read(self, key: str, session: str | None, neighbours: Any = 0) -> LookupResult:  # noqa: ANN401 - as above
        """As `lookup`."""
        read = self.knowledge.read(key, scope=self.scope, session=session, neighbours=neighbours)
        return found(read, self.caller)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as clients see it, and what runs it."""

    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    run: Callable[[Call], Answer]
    doing: str

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments without those that are null, which count as not given (API-8).

        Raises:
            InvalidRequest: one is unknown; names it, and those that are known.
        """
        check_names(list(given), list(self.takes["properties"]))
        return {name: value for name, value in given.items() if value is not None}


def lookup(call: Call) -> Answer:
    """Evidence for a question; without a session that the caller names, nothing is left out as known."""
    query = call.text("query")
    options = {name: value for name, value in call.arguments.items() if name not in ("query", "scope", "session")}
    options.setdefault("repeat", call.named is None)
    return _evidence(call, call.lookup(query, session=call.kept, **options))


def read(call: Call) -> Answer:
    """A passage and those around it."""
    key, around = read_id(call.text("id")), call.arguments.get("neighbours", 0)
    return _evidence(call, call.read(key, call.kept, around))


def check(call: Call) -> Answer:
    """What the guard says of an answer, or of ids."""
    given = [name for name in ("answer", "ids") if name in call.arguments]
    if len(given) != 1:
        raise InvalidRequest(
            f"a check takes one of `answer` and `ids`, and has {len(given)} of them",
            way_out="Give the answer's text, or a list of ids.",
        )
    if call.named is None and not call.conversation.lasting:
        raise InvalidRequest(
            "a check needs to know which session was shown the evidence",
            way_out="Give `session`, as lookup_knowledge and read_evidence named it in their answers.",
        )
    answer = call.text("answer") if given == ["answer"] else check_texts("ids", call.arguments["ids"])
    check_size(answer)
    strict = check_switch("strict", call.arguments.get("strict", False))
    report = call.knowledge.check(answer, session=call.kept, scope=call.scope, strict=strict)
    return Answer({**report.to_dict(), "session": call.session}, list(_report(report, call.session)))


def search(call: Call) -> Answer:
    """Titles and addresses of passages, as connectors expect; it shows no text, so nothing is recorded."""
    looked = call.lookup(call.text("query"))
    return as_json(to_openai_search(looked.to_agent(), base_url=call.base_url))


def fetch(call: Call) -> Answer:
    """One passage, as connectors expect; recorded if later calls can belong to the same conversation."""
    session = call.kept if call.conversation.lasting else None
    read = call.read(read_id(call.text("id")), session)
    items: Any = read.to_agent()["evidence"]
    return as_json(to_openai_fetch(items[0], base_url=call.base_url))


def _evidence(call: Call, result: LookupResult) -> Answer:
    seen = result.to_agent()
    first, *passages = to_text_blocks(seen)
    session = f"session: {printable_id(call.session)} (give it to check_citations)"
    return Answer({**seen, "session": call.session}, [f"{first}\n{session}", *passages])


def _report(report: GuardReport, session: str) -> Iterator[str]:
    verdict = "accepted" if report.ok else "rejected"
    lines = [
        f"{verdict}: {len(report.citations)} citations, {sum(c.verdict == 'shown' for c in report.citations)} shown"
    ]
    lines += [_line(citation) for citation in report.citations]
    lines += [f"{_line(citation)} (in code: counts for nothing)" for citation in report.in_code]
    yield "\n".join([*lines, f"session: {printable_id(session)}", f"note: {report.disclaimer}"])
    if not report.ok and report.cleaned:
        yield f"without the citations that were not shown:\n{printable(report.cleaned)}"


def _line(citation: Citation) -> str:
    detail = f": {' '.join(printable(citation.detail).split())}" if citation.detail else ""
    quote = f"; its quote: {citation.quote.verdict}" if citation.quote is not None else ""
    return f"[{printable_id(citation.raw)}] {citation.verdict}{detail}{quote}"


TOOLS: tuple[Tool, ...] = (
    Tool(
        definition.NAME,
        definition.TITLE,
        definition.DESCRIPTION,
        schemas.LOOKUP_ARGUMENTS,
        schemas.EVIDENCE_ANSWER,
        lookup,
        "searching",
    ),
    Tool(
        "read_evidence",
        "Read evidence",
        "Show one passage by its id, whole, and those before and after it. For a passage that was cut short, left "
        "out or already shown, or to see what stands around it.",
        schemas.READ_ARGUMENTS,
        schemas.EVIDENCE_ANSWER,
        read,
        "reading",
    ),
    Tool(
        "check_citations",
        "Check citations",
        "Check, before you send an answer, that each id that it cites was really shown to you, exists and is still the "
        "same text, and that quotes are true. It doesn't prove that a claim follows from its passage.",
        schemas.CHECK_ARGUMENTS,
        schemas.CHECK_ANSWER,
        check,
        "checking",
    ),
    Tool(
        "search",
        "Search",
        "Find passages: id, title and address of each, without text; `fetch` gives the text. For connectors that "
        "expect this pair; lookup_knowledge does both at once.",
        schemas.SEARCH_ARGUMENTS,
        schemas.SEARCH_ANSWER,
        search,
        "searching",
    ),
    Tool(
        "fetch",
        "Fetch",
        "Give the text of one result of `search` by its id.",
        schemas.FETCH_ARGUMENTS,
        schemas.FETCH_ANSWER,
        fetch,
        "reading",
    ),
)
