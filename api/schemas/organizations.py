"""Wire shapes of organizations and access tokens."""

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
    cache_scope: CacheScope = Field(description="Whom it shares embeddings with now")
    may_share_cache: bool = Field(description="Whether the operator allows organizations to share embeddings")
    created_at: Moment
    permission: Permission = Field(description="What whoever asks may do here; each includes those before it")
    permission_needed: dict[str, Permission] = Field(description="What each operation of an organization needs")

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
    """Settings to change; what is left out stays."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Acme", "cache_scope": "organization"}]}
    )

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), NO_CONTROLS] | None = (
        None
    )
    cache_scope: CacheScope | None = Field(
        None,
        description="`organization`, the default: embeddings are shared with nobody. `global`: they are shared with all"
        " organizations that share theirs, so that a text that another has embedded costs nothing; whoever shares can"
        " tell, by price or time, whether another organization has a certain text. Therefore `global` is refused (409,"
        " `global_cache_not_allowed`) unless the operator sets ANALYTIQ_EMBEDDING__ALLOW_GLOBAL_CACHE. Counts from the"
        " next call on",
    )


class AccessTokenCreate(RequestBody):
    """An access token to make."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "nightly import", "scope": "write"}]}
    )

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), NO_CONTROLS]
    scope: TokenScope = Field(
        TokenScope.ADMIN, description="`read`, `write`, or `admin`: everything, which only an owner may give"
    )
    expires_at: Time | None = None


class AccessTokenResponse(ResponseBody):
    """An access token, without its secret."""

    token_id: str = Field(validation_alias="id")
    name: str
    scope: TokenScope
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None
    made_by: MadeBy | None = Field(description="Whose rights bound it; null: made before makers were recorded")
    permission: Permission | None = Field(
        description="What it allows now: what its scope says, or less where its maker may do less; null: nothing, since"
        " it is revoked or expired, or its maker has left the organization"
    )


class AccessTokenCreated(AccessTokenResponse):
    """A new access token with its secret, which is shown this once."""

    token: str = Field(description="Keep it: it is not stored and cannot be shown again")

    @classmethod
    def with_secret(cls, issued: IssuedToken, permission: Permission | None) -> "AccessTokenCreated":
        """Build the response with the token's secret."""
        return cls.from_model(issued.token, permission=permission, token=issued.secret.get_secret_value())


class AccessTokenList(ResponseBody):
    """A page of access tokens."""

    access_tokens: list[AccessTokenResponse]
    total_count: int
    skip: int
