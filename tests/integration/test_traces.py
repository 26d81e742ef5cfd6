"""One trace leads from an upload through its jobs to the search that finds it, over real OTLP."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from analytiq.settings import TelemetrySettings
from analytiq.telemetry import traces
from tests.integration.tenant import Tenant, prose


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    traces.use(provider.get_tracer("test"))
    yield exporter
    traces.use(None)
    provider.shutdown()


async def test_jobs_continue_the_trace_of_the_upload_that_caused_them(
    tenant: Tenant, exporter: InMemorySpanExporter
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()
    exporter.clear()
    with traces.span("request"):
        await tenant.upload("a.txt", prose("whales", 3))
    await tenant.drain()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    caused = [
        "job.extract",
        "extraction.parse",
        "job.membership_document",
        "job.sync",
        "indexing.stage",
        "indexing.commit",
    ]
    request = spans["request"].context
    assert request is not None
    for name in caused:
        context = spans[name].context
        assert context is not None
        assert context.trace_id == request.trace_id, name


async def test_spans_hold_no_text_and_no_name(tenant: Tenant, exporter: InMemorySpanExporter) -> None:
    await tenant.knowledge_base()
    await tenant.upload("secret-name.txt", "a secret sentence about whales")
    await tenant.drain()
    told = str([span.to_json() for span in exporter.get_finished_spans()])
    assert "job.sync" in told
    assert "secret" not in told


def test_failed_step_tells_its_class_and_not_its_words(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(ZeroDivisionError), traces.span("step"):
        raise ZeroDivisionError("secret words")
    (span,) = exporter.get_finished_spans()
    assert span.status.description == "ZeroDivisionError"
    assert "secret" not in span.to_json()


CALLER = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


def test_callers_flag_does_not_decide_what_is_sampled() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(0.0)))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    try:
        for trusts, sampled in ((False, 0), (True, 1)):
            exporter.clear()
            traces.use(provider.get_tracer("test"), continues_callers=trusts)
            with traces.requested("http.GET", CALLER):
                pass
            assert len(exporter.get_finished_spans()) == sampled
    finally:
        traces.use(None)
        provider.shutdown()


def test_request_links_to_the_trace_of_its_caller(exporter: InMemorySpanExporter) -> None:
    with traces.requested("http.GET", CALLER):
        pass
    with traces.requested("http.GET", "nonsense"):
        pass
    linked, alone = exporter.get_finished_spans()
    assert linked.context is not None
    assert linked.parent is None
    assert f"{linked.context.trace_id:032x}" not in CALLER
    assert [f"{link.context.trace_id:032x}" in CALLER for link in linked.links] == [True]
    assert not alone.links


def test_nothing_is_traced_unless_asked_for() -> None:
    traces.configure(TelemetrySettings(), "test")
    with traces.span("step"):
        assert traces.current_traceparent() is None


def test_spans_arrive_at_a_collector() -> None:
    received: Future[list[Span]] = Future()

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") is None and self.path == "/v1/traces":
                request = ExportTraceServiceRequest.FromString(body)
                spans = [span for one in request.resource_spans for scope in one.scope_spans for span in scope.spans]
                received.set_result(spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        provider = traces.configure(
            TelemetrySettings(otlp_endpoint=f"http://127.0.0.1:{server.server_port}/v1/traces"), "test"
        )
        assert provider is not None
        try:
            with traces.continued("outer", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"):
                pass
        finally:
            traces.use(None)
            provider.shutdown()
        (span,) = received.result(timeout=30)
        server.shutdown()
    assert span.name == "outer"
    assert span.trace_id.hex() == "0123456789abcdef0123456789abcdef"
