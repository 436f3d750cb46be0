"""The inspector as one APIRouter: an address, who asks, and the page that a thread makes of it (API-5).

Pages are made off the event loop, so that no other request waits for one. It opens nothing, and what it is handed
others close.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.responses import JSONResponse, RedirectResponse, Response

from citewell.errors import CitewellError, Unauthorized, UnknownEvidence
from citewell.server import discreet
from citewell.server.faults import status_of
from citewell.server.rates import Rates
from citewell.server.web.answers import Answer, Answers, Pairs
from citewell.server.web.gate import COOKIE, HEADERS, HOME, Gate, from_elsewhere, local, set_cookie
from citewell.server.web.logins import Logins
from citewell.server.web.pages import address, address_of, assets, draw
from citewell.server.web.questions import Questions
from citewell.server.web.runs import Runs

if TYPE_CHECKING:
    from starlette.requests import Request

    from citewell.app import Knowledge
    from citewell.server.callers import Caller, Callers
    from citewell.server.desk import Desk
    from citewell.server.jobs import Jobs, JobSeen

Build = Callable[["Caller", Pairs], Answer]
Endpoint = Callable[["Request"], Awaitable[Response]]


def router(knowledge: Knowledge, *, callers: Callers, desk: Desk, jobs: Jobs) -> APIRouter:
    """Every page under `HOME`, and `/`, which leads there.

    Args:
        knowledge: to ask.
        callers: who may; the scope of each holds on every page.
        desk: where pages are made.
        jobs: the ingestions to show, each to its own caller.
    """
    settings = knowledge.settings.server
    folder = None if settings.evaluations is None else Path(settings.evaluations)
    answers = Answers(Questions(knowledge), Runs(folder))
    secure = (settings.public_url or "").lower().startswith("https:")
    web = _Web(Gate(callers, Logins(), Rates(settings.rate)), answers, desk, jobs, secure=secure)
    made = APIRouter(include_in_schema=False)
    for path, methods, endpoint in web.routes():
        made.add_route(path, endpoint, methods=methods, include_in_schema=False)
    return made


class _Web:
    """The endpoints of one server; `secure`: people reach it over https alone."""

    def __init__(self, gate: Gate, answers: Answers, desk: Desk, jobs: Jobs, *, secure: bool) -> None:
        self._gate, self._answers, self._desk, self._jobs, self._secure = gate, answers, desk, jobs, secure

    def routes(self) -> list[tuple[str, list[str], Endpoint]]:
        """Address, methods and endpoint of each; the last takes whatever is left below `HOME`."""
        answers, get, post = self._answers, ["GET"], ["POST"]
        pages: dict[str, Build] = {
            "": answers.search,
            "/evidence": answers.evidence,
            "/document": answers.document,
            "/corpus": answers.corpus,
            "/evaluations": lambda caller, _: answers.evaluations(caller),
            "/evaluation": answers.evaluation,
        }
        return [
            ("/", get, self._home),
            *((f"{HOME}{path}", get, self._page(build)) for path, build in pages.items()),
            (f"{HOME}/jobs", get, self._job_list),
            (f"{HOME}/job", get, self._job),
            (f"{HOME}/login", get, self._login_page),
            (f"{HOME}/login", post, self._login),
            (f"{HOME}/logout", post, self._logout),
            (f"{HOME}/static/{{name}}", get, self._static),
            (f"{HOME}/{{rest:path}}", get, self._page(_nowhere)),
        ]

    async def _home(self, _: Request) -> Response:
        return _redirect(HOME)

    def _page(self, build: Build) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await self._answered(request, build)

        return endpoint

    async def _job_list(self, request: Request) -> Response:
        def build(caller: Caller, _: Pairs) -> Answer:
            return self._answers.jobs([seen.to_dict() for seen in told])

        told: list[JobSeen] = []  # jobs change in the event loop alone, and are looked at there

        def look(caller: Caller) -> None:
            told.extend(job.now() for job in self._jobs.listed(caller.name))

        return await self._answered(request, build, look)

    async def _job(self, request: Request) -> Response:
        found: list[JobSeen] = []
        name = request.query_params.get("name", "")

        def look(caller: Caller) -> None:
            job = self._jobs.find(name, caller.name)
            found.extend([] if job is None else [job.now()])

        def build(_: Caller, __: Pairs) -> Answer:
            if not found:
                raise UnknownEvidence(f"there is no ingestion {name!r}", way_out="Choose one from the list.")
            return self._answers.job(found[0].to_dict())

        return await self._answered(request, build, look)

    async def _answered(
        self, request: Request, build: Build, look: Callable[[Caller], None] = lambda _: None
    ) -> Response:
        """The page, or why there is none; `look` is called in the event loop first."""
        caller = None
        try:
            caller = self._gate.caller(request)
            look(caller)
            pairs = request.query_params.multi_items()
            return await self._desk.run(self._made, request, caller, build, pairs)
        except CitewellError as error:
            return self._refused(request, caller, error)

    def _made(self, request: Request, caller: Caller, build: Build, pairs: Pairs) -> Response:
        """In a thread of the desk."""
        answer = build(caller, pairs)
        if _wants_json(request) and answer.data is not None:
            return _with_headers(JSONResponse(answer.data, answer.status))
        return self._drawn(request, caller, answer)

    def _drawn(self, request: Request, caller: Caller | None, answer: Answer) -> Response:
        common = {"caller": caller, "open": self._gate.open, "here": answer.here, "refresh": None}
        linked = {"json_url": None if answer.data is None else _json_address(request)}
        return _html(draw(answer.template, {**common, **linked, **answer.values}), answer.status)

    def _refused(self, request: Request, caller: Caller | None, error: CitewellError) -> Response:
        error = discreet.told(error, caller)
        status = status_of(error)
        if _wants_json(request):
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            return _with_headers(JSONResponse({"error": error.to_dict()}, status, headers))
        if isinstance(error, Unauthorized):
            return self._unknown(request)
        return self._drawn(request, caller, Answer("error.html", "", {"error": error, "status": status}, status=status))

    def _unknown(self, request: Request) -> Response:
        """To the log-in; but a link of another site comes without the cookie, so that the page is asked for again."""
        if from_elsewhere(request):
            return self._drawn(request, None, Answer("bounce.html", "", {"refresh": 0}))
        wanted = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
        return _redirect(address("login", next=wanted))

    async def _login_page(self, request: Request) -> Response:
        if self._gate.open:
            return _redirect(HOME)
        values = {"error": None, "next": local(request.query_params.get("next", ""))}
        return self._drawn(request, None, Answer("login.html", "", values))

    async def _login(self, request: Request) -> Response:
        try:
            name, wanted = await self._gate.log_in(request)
        except CitewellError as error:
            values = {"error": error, "next": HOME}
            return self._drawn(request, None, Answer("login.html", "", values, status=status_of(error)))
        response = _redirect(wanted)
        set_cookie(response, name, secure=self._secure or request.url.scheme == "https")
        return response

    async def _logout(self, request: Request) -> Response:
        try:
            self._gate.log_out(request)
        except CitewellError as error:
            return self._refused(request, None, error)
        response = _redirect(address("login"))
        response.delete_cookie(COOKIE, path=HOME, httponly=True, samesite="strict")
        return response

    async def _static(self, request: Request) -> Response:
        asset = assets().get(request.path_params["name"])
        if asset is None:
            missing = UnknownEvidence("there is no such file", way_out="Follow a link.")
            return self._refused(request, None, missing)
        response = _with_headers(Response(asset.data, media_type=asset.media_type))
        if request.query_params.get("v") == asset.version:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def _nowhere(_: Caller, __: Pairs) -> Answer:
    raise UnknownEvidence("there is no such page", way_out="Follow a link.")


def _wants_json(request: Request) -> bool:
    return request.query_params.get("format") in ("json", "agent")


def _json_address(request: Request) -> str:
    """The same page as JSON."""
    pairs = [(name, value) for name, value in request.query_params.multi_items() if name != "format"]
    return address_of(request.url.path.removeprefix(HOME).strip("/"), [*pairs, ("format", "json")])


def _html(text: str, status: int) -> Response:
    # What no encoding takes (a lone half of a pair) is shown as a question mark instead of breaking the page.
    return _with_headers(Response(text.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8"))


def _redirect(target: str) -> Response:
    return _with_headers(RedirectResponse(target, 303))


def _with_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response
