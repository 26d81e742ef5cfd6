"""The organization itself and `/access-tokens`."""

from fastapi import APIRouter, Response

from analytiq import clock
from analytiq.errors import ConflictError, InvalidInputError
from analytiq.models.organization import CacheScope
from api.api_route import ApiRoute
from api.context import CurrentCaller, CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.organizations import (
    AccessTokenCreate,
    AccessTokenCreated,
    AccessTokenList,
    AccessTokenResponse,
    OrganizationResponse,
    OrganizationUpdate,
)

router = APIRouter(tags=["organization"], route_class=ApiRoute)


@router.get("", operation_id="get_organization")
async def get_organization(services: ServicesOf, caller: CurrentCaller) -> OrganizationResponse:
    """Return the organization and the caller's permission."""
    may_share = services.settings.embedding.allow_global_cache
    return OrganizationResponse.from_organization(caller.organization, caller.permission, may_share_cache=may_share)


@router.put("", operation_id="update_organization")
async def update_organization(
    services: ServicesOf, caller: CurrentCaller, body: OrganizationUpdate
) -> OrganizationResponse:
    """Change the organization's settings. Omitted fields stay."""
    organization = caller.organization
    may_share = services.settings.embedding.allow_global_cache
    if body.cache_scope is CacheScope.GLOBAL and not may_share:
        raise ConflictError(
            "Sharing cached embeddings is disabled on this server, since it reveals whether another organization has a"
            " certain text. An operator enables it with ANALYTIQ_EMBEDDING__ALLOW_GLOBAL_CACHE=true.",
            code="global_cache_not_allowed",
        )
    if body.cache_scope is not None:
        organization = await services.tenancy.organizations.set_cache_scope(organization.id, body.cache_scope)
    if body.name is not None:
        organization = await services.tenancy.organizations.rename(organization.id, body.name)
    return OrganizationResponse.from_organization(organization, caller.permission, may_share_cache=may_share)


@router.post("/access-tokens", status_code=201, operation_id="create_access_token")
async def create_access_token(
    services: ServicesOf, caller: CurrentCaller, body: AccessTokenCreate
) -> AccessTokenCreated:
    """Create an access token. Only this response contains its secret.

    A token never allows more than its creator: it expires when the person leaves the organization and loses rights
    with the person's role. A token created with another token expires with that token.
    """
    if body.expires_at is not None and body.expires_at <= clock.now():
        raise InvalidInputError.of_field("expires_at", "Must be in the future. Choose a later time.")
    issued = await services.tenancy.organizations.issue_token(
        caller.organization.id,
        name=body.name,
        scope=body.scope,
        expires_at=body.expires_at,
        by=caller.permission,
        made_by=caller.maker,
    )
    (permission,) = await services.tenancy.organizations.permissions_of([issued.token])
    return AccessTokenCreated.with_secret(issued, permission)


@router.get("/access-tokens", operation_id="list_access_tokens")
async def list_access_tokens(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> AccessTokenList:
    """List access tokens, newest first, including revoked ones."""
    tokens, total = await services.tenancy.organizations.tokens(organization.id, skip=skip, limit=limit)
    permissions = await services.tenancy.organizations.permissions_of(tokens)
    shown = [
        AccessTokenResponse.from_model(token, permission=permission)
        for token, permission in zip(tokens, permissions, strict=True)
    ]
    return AccessTokenList(access_tokens=shown, total_count=total, skip=skip)


@router.post("/access-tokens/{token_id}/take-over", operation_id="take_over_access_token")
async def take_over_access_token(services: ServicesOf, caller: CurrentCaller, token_id: str) -> AccessTokenResponse:
    """Take over an access token, so that it outlasts its creator's membership. The secret stays the same.

    409 if the token is revoked, or older than the calling token.
    """
    token = await services.tenancy.organizations.take_over_token(
        caller.organization.id, token_id, caller.maker, by=caller.permission
    )
    (permission,) = await services.tenancy.organizations.permissions_of([token])
    return AccessTokenResponse.from_model(token, permission=permission)


@router.delete("/access-tokens/{token_id}", status_code=204, operation_id="revoke_access_token")
async def revoke_access_token(services: ServicesOf, caller: CurrentCaller, token_id: str) -> Response:
    """Revoke an access token, effective at once."""
    await services.tenancy.organizations.revoke_token(caller.organization.id, token_id, by=caller.permission)
    return Response(status_code=204)
