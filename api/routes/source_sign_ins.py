"""Sign-ins of people for sources: `/sources/{id}/authorization`, and the address to which the service returns."""

from typing import Annotated
from urllib.parse import quote

import structlog
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from analytiq.composition import Services
from analytiq.errors import AnalytiqError
from analytiq.ingestion.sources.configuration.signing_in import SignInRefusedError
from analytiq.models.audit import ActorKind
from api.api_route import ApiRoute
from api.context import CurrentCaller, ServicesOf
from api.routes.auth import base_of
from api.schemas.sources import SourceSignInResponse

log = structlog.get_logger("api")

PATH = "/v0/auth/sources"
COOKIE = "analytiq_source_sign_in"
COOKIE_SECONDS = 600

router = APIRouter(tags=["sources"], route_class=ApiRoute)
callback_router = APIRouter(prefix=PATH, tags=["sources"])


def sign_in_redirect_url(request: Request, services: Services) -> str:
    """Return the address to which services return the browser of a person who signs in for a source."""
    return f"{base_of(request, services)}{PATH}/callback"


@router.post("/sources/{source_id}/authorization", operation_id="begin_source_sign_in")
async def begin_source_sign_in(
    *, request: Request, response: Response, services: ServicesOf, caller: CurrentCaller, source_id: str
) -> SourceSignInResponse:
    """Begin a sign-in at the source's service. The same browser completes it within ten minutes."""
    base = base_of(request, services)
    departure = await services.ingestion.source_sign_ins.begin(
        caller.organization.id,
        source_id,
        user_id=caller.actor.id if caller.actor.kind is ActorKind.USER else None,
        redirect_uri=sign_in_redirect_url(request, services),
    )
    response.set_cookie(
        COOKIE,
        departure.secret.get_secret_value(),
        max_age=COOKIE_SECONDS,
        path=PATH,
        httponly=True,
        samesite="lax",
        secure=base.startswith("https:"),
    )
    return SourceSignInResponse(url=departure.url)


@callback_router.get(
    "/callback", operation_id="finish_source_sign_in", status_code=303, response_class=RedirectResponse
)
async def finish_source_sign_in(
    request: Request,
    services: ServicesOf,
    state: Annotated[str, Query(max_length=500)] = "",
    code: Annotated[str, Query(max_length=5000)] = "",
) -> Response:
    """Complete the sign-in of a source, and show the source. The page of sources explains the code of a failure."""
    secret = request.cookies.get(COOKIE, "")
    try:
        if not secret or not code:
            raise SignInRefusedError(
                "The service did not sign you in. Begin again on the source's page.", code="sign_in_denied"
            )
        source = await services.ingestion.source_sign_ins.finish(secret=secret, state=state, code=code)
    except AnalytiqError as error:
        log.info("api.source_sign_in_refused", code=error.code)
        # A code, no sentence: a foreign link must not put words of its own into the page.
        response: Response = RedirectResponse(f"/sources/?sign_in_error={quote(error.code)}", status_code=303)
    else:
        log.info("api.source_signed_in", source_id=source.id)
        response = RedirectResponse(f"/sources/view/?id={source.id}&signed_in=1", status_code=303)
    response.delete_cookie(COOKIE, path=PATH)
    return response
