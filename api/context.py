"""Dependencies of routes: the services and the caller's organization."""

from typing import Annotated, cast

from fastapi import Depends, Path, Query, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from pydantic import StringConstraints

from analytiq.composition import Services
from analytiq.ingestion.prompt_uses import OnUse
from analytiq.models.organization import Organization
from api.access import COOKIE, Caller, SignedInCaller, admit, identify_person, organization_id_of
from api.schemas.wire import NO_NUL

bearer = HTTPBearer(auto_error=False, description="An access token of the organization")
cookie = APIKeyCookie(
    name=COOKIE, auto_error=False, description="A person's session; requests that change data also need `X-CSRF-Token`"
)


async def get_services(request: Request) -> Services:
    """Return the process's services."""
    return cast("Services", request.app.state.services)


async def get_request_id(request: Request) -> str:
    """Return the id shared by this request's log lines, jobs and errors."""
    return str(request.state.request_id)


ServicesOf = Annotated[Services, Depends(get_services)]
RequestId = Annotated[str, Depends(get_request_id)]


async def get_caller(
    request: Request,
    services: ServicesOf,
    organization_id: Annotated[str, Path(description="24 hex digits")],
    _bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    _cookie: Annotated[str | None, Depends(cookie)],
) -> Caller:
    """Return the admitted caller; the last two parameters exist for the schema only."""
    return await admit(request, services, organization_id)


async def get_token_caller(
    request: Request,
    services: ServicesOf,
    _bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Caller:
    """Return the admitted caller of an operation without an organization in its path; a session is not enough."""
    return await admit(request, services, await organization_id_of(request, services))


async def get_token_organization(caller: Annotated[Caller, Depends(get_token_caller)]) -> Organization:
    """Return the organization of the access token."""
    return caller.organization


async def get_noted_target(request: Request) -> dict[str, str]:
    """Return the ids that the audit record names beside those of the path; the route adds them."""
    request.state.audit_target = {}
    return cast("dict[str, str]", request.state.audit_target)


TokenOrganization = Annotated[Organization, Depends(get_token_organization)]
NotedTarget = Annotated[dict[str, str], Depends(get_noted_target)]
CurrentCaller = Annotated[Caller, Depends(get_caller)]


async def get_searcher(
    request: Request,
    services: ServicesOf,
    organization_id: Annotated[str, Path(description="24 hex digits")],
    kb_id: str,
    _bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    _cookie: Annotated[str | None, Depends(cookie)],
) -> Caller:
    """Return the admitted caller of a search; a token is read together with the knowledge base."""
    return await admit(request, services, organization_id, searched=(kb_id,))


Searcher = Annotated[Caller, Depends(get_searcher)]


async def get_organization(caller: CurrentCaller) -> Organization:
    """Return the organization of the path, opened by the caller's token or session."""
    return caller.organization


async def get_person(
    request: Request, services: ServicesOf, _cookie: Annotated[str | None, Depends(cookie)]
) -> SignedInCaller:
    """Return the signed-in person."""
    return await identify_person(request, services)


Person = Annotated[SignedInCaller, Depends(get_person)]
CurrentOrganization = Annotated[Organization, Depends(get_organization)]
Skip = Annotated[int, Query(ge=0, le=1_000_000, description="Number of items to skip")]
Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of items")]
NameSearch = Annotated[
    Annotated[str, StringConstraints(max_length=255), NO_NUL] | None,
    Query(description="A literal part of the name, ignoring case"),
]
OnPromptUse = Annotated[
    OnUse, Query(description="If prompts use it: refuse, or detach it from each prompt in a new version")
]
