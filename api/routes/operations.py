"""`/health`, `/ready`, `/metrics`: for those who run the system; no tenant's data."""

import asyncio

from fastapi import APIRouter, Request, Response

from analytiq.errors import AnalytiqError
from analytiq.models.job import JobKind, JobState
from analytiq.telemetry import metrics
from api.context import ApplicationOf
from api.problems import DEFAULT_RETRY_SECONDS
from api.schemas.wire import ResponseBody

router = APIRouter(tags=["operations"])

READY_SECONDS = 5.0


class Health(ResponseBody):
    """Alive."""

    status: str = "ok"


@router.get("/health", operation_id="get_health")
async def get_health() -> Health:
    """The process is alive; restart it if this does not answer."""
    return Health()


@router.get("/ready", operation_id="get_readiness", responses={503: {"model": Health}})
async def get_readiness(application: ApplicationOf, response: Response) -> Health:
    """The process can do its work: MongoDB answers. Send it no requests while it says 503."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await application.connection.ping()
    except (AnalytiqError, TimeoutError):
        response.status_code = 503
        response.headers["Retry-After"] = str(int(DEFAULT_RETRY_SECONDS))
        return Health(status="MongoDB does not answer")
    return Health()


@router.get("/metrics", operation_id="get_metrics", response_class=Response)
async def get_metrics(request: Request, application: ApplicationOf) -> Response:
    """Metrics in Prometheus' text format."""
    counts = await application.jobs.counts()
    waiting = counts.get((JobKind.SYNC.value, JobState.AVAILABLE.value), 0)
    metrics.queue_depth.set(waiting)
    directory: str | None = request.app.state.metrics_directory
    content = await asyncio.to_thread(metrics.exposition, directory)
    return Response(content, media_type=metrics.CONTENT_TYPE)
