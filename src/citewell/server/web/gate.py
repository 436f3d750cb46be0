"""Who asks for a page, and what the headers of every answer say (SAFE-3, API-5).

A caller is known by a bearer token, or by the cookie that a log-in set; without tokens anyone is. The cookie goes with
no request that another site makes, and pages only read, so that there is nothing for another site to forge but a
log-in itself, which has to come from the page of this server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from citewell.errors import CitewellError, Forbidden, InvalidRequest, Unauthorized
from citewell.server.web.logins import LASTS_S, Logins

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from citewell.server.callers import Caller, Callers
    from citewell.server.rates import Rates

HOME: Final = "/inspect"
"""Every address of the inspector begins so."""

COOKIE: Final = "citewell-inspector"
_LONGEST_FORM: Final = 8_192

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""Nothing inline, nothing from elsewhere, no frames, no connections, no HTML made by scripts."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # under `no-referrer` a browser calls the origin of our own forms `null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    "Vary": "Cookie, Authorization",
}


class Gate:
    """Knows callers by their requests; to be used within one event loop.

    Args:
        rates: of callers' requests, and of failed log-ins by address.
    """

    def __init__(self, callers: Callers, logins: Logins, rates: Rates) -> None:
        self._callers, self._logins, self._rates = callers, logins, rates

    @property
    def open(self) -> bool:
        """Whether anyone may ask."""
        return self._callers.open

    def caller(self, request: Request) -> Caller:
        """Who asks.

        Raises:
            Unauthorized: nobody known.
            Busy: too often.
        """
        known = self._logins.caller(request.cookies.get(COOKIE, ""))
        caller = known or self._identified(request, *request.headers.getlist("authorization"))
        self._rates.count(f"caller {caller.name}")
        return caller

    async def log_in(self, request: Request) -> tuple[str, str]:
        """The name of a new log-in for the token in a form, and where to go.

        Raises:
            Forbidden: another site sent it.
            InvalidRequest: it is no form of ours.
            Unauthorized: the token is unknown.
            Busy: too many tries.
        """
        check_own(request)
        form = await _form(request)
        caller = self._identified(request, f"Bearer {form.get('token', '').strip()}")
        return self._logins.open(caller), local(form.get("next", ""))

    def log_out(self, request: Request) -> None:
        """Forget the log-in of this request.

        Raises:
            Forbidden: another site sent it.
        """
        check_own(request)
        self._logins.close(request.cookies.get(COOKIE, ""))

    def _identified(self, request: Request, *authorizations: str) -> Caller:
        try:
            return self._callers.identify(*authorizations)
        except CitewellError:
            address = request.client.host if request.client else ""
            if authorizations:  # a browser that isn't logged in yet tries nothing
                self._rates.count(f"address {address}")
            raise


def check_own(request: Request) -> None:
    """Refuse what a page of another site sends.

    Raises:
        Forbidden: it was.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = site not in (None, "same-origin", "none")
    if foreign or (origin is not None and urlsplit(origin).netloc != request.headers.get("host")):
        raise Forbidden("a page of another site may not do this", way_out="Use the inspector's own page.")


def local(address: str) -> str:
    """The address if it is one of the inspector's pages; else the first page."""
    plain = address.isprintable() and "\\" not in address
    within = address == HOME or address.startswith((f"{HOME}/", f"{HOME}?"))
    return address if plain and within else HOME


def from_elsewhere(request: Request) -> bool:
    """Whether a link of another site led here, so that the browser kept the cookie back."""
    return request.headers.get("sec-fetch-site") in ("cross-site", "same-site")


def set_cookie(response: Response, name: str, *, secure: bool) -> None:
    """Have the browser keep a log-in, from scripts and from requests of other sites."""
    response.set_cookie(COOKIE, name, max_age=int(LASTS_S), path=HOME, secure=secure, httponly=True, samesite="strict")


async def _form(request: Request) -> dict[str, str]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST_FORM:
            raise InvalidRequest("the form is too long", way_out="Send a token alone.")
    try:
        return {name: values[-1] for name, values in parse_qs(body.decode("utf-8")).items()}
    except ValueError:
        raise Unauthorized("the form can't be read", way_out="Use the inspector's own page.") from None
