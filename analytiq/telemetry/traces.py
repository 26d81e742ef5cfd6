"""Traces by OpenTelemetry, from the request through the jobs that it caused; off unless an address to send to is set.

The current span's W3C `traceparent` is written with each job that is asked for and taken up by its worker, so that an
upload, its extraction, its indexing and the search that finds it can be read as one trace. While tracing is off a span
costs one comparison (0.2 µs), and OpenTelemetry is not even imported (25 MB, 0.2 s).
"""

import contextlib
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

from analytiq.settings import TelemetrySettings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

AttributeValue = str | int | float | bool

_tracer: "Tracer | None" = None


def configure(settings: TelemetrySettings, process: str) -> "TracerProvider | None":
    """Send this process's spans to the collector from now on; without one, trace nothing.

    They are sent in batches by a thread, and once more when the process ends; shutting down what is returned does so
    before.
    """
    if settings.otlp_endpoint is None:
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    provider = TracerProvider(
        resource=Resource.create({"service.name": f"analytiq-{process}", "service.namespace": "analytiq"}),
        sampler=ParentBased(TraceIdRatioBased(settings.sample_ratio)),
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.otlp_endpoint)))
    use(provider.get_tracer("analytiq"))
    return provider


def use(tracer: "Tracer | None") -> None:
    """Trace with this tracer from now on; None: trace nothing."""
    global _tracer
    _tracer = tracer


@contextlib.contextmanager
def span(name: str, /, **attributes: AttributeValue | None) -> Generator[None]:
    """A step. Attributes are ids and counts, never contents, names or questions. An error is noted by its class."""
    if _tracer is None:
        yield
        return
    with _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as current:
        current.set_attributes({key: value for key, value in attributes.items() if value is not None})
        try:
            yield
        except BaseException as error:
            from opentelemetry.trace import Status, StatusCode

            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


@contextlib.contextmanager
def continued(name: str, traceparent: str | None, /, **attributes: AttributeValue | None) -> Generator[None]:
    """A step that another process, or an earlier request, caused; `traceparent` as `current_traceparent` gave it."""
    if _tracer is None:
        yield
        return
    from opentelemetry import context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: Mapping[str, str] = {} if traceparent is None else {"traceparent": traceparent}
    token = context.attach(TraceContextTextMapPropagator().extract(carrier, context=context.Context()))
    try:
        with span(name, **attributes):
            yield
    finally:
        context.detach(token)


def note(**attributes: AttributeValue | None) -> None:
    """Add attributes to the current span."""
    if _tracer is not None:
        from opentelemetry.trace import get_current_span

        get_current_span().set_attributes({key: value for key, value in attributes.items() if value is not None})


def current_traceparent() -> str | None:
    """The current span as W3C Trace Context writes it; None where there is none."""
    if _tracer is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")
