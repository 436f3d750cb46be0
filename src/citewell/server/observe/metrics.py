"""Figures for Prometheus: requests by route, lookups by mode, paths by name; no label tells of a caller (API-4).

Labels are names of routes, modes, paths and outcomes alone, of which there are few: neither scope nor document nor
query ever becomes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from citewell.lookup import LookupResult

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The figures of one server; safe to use from several threads."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "citewell_http_requests", "Requests answered.", ["route", "method", "status"], registry=registry
        )
        self._request_seconds = _histogram(registry, "http_request", "Seconds to a request's last byte.", "route")
        self._lookups = Counter("citewell_lookups", "Lookups answered.", ["mode", "status"], registry=registry)
        self._degraded = Counter(
            "citewell_lookups_degraded", "Lookups that missed a part.", ["mode"], registry=registry
        )
        self._lookup_seconds = _histogram(registry, "lookup", "Seconds of a lookup.", "mode")
        self._embed_seconds = _histogram(registry, "embed", "Seconds of a query's embedding.", "mode")
        self._path_seconds = _histogram(registry, "path", "Seconds of one path's search.", "path", "mode")
        self._paths = Counter(
            "citewell_paths", "What became of each path.", ["path", "mode", "status"], registry=registry
        )

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """A figure that is asked for when the page is."""
        Gauge(f"citewell_{name}", text, registry=self._registry).set_function(value)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(route, method, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def lookup(self, found: LookupResult) -> None:
        """Count a lookup, and each of its paths, as its trace reports them."""
        trace = found.trace
        self._lookups.labels(trace.mode, found.status).inc()
        if found.degraded:
            self._degraded.labels(trace.mode).inc()
        self._lookup_seconds.labels(trace.mode).observe(seconds_of(found))
        if "embed" in trace.milliseconds:
            self._embed_seconds.labels(trace.mode).observe(trace.milliseconds["embed"] / 1000)
        for report in (*trace.paths, *trace.refill_paths):
            self._paths.labels(report.path, trace.mode, report.status).inc()
            if report.status == "ran":
                self._path_seconds.labels(report.path, trace.mode).observe(report.milliseconds / 1000)

    def page(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self._registry)


def seconds_of(found: LookupResult) -> float:
    """What a lookup took."""
    return found.trace.milliseconds.get("total", 0.0) / 1000


def _histogram(registry: CollectorRegistry, name: str, text: str, *labels: str) -> Histogram:
    return Histogram(f"citewell_{name}_seconds", text, labels, registry=registry, buckets=_SECONDS)
