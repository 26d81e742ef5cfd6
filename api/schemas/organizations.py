"""Request and response bodies of organizations and access tokens."""

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from analytiq.models.account import Permission, TokenScope
from analytiq.models.organization import CacheScope, Organization
from analytiq.tenancy.organizations.service import IssuedToken
from api.permissions import RULES
from api.schemas.search import Time
from api.schemas.wire import NO_CONTROLS, MadeBy, Moment, RequestBody, ResponseBody


class OrganizationResponse(ResponseBody):
    """An organization."""

    organization_id: str = Field(validation_alias="id")
    name: str
    cache_scope: CacheScope = Field(description="Present sharing of cached embeddings")
    may_share_cache: bool = Field(description="True if the operator allows organizations to share cached embeddings")
    created_at: Moment
    permission: Permission = Field(description="The caller's permission; each includes those before it")
    permission_needed: dict[str, Permission] = Field(description="The permission required by each operation")

    @classmethod
    def from_organization(
        cls, organization: Organization, permission: Permission, *, may_share_cache: bool
    ) -> "OrganizationResponse":
        """Build the response for a caller with this permission."""
        return cls.from_model(
            organization,
            cache_scope=organization.cache_scope if may_share_cache else CacheScope.ORGANIZATION,
            may_share_cache=may_share_cache,
            permission=permission,
            permission_needed={operation: rule.permission for operation, rule in RULES.items()},
        )


class OrganizationUpdate(RequestBody):
    """Settings to change. Omitted fields stay."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Acme", "cache_scope": "organization"}]}
    )

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), NO_CONTROLS] | None = (
        None
    )
    cache_scope: CacheScope | None = Field(
        None,
        description="`organization` (default): cached embeddings are private. `global`: they are shared with all "
        "other sharing organizations, so a text embedded by one of them is free. By price or response "
        "time, a sharing organization can detect whether another has a certain text. Therefore "
        "`global` is refused (409, `global_cache_not_allowed`) unless the operator sets "
        "ANALYTIQ_EMBEDDING__ALLOW_GLOBAL_CACHE. Effective from the next call on",
    )


class AccessTokenCreate(RequestBody):
    """An access token to create."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "nightly import", "scope": "write"}]}
    )

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), NO_CONTROLS]
    scope: TokenScope = Field(
        TokenScope.ADMIN, description="`read`, `write` or `admin`; only owners may create tokens with `admin`"
    )
    expires_at: Time | None = None


class AccessTokenResponse(ResponseBody):
    """An access token without its secret."""

    token_id: str = Field(validation_alias="id")
    name: str
    scope: TokenScope
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None
    made_by: MadeBy | None = Field(
        description="The creator, whose rights bound the token; null: created before creators were recorded"
    )
    permission: Permission | None = Field(
        description="The present permission: the scope's, or less if its creator has less; null: none, since the "
        "token is revoked or expired, or its creator has left the organization"
    )


class AccessTokenCreated(AccessTokenResponse):
    """A new access token with its secret, shown only once."""

    token: str = Field(description="Save the secret: it is not stored and not shown again")

    @classmethod
    def with_secret(cls, issued: IssuedToken, permission: Permission | None) -> "AccessTokenCreated":
        """Build the response with the token's secret."""
        return cls.from_model(issued.token, permission=permission, token=issued.secret.get_secret_value())


class AccessTokenList(ResponseBody):
    """A page of access tokens."""

    access_tokens: list[AccessTokenResponse]
    total_count: int
    skip: int
