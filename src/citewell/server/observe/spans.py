"""Lookups as OpenTelemetry spans: one for the lookup, one for each path, made from the trace's timings (API-4).

A trace says how long a path took and not when it began, so every path's span begins where the search does. It knows no
exporter beside OTLP over HTTP, which the variables `OTEL_EXPORTER_OTLP_*` steer; needs the extra `otel`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from citewell.errors import ConfigError
from citewell.server.observe.metrics import seconds_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as TracerProvider
    from opentelemetry.trace import Span

    from citewell.lookup import LookupResult
    from citewell.model import PathReport

_MS = 1_000_000


def exporting() -> TracerProvider:
    """A provider that sends spans to a collector by OTLP over HTTP, in batches; who has it shuts it down.

    Raises:
        ConfigError: the extra is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ConfigError(
            "server.tracing needs the extra `otel`, which is not installed",
            way_out="Install it: pip install 'citewell[otel]'.",
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": "citewell"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Spans:
    """Makes spans of lookups that have just ended; a span of the request, if there is one, becomes their parent."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("citewell")

    def lookup(self, found: LookupResult) -> None:
        """The spans of a lookup; no text of query or documents is in them."""
        from opentelemetry import trace  # noqa: PLC0415 - an extra

        told = found.trace
        end = time.time_ns()
        start = end - int(seconds_of(found) * 1000 * _MS)
        span = self._tracer.start_span("citewell.lookup", start_time=start)
        span.set_attributes(
            {"citewell.mode": told.mode, "citewell.status": found.status, "citewell.evidence": len(found.evidence)}
        )
        within, begun = trace.set_span_in_context(span), start + int(told.milliseconds.get("hints", 0.0) * _MS)
        for report in told.paths:
            path = self._tracer.start_span(f"citewell.path.{report.path}", context=within, start_time=begun)
            _describe(path, report)
            path.end(begun + int(report.milliseconds * _MS))
        span.end(end)


def _describe(span: Span, report: PathReport) -> None:
    from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - an extra

    span.set_attributes(
        {"citewell.path": report.path, "citewell.path.status": report.status, "citewell.path.hits": report.hits}
    )
    if report.status == "failed":
        span.set_status(Status(StatusCode.ERROR))
