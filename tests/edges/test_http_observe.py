"""Figures and spans of a server, made from lookups' traces, whichever edge asked."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from http_room import client, filled, settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from citewell.errors import StoreError
from citewell.lookup import LookupResult
from citewell.model import PathReport, Trace
from citewell.server.observe.lookups import Observer
from citewell.server.observe.metrics import Metrics
from citewell.server.observe.spans import Spans, exporting

FOUND = LookupResult(
    query="the secret plan",
    status="ok",
    degraded=("lexical: down",),
    evidence=(),
    trace=Trace(
        mode="hybrid",
        paths=(
            PathReport("dense", "ran", hits=3, milliseconds=20.0),
            PathReport("dense_filtered", "skipped", cause="no category"),
            PathReport("lexical", "failed", cause="down"),
        ),
        milliseconds={"hints": 10.0, "search": 30.0, "embed": 5.0, "total": 50.0},
    ),
)


def figures(page: bytes) -> dict[str, float]:
    lines = [line for line in page.decode("utf-8").splitlines() if line.startswith("citewell_")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines) if "_created" not in name}


@pytest.mark.requirement("API-4")
def test_a_lookup_counts_by_mode_and_each_path_by_name_mode_and_outcome() -> None:
    metrics = Metrics()
    Observer(metrics)(FOUND)
    page = figures(metrics.page())
    assert page['citewell_lookups_total{mode="hybrid",status="ok"}'] == 1
    assert page['citewell_lookups_degraded_total{mode="hybrid"}'] == 1
    assert page['citewell_lookup_seconds_sum{mode="hybrid"}'] == pytest.approx(0.05)
    assert page['citewell_embed_seconds_sum{mode="hybrid"}'] == pytest.approx(0.005)
    assert page['citewell_path_seconds_bucket{le="0.025",mode="hybrid",path="dense"}'] == 1
    assert page['citewell_path_seconds_bucket{le="0.01",mode="hybrid",path="dense"}'] == 0
    outcomes = {path: [status for status in ("ran", "skipped", "failed")
                       if page.get(f'citewell_paths_total{{mode="hybrid",path="{path}",status="{status}"}}')]
                for path in ("dense", "dense_filtered", "lexical")}  # fmt: skip
    assert outcomes == {"dense": ["ran"], "dense_filtered": ["skipped"], "lexical": ["failed"]}
    assert not [name for name in page if name.startswith("citewell_path_seconds_count") and "lexical" in name]


@pytest.mark.requirement("API-4")
def test_requests_count_by_the_pattern_of_their_route() -> None:
    with filled() as knowledge, client(knowledge) as http:
        http.get("/v1/evidence/a.md%23chunk-0")
        http.get("/v1/evidence/none.md%23chunk-0")
        http.get("/no/such/address")
        page = figures(http.get("/metrics").content)
    route = "/v1/evidence/{key:path}"
    assert page[f'citewell_http_requests_total{{method="GET",route="{route}",status="200"}}'] == 1
    assert page[f'citewell_http_requests_total{{method="GET",route="{route}",status="404"}}'] == 1
    assert page['citewell_http_requests_total{method="GET",route="(none)",status="404"}'] == 1
    assert page['citewell_http_request_seconds_count{route="/v1/evidence/{key:path}"}'] == 2


@pytest.fixture
def spans() -> Iterator[tuple[TracerProvider, InMemorySpanExporter]]:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    yield provider, kept
    provider.shutdown()


def milliseconds(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1_000_000


@pytest.mark.requirement("API-4")
def test_a_lookup_is_a_span_and_each_path_one_within_it(spans: tuple[TracerProvider, InMemorySpanExporter]) -> None:
    provider, kept = spans
    Spans(provider).lookup(FOUND)
    made = {span.name: span for span in kept.get_finished_spans()}
    lookup, dense = made["citewell.lookup"], made["citewell.path.dense"]
    assert set(made) == {
        "citewell.lookup",
        *(f"citewell.path.{path}" for path in ("dense", "dense_filtered", "lexical")),
    }
    assert milliseconds(lookup) == pytest.approx(50.0)
    assert milliseconds(dense) == pytest.approx(20.0)
    assert lookup.start_time is not None
    assert dense.start_time == lookup.start_time + 10_000_000
    assert all(span.parent is not None and span.parent.span_id == lookup.context.span_id
               for span in made.values() if span is not lookup and lookup.context)  # fmt: skip
    assert made["citewell.path.lexical"].status.status_code is StatusCode.ERROR
    assert dict(dense.attributes or {}) == {
        "citewell.path": "dense", "citewell.path.status": "ran", "citewell.path.hits": 3,
    }  # fmt: skip
    assert "secret" not in "".join(span.to_json() for span in made.values())


@pytest.mark.requirement("API-4")
def test_a_lookups_span_lies_within_its_requests(spans: tuple[TracerProvider, InMemorySpanExporter]) -> None:
    provider, kept = spans
    with filled() as knowledge, client(knowledge, spans=provider) as http:
        http.post("/v1/lookup", json={"query": "the secret plan"})
    made = kept.get_finished_spans()
    lookup = next(span for span in made if span.name == "citewell.lookup")
    request = next(span for span in made if span.parent is None)
    assert lookup.parent is not None
    assert request.context is not None
    assert lookup.parent.span_id == request.context.span_id
    assert request.name == "POST /v1/lookup"
    assert "secret" not in "".join(span.to_json() for span in made)


class Collector(BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    got: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        self.got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.requirement("API-4")
def test_spans_are_sent_to_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    Collector.got = []
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        provider = exporting()
        Spans(provider).lookup(FOUND)
        provider.shutdown()
        server.shutdown()
    names = []
    for path, body in Collector.got:
        assert path == "/v1/traces"
        sent = ExportTraceServiceRequest.FromString(body)
        names += [span.name for each in sent.resource_spans for scope in each.scope_spans for span in scope.spans]
    assert sorted(names) == sorted(
        ["citewell.lookup", "citewell.path.dense", "citewell.path.dense_filtered", "citewell.path.lexical"]
    )


@pytest.mark.slow
@pytest.mark.requirement("API-4")
def test_without_tracing_the_sdk_of_opentelemetry_is_not_loaded() -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests/support')\n"
        "from http_room import client, filled\n"
        "with filled() as knowledge, client(knowledge) as http:\n"
        "    assert http.post('/v1/lookup', json={'query': 'plan'}).status_code == 200\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.requirement("API-4")
def test_queries_are_in_the_log_only_where_the_settings_say_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "citewell.server.lookups")
    for queries in (False, True):
        with filled(settings(log_queries=queries)) as knowledge, client(knowledge) as http:
            http.post("/v1/lookup", json={"query": "the open plan"})
    said = [getattr(record, "query", None) for record in caplog.records if record.getMessage() == "lookup"]
    assert said == [None, "the open plan"]


@pytest.mark.requirement("API-4")
def test_what_cannot_be_told_of_costs_no_lookup(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: object) -> None:
        raise StoreError("no figures")

    metrics = Metrics()
    monkeypatch.setattr(metrics, "lookup", failing)
    Observer(metrics)(FOUND)
    assert "a lookup could not be told of" in caplog.text
