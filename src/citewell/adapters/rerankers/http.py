"""A reranking model behind HTTP as a Reranker: Cohere's, Jina's, or text-embeddings-inference's way of asking.

Knows portions and the time that is left; `adapters.http` knows the network, `styles` what is sent and what comes back.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

import httpx2

from citewell.adapters.http import Endpoint, Patience, Refused, Voice
from citewell.adapters.rerankers.styles import STYLES, Style, read_scores
from citewell.adapters.rerankers.texts import clean
from citewell.errors import ConfigError, RerankerError

_ANSWER_BYTES = 1 << 20
_VOICE = Voice(
    what="reranking endpoint",
    closed="the reranker is closed",
    section="reranker",
    speaks="a reranking endpoint of the style that reranker.style says",
    refused="Check reranker.name and reranker.style, and that texts are within the model's limit.",
    error=RerankerError,
    unavailable=RerankerError,
)


class HttpReranker:
    """A reranker behind an endpoint. Safe to call from several threads; close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        style: str = "cohere",
        api_key: str | None = None,
        batch_size: int | None = None,
        timeout_s: float = 5.0,
        retries: int = 2,
        proxy: str | None = None,
        trust_env: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent before the first question.

        Args:
            url: where the endpoint is; `endpoint_url` says how it is completed.
            model: its name there.
            style: `cohere`, `jina` or `tei`.
            api_key: sent as a bearer token.
            batch_size: texts per request, at most; None = what such endpoints take by default.
            timeout_s: for a question, with all its requests, retries and waits.
            retries: per request, after a time-out, a broken connection, 429 or 5xx; other refusals are final.
            proxy: such as http://host:port.
            trust_env: whether proxies and certificates named by the environment are used too.
            clock: seconds that only grow.
            sleep: waits so many seconds.

        Raises:
            ConfigError: one of these can't be used.
        """
        if style not in STYLES:
            raise ConfigError(f"reranker.style can't be {style!r}", way_out=f"Use one of {', '.join(STYLES)}.")
        chosen = STYLES[style]
        size = chosen.batch_size if batch_size is None else batch_size
        _check(model=model, batch_size=size, timeout_s=timeout_s, attempts=retries + 1)
        self.name = model
        self._style, self._batch_size = chosen, size
        self._timeout_s, self._retries, self._clock = timeout_s, retries, clock
        self._endpoint = Endpoint(
            endpoint_url(url, chosen),
            _VOICE,
            api_key=api_key,
            proxy=proxy,
            trust_env=trust_env,
            clock=clock,
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return f"HttpReranker({str(self._endpoint)!r}, {self.name!r})"

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in the order of the texts; higher is better, on the model's scale.

        Raises:
            RerankerError: nobody there, too slow, out of order, over the rate or not allowed; it refuses a text, or
                answers with what are no such scores.
        """
        deadline = self._clock() + self._timeout_s
        cleaned, scores = [_filled(text) for text in texts], list[float]()
        for start in range(0, len(cleaned), self._batch_size):
            scores += self._score(_filled(query), cleaned[start : start + self._batch_size], deadline)
        return scores

    def close(self) -> None:
        """Close every connection. Idempotent; the reranker can't be used afterwards."""
        self._endpoint.close()

    def __enter__(self) -> HttpReranker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _score(self, query: str, texts: Sequence[str], deadline: float) -> list[float]:
        """One request; if that is refused, two of half the size: endpoints differ in how much they take at once."""
        left = deadline - self._clock()
        if left <= 0:
            raise RerankerError(
                f"the reranking endpoint {self._endpoint} took longer than {self._timeout_s:g} s for all texts",
                way_out="Lower rag.rerank-k, or raise reranker.timeout.",
            )
        payload = self._style.payload(self.name, query, texts)
        limit = _ANSWER_BYTES + 8 * sum(map(len, texts))
        answer = self._endpoint.post(payload, Patience(left, left, self._retries), limit=limit)
        if isinstance(answer, Refused):
            if len(texts) < 2:
                raise answer.error
            half = len(texts) // 2
            return self._score(query, texts[:half], deadline) + self._score(query, texts[half:], deadline)
        return read_scores(answer, len(texts), self._style, f"the reranking endpoint {self._endpoint}")


def endpoint_url(url: str, style: Style) -> httpx2.URL:
    """The address that is asked: `url` up to and including `/rerank`.

    One that ends in `/rerank` is taken as it is; one without a path gets the style's; any other is a base and gets
    `/rerank`. A query stays.

    Raises:
        ConfigError: it is no HTTP address.
    """
    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL as error:
        raise _no_address(url, str(error)) from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _no_address(url, "it must begin with http:// or https:// and name a host")
    path = parsed.path.rstrip("/")
    if not path.endswith("/rerank"):
        path = f"{path}/rerank" if path else style.path
    return parsed.copy_with(path=path, fragment=None)


def _no_address(url: str, why: str) -> ConfigError:
    shown = re.sub(r"//[^/]*@", "//", url)  # a message must not carry a password
    return ConfigError(
        f"reranker.url is {shown!r}, which is no address: {why}", way_out="Name it like http://127.0.0.1:8080."
    )


def _check(*, model: str, **positive: float) -> None:
    if not model.strip():
        raise ConfigError("the reranking endpoint needs the name of a model", way_out="Set reranker.name.")
    for name, value in positive.items():
        if not value > 0:
            raise ConfigError(f"{name} can't be {value}", way_out="It must be more than 0.")


def _filled(text: str) -> str:
    """The text, or one space: endpoints refuse an empty string, and with it the whole portion."""
    return clean(text) or " "
