"""What routes ask for: the application, and the organization that the caller's token opens."""

from typing import Annotated, cast

from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from analytiq.bootstrap import Application
from analytiq.errors import AccessDeniedError, NotFoundError
from analytiq.models.organization import Organization
from analytiq.prompt_uses import OnUse
from api.schemas.wire import NO_NUL

bearer = HTTPBearer(auto_error=False, description="An access token of the organization")


def get_application(request: Request) -> Application:
    """The process's application."""
    return cast("Application", request.app.state.application)


def get_request_id(request: Request) -> str:
    """The id that ties this request's log lines, jobs and errors together."""
    return str(request.state.request_id)


ApplicationOf = Annotated[Application, Depends(get_application)]
RequestId = Annotated[str, Depends(get_request_id)]


async def open_with_header(application: Application, authorization: str | None) -> Organization:
    """The organization that the bearer token in the header opens."""
    scheme, _, secret = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise AccessDeniedError(
            "send an access token: `Authorization: Bearer …`; `analytiq token create` makes one",
            code="unauthenticated",
        )
    return await application.organizations.open_with(secret.strip())


async def require_organization(
    application: Application, organization_id: str, authorization: str | None
) -> Organization:
    """The organization with this id, if the bearer token in the header opens it.

    Another organization's id answers 404, like one that does not exist.
    """
    organization = await open_with_header(application, authorization)
    if organization.id != organization_id:
        raise NotFoundError(f"no organization has the id {organization_id!r}")
    return organization


async def get_organization(
    request: Request,
    application: ApplicationOf,
    organization_id: Annotated[str, Path(description="24 hex digits")],
    _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Organization:
    """The organization in the path, opened by the caller's token; `bearer` is there for the schema."""
    return await require_organization(application, organization_id, request.headers.get("authorization"))


CurrentOrganization = Annotated[Organization, Depends(get_organization)]
Skip = Annotated[int, Query(ge=0, le=1_000_000, description="How many to leave out before the first")]
Limit = Annotated[int, Query(ge=1, le=100, description="How many to answer at most")]
NameSearch = Annotated[
    Annotated[str, NO_NUL] | None,
    Query(max_length=255, description="A part of the name, literally; case does not count"),
]
OnPromptUse = Annotated[
    OnUse, Query(description="Where prompts use it: refuse, or detach it from them by a further version of each")
]
