"""Makes organizations; makes, checks and revokes access tokens."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, NotFoundError
from analytiq.models.account import Permission, TokenScope
from analytiq.models.organization import AccessToken, CacheScope, Organization
from analytiq.mongo.ids import new_id
from analytiq.mongo.repositories.organizations import AccessTokenRepository, OrganizationRepository

TOKEN_PREFIX = "aq_"  # noqa: S105  # what a token begins with, for those who search for leaked ones
TOKEN_BYTES = 32
MOST_NOTED = 10_000
FIRST_ORGANIZATION_NAME = "My organization"


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token; its secret is shown this once and kept nowhere."""

    token: AccessToken
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class OpenedToken:
    """A token that is valid, and what it opens."""

    organization: Organization
    token: AccessToken


class Organizations:
    """Tenants and their tokens."""

    def __init__(self, organizations: OrganizationRepository, tokens: AccessTokenRepository) -> None:
        self._organizations = organizations
        self._tokens = tokens
        self._noted: dict[str, datetime] = {}

    async def create(self, name: str) -> Organization:
        """Make an organization."""
        organization = Organization(id=new_id(), name=name, created_at=clock.now())
        await self._organizations.insert(organization)
        return organization

    async def first(self) -> Organization | None:
        """The oldest organization, if there is any."""
        return await self._organizations.first()

    async def get(self, organization_id: str) -> Organization:
        """The organization with this id."""
        organization = await self._organizations.get(organization_id)
        if organization is None:
            raise NotFoundError(f"no organization has the id {organization_id!r}")
        return organization

    async def rename(self, organization_id: str, name: str) -> Organization:
        """Give the organization another name.

        Raises:
            NotFoundError: there is no such organization.
        """
        changed = await self._organizations.change(organization_id, {"name": name})
        if changed is None:
            raise NotFoundError(f"no organization has the id {organization_id!r}")
        return changed

    async def set_cache_scope(self, organization_id: str, scope: CacheScope) -> Organization:
        """Share the cache of embeddings with everybody, or keep one to itself, from the next call on.

        What it shared until now stays shared; an erasure of its cache takes that out.

        Raises:
            NotFoundError: there is no such organization.
        """
        changed = await self._organizations.change(organization_id, {"cache_scope": scope.value})
        if changed is None:
            raise NotFoundError(f"no organization has the id {organization_id!r}")
        return changed

    async def issue_token(
        self,
        organization_id: str,
        *,
        name: str,
        scope: TokenScope = TokenScope.ADMIN,
        expires_at: datetime | None = None,
        by: Permission = Permission.OWNER,
    ) -> IssuedToken:
        """Make an access token.

        Raises:
            AccessDeniedError: it would allow more than whoever makes it may do.
        """
        if not by.includes(scope.permission):
            raise AccessDeniedError(
                f"a token of scope `{scope.value}` may do what an owner may: an owner has to make it"
            )
        secret = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        token = AccessToken(
            id=new_id(),
            organization_id=organization_id,
            name=name,
            token_hash=_hash(secret),
            scope=scope,
            created_at=clock.now(),
            expires_at=expires_at,
        )
        await self._tokens.insert(token)
        return IssuedToken(token, SecretStr(secret))

    async def open_with(self, secret: str) -> Organization:
        """The organization that a bearer token opens; see `open_token`."""
        return (await self.open_token(secret)).organization

    async def open_token(self, secret: str) -> OpenedToken:
        """The organization that a bearer token opens, and the token.

        Raises:
            AccessDeniedError: unknown, revoked or expired; it does not say which.
        """
        token = await self._tokens.with_hash(_hash(secret))
        now = clock.now()
        if token is None or token.revoked_at or (token.expires_at and token.expires_at <= now):
            raise AccessDeniedError(
                "the access token is unknown, revoked or expired; make one with `analytiq token create`",
                code="unauthenticated",
            )
        organization = await self._organizations.get(token.organization_id)
        if organization is None:
            raise AccessDeniedError("the access token's organization is gone", code="unauthenticated")
        await self._note_use(token.id, now)
        return OpenedToken(organization, token)

    async def _note_use(self, token_id: str, now: datetime) -> None:
        """Remember the use, to the minute: not a write for each request."""
        minute = now.replace(second=0, microsecond=0)
        if self._noted.get(token_id) != minute:
            if len(self._noted) > MOST_NOTED:
                self._noted.clear()
            self._noted[token_id] = minute
            await self._tokens.note_use(token_id)

    async def tokens(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[AccessToken], int]:
        """A page of the organization's tokens, newest first, and how many there are."""
        page = await self._tokens.of_organization(organization_id, skip=skip, limit=limit)
        return page, await self._tokens.count(organization_id)

    async def revoke_token(self, organization_id: str, token_id: str, *, by: Permission = Permission.OWNER) -> None:
        """Close a token at once.

        Raises:
            AccessDeniedError: it may do more than whoever would revoke it.
        """
        token = await self._tokens.get(organization_id, token_id)
        if token is not None and not by.includes(token.scope.permission):
            raise AccessDeniedError(f"an owner has to revoke a token of scope `{token.scope.value}`")
        if not await self._tokens.revoke(organization_id, token_id):
            raise NotFoundError(f"no access token has the id {token_id!r}")


def _hash(secret: str) -> str:
    """SHA-256 suffices: the secret has 256 bits of its own, so there is nothing to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()
