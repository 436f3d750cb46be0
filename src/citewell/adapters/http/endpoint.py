"""Posts JSON to one configured address and returns the JSON that comes back, with bounded patience.

It asks nobody but that address: no redirect is followed, and proxies and certificates are those given, not what the
environment happens to name, for a proxy reads every passage (`trust_env` turns that on). The key is sent as a bearer
token and appears in no message, repr or log. What is asked and what an answer means, the caller knows.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from itertools import count

import httpx2

from citewell.adapters.http.faults import FAULTS, Fault, fault_of, fault_of_status
from citewell.adapters.http.voice import Voice
from citewell.errors import CitewellError, ConfigError

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 8.0
_SAID_BYTES = 65_536
_SAID_CHARACTERS = 300
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try.

    Attributes:
        attempt_s: for one request, from connecting to the last byte.
        total_s: for all of them and the waiting between; a wait that would end later is not begun.
        retries: how many more requests after the first.
    """

    attempt_s: float
    total_s: float
    retries: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The endpoint is there and won't take this payload; a smaller one may do."""

    error: CitewellError


class Endpoint:
    """One address, safe to use from several threads."""

    def __init__(
        self,
        url: httpx2.URL,
        voice: Voice,
        *,
        api_key: str | None,
        proxy: str | None,
        trust_env: bool,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """Nothing is sent yet.

        Raises:
            ConfigError: the key or the proxy can't be used.
        """
        self._url = url.copy_with(username=None, password=None)
        self._voice = voice
        self._clock = clock
        self._sleep = sleep
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "citewell"}
        key = _usable_key(api_key, voice)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._hide = _hiding(key)
        try:
            self._client = httpx2.Client(
                headers=headers,
                auth=(url.username, url.password) if url.userinfo and not key else None,
                proxy=proxy,
                trust_env=trust_env,
                verify=_certificates(url, trust_env=trust_env),
                follow_redirects=False,
            )
        except (ValueError, ImportError, httpx2.InvalidURL) as error:
            raise ConfigError(
                f"the proxy of the {voice.what} can't be used: {type(error).__name__}",
                way_out="Name it as http://host:port.",
            ) from error

    def __str__(self) -> str:
        """The address without credentials and query, for messages."""
        return str(self._url.copy_with(query=None, fragment=None))

    def close(self) -> None:
        """Close every connection. Idempotent."""
        self._client.close()

    def post(self, payload: Mapping[str, object], patience: Patience, *, limit: int) -> object | Refused:
        """Post, wait and try again while it may help, and return the parsed answer, or that it refused the payload.

        Args:
            payload: JSON values.
            patience: see there. Waits are 0.5, 1, 2, 4, 8, 8, ... seconds, or what `Retry-After` asks for.
            limit: the most bytes that an answer may have.

        Raises:
            CitewellError: the voice's `unavailable` for nobody there, too slow, out of order, over the rate or not
                allowed; its `error` for an answer that is no JSON.
        """
        if self._client.is_closed:
            raise self._voice.failure(self._voice.closed, "Make a new one.", unavailable=False)
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        started = self._clock()
        deadline = started + patience.total_s
        for attempt in count():
            answer = self._attempt(body, min(patience.attempt_s, deadline - self._clock()), limit)
            if isinstance(answer, bytes):
                return self._parse(answer)
            wait = min(_FIRST_WAIT_S * 2**attempt, _LONGEST_WAIT_S) if answer.wait_s is None else answer.wait_s
            if not answer.may_pass or attempt >= patience.retries or self._clock() + wait >= deadline:
                error = self._error(answer, attempt + 1, self._clock() - started)
                if answer.of_payload:
                    return Refused(error)
                raise error
            self._sleep(wait)
        raise AssertionError("unreachable: the loop ends by returning or raising")

    def _attempt(self, body: bytes, time_s: float, limit: int) -> bytes | Fault:
        until = self._clock() + time_s
        try:
            with self._client.stream("POST", self._url, content=body, timeout=time_s) as response:
                if not response.is_success:
                    said = b"".join(self._read(response, _SAID_BYTES, until))[:_SAID_BYTES]
                    return _refusal(response, self._hide(said))
                chunks = list(self._read(response, limit, until))
        except tuple(FAULTS) as error:
            fault = fault_of(error)
            return replace(fault, says=f"{fault.says} ({type(error).__name__}: {error})")
        size = sum(map(len, chunks))
        if size > limit:
            return Fault(f"answers with more than {limit:,} bytes", unavailable=False)
        return self._hide(b"".join(chunks))

    def _read(self, response: httpx2.Response, limit: int, until: float) -> Iterator[bytes]:
        """The body, at most one piece beyond the limit; a body that trickles counts as too slow."""
        size = 0
        for chunk in response.iter_bytes():
            yield chunk
            size += len(chunk)
            if size > limit:
                return
            if self._clock() > until:
                raise httpx2.ReadTimeout("the body takes too long")

    def _parse(self, body: bytes) -> object:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            start = _one_line(body.decode("utf-8", "replace"))
            raise self._voice.failure(
                f"the {self._voice.what} {self} answers with what is no JSON: {start!r}",
                "Check that {section}.url names {speaks}.",
                unavailable=False,
            ) from error

    def _error(self, fault: Fault, attempts: int, seconds: float) -> CitewellError:
        tried = f" (asked {attempts} times in {seconds:.1f} s)" if attempts > 1 else ""
        asks = f"; it asks to wait {fault.wait_s:.0f} s" if fault.wait_s is not None else ""
        message = f"the {self._voice.what} {self} {fault.says}{asks}{tried}"
        return self._voice.failure(message, fault.way_out, unavailable=fault.unavailable)


def _usable_key(api_key: str | None, voice: Voice) -> str:
    """The key without surrounding white space; others than printable ASCII can't be in a header."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            "the API key holds characters that no key has", way_out=f"Copy it again ({voice.section}.api-key)."
        )
    return key


def _hiding(key: str) -> Callable[[bytes], bytes]:
    """Takes the key out of whatever an endpoint says; a closure, because attributes end up in dumps and debuggers."""
    secret = key.encode("ascii")
    return lambda body: body.replace(secret, b"[api key]") if secret else body


def _certificates(url: httpx2.URL, *, trust_env: bool) -> ssl.SSLContext:
    """The system's certificate authorities; none for plain HTTP, which never asks and loads faster without."""
    if url.scheme == "https":
        return httpx2.create_ssl_context(trust_env=trust_env)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _refusal(response: httpx2.Response, said: bytes) -> Fault:
    fault = fault_of_status(response.status_code, _reason(said), wait_s=_retry_after(response.headers))
    if fault is None:
        raise AssertionError(f"{response.status_code} is no refusal")
    return fault


def _reason(body: bytes) -> str:
    """What an error's body says, as one short line: `error.message` or `message` where it is JSON, else its text."""
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _one_line(text)
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    return _one_line(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))


def _one_line(text: str) -> str:
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= _SAID_CHARACTERS else line[:_SAID_CHARACTERS] + "…"


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds that `Retry-After` asks for (RFC 9110, 10.2.3); a date is taken relative to the answer's own `Date`."""
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        return max(0.0, (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (ValueError, TypeError):
        return None
