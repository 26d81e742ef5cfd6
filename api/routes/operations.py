"""`/health`, `/ready` and `/metrics`, for operators. No tenant data."""

import asyncio
import hmac
from ipaddress import IPv6Address, ip_address

from fastapi import APIRouter, Request, Response
from pydantic import SecretStr

from analytiq.errors import AccessDeniedError, AnalytiqError
from analytiq.telemetry import metrics
from api.context import ServicesOf
from api.problems import DEFAULT_RETRY_SECONDS
from api.schemas.wire import ResponseBody
from api.waiting_work import WaitingWork

router = APIRouter(tags=["operations"])

READY_SECONDS = 5.0
_PROXIED = ("x-forwarded-for", "forwarded", "via", "x-real-ip")
"""Headers set by proxies; a request through a proxy on this machine comes from another machine."""


class Health(ResponseBody):
    """Alive."""

    status: str = "ok"


@router.get("/health", operation_id="get_health")
async def get_health() -> Health:
    """Report that the process is alive. Restart the process if it does not answer."""
    return Health()


@router.get("/ready", operation_id="get_readiness", responses={503: {"model": Health}})
async def get_readiness(services: ServicesOf, response: Response) -> Health:
    """Report whether the process can reach MongoDB. Send no requests to the process while the answer is 503."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await services.connection.ping()
    except (AnalytiqError, TimeoutError):
        response.status_code = 503
        response.headers["Retry-After"] = str(int(DEFAULT_RETRY_SECONDS))
        return Health(status="MongoDB does not respond")
    return Health()


@router.get("/metrics", operation_id="get_metrics", response_class=Response)
async def get_metrics(request: Request, services: ServicesOf) -> Response:
    """Return metrics in Prometheus' text format.

    Requires the operator's token. If none is configured, only calls from this machine are answered.
    """
    require_operator(request, services.settings.telemetry.metrics_token)
    waiting_work: WaitingWork = request.app.state.waiting_work
    await waiting_work.measure(services.repositories.jobs)
    directory: str | None = request.app.state.metrics_directory
    content = await asyncio.to_thread(metrics.exposition, directory)
    return Response(content, media_type=metrics.CONTENT_TYPE)


def require_operator(request: Request, token: SecretStr | None) -> None:
    """Refuse metrics to callers without access.

    Raises:
        AccessDeniedError: wrong token, or no token is configured and the call comes from another machine.
    """
    if token is not None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), token.get_secret_value().encode()):
            return
        raise AccessDeniedError(
            "Metrics need `Authorization: Bearer …` with the value of ANALYTIQ_TELEMETRY__METRICS_TOKEN.",
            code="unauthenticated",
        )
    is_proxied = any(name in request.headers for name in _PROXIED)
    if is_proxied or not _is_of_this_machine(request.client.host if request.client else ""):
        raise AccessDeniedError(
            "Metrics are available on this machine only. To read them from elsewhere, set"
            " ANALYTIQ_TELEMETRY__METRICS_TOKEN and send it as `Authorization: Bearer …`."
        )


def _is_of_this_machine(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
