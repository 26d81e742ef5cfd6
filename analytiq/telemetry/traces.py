"""OpenTelemetry traces from a request through the jobs that it caused; off without a collector's address.

Each enqueued job stores the current span's W3C `traceparent`, which its worker continues. An upload, its extraction,
its indexing and the search that finds it are thus one trace. While tracing is off, a span costs one comparison (0.2
µs), and OpenTelemetry is not imported (25 MB, 0.2 s).
"""

import contextlib
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING

from analytiq.settings import TelemetrySettings

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Link, Tracer

AttributeValue = str | int | float | bool

_tracer: "Tracer | None" = None
_continues_callers = False


def configure(settings: TelemetrySettings, process: str) -> "TracerProvider | None":
    """Send this process's spans to the collector from now on; without an address, trace nothing.

    A thread sends spans in batches, and once more when the process ends. Shutting down the returned provider sends them
    earlier.
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
    use(provider.get_tracer("analytiq"), continues_callers=settings.continues_callers)
    return provider


def use(tracer: "Tracer | None", *, continues_callers: bool = False) -> None:
    """Trace with this tracer from now on; None traces nothing."""
    global _tracer, _continues_callers
    _tracer = tracer
    _continues_callers = continues_callers


@contextlib.contextmanager
def requested(name: str, traceparent: str | None, /, **attributes: AttributeValue | None) -> Generator[None]:
    """Open the span of a request. Unless settings trust callers, it starts a trace of its own, linked to theirs.

    A `traceparent` also decides about sampling: any caller could have every trace sent, or hide their own.
    """
    if _tracer is None:
        yield
    elif _continues_callers:
        with continued(name, traceparent, **attributes):
            yield
    else:
        from opentelemetry import context, trace

        link = trace.Link(trace.get_current_span(_context_of(traceparent)).get_span_context())
        token = context.attach(context.Context())
        try:
            with span(name, [link] if link.context.is_valid else [], **attributes):
                yield
        finally:
            context.detach(token)


@contextlib.contextmanager
def span(name: str, links: "Sequence[Link]" = (), /, **attributes: AttributeValue | None) -> Generator[None]:
    """Open a span. Attributes are ids and counts, never contents, names or questions; errors are noted by class."""
    if _tracer is None:
        yield
        return
    with _tracer.start_as_current_span(
        name, links=links, record_exception=False, set_status_on_exception=False
    ) as current:
        current.set_attributes({key: value for key, value in attributes.items() if value is not None})
        try:
            yield
        except BaseException as error:
            from opentelemetry.trace import Status, StatusCode

            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


@contextlib.contextmanager
def continued(name: str, traceparent: str | None, /, **attributes: AttributeValue | None) -> Generator[None]:
    """Open a span caused by another process or an earlier request; `traceparent` is from `current_traceparent`."""
    if _tracer is None:
        yield
        return
    from opentelemetry import context

    token = context.attach(_context_of(traceparent))
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
    """Return the current span as W3C Trace Context; None without a span."""
    if _tracer is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def _context_of(traceparent: str | None) -> "Context":
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: Mapping[str, str] = {} if traceparent is None else {"traceparent": traceparent}
    return TraceContextTextMapPropagator().extract(carrier, context=Context())
