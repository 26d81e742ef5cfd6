"""Makes organizations; makes, checks and revokes access tokens."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, ConflictError, NotFoundError
from analytiq.models.account import Permission, TokenScope
from analytiq.models.maker import Maker
from analytiq.models.organization import AccessToken, CacheScope, Organization
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.organizations import AccessTokenRepository, OrganizationRepository
from analytiq.storage.repositories.users import MemberRepository
from analytiq.tenancy.makers import Makers, Standing

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
    permission: Permission
    """What it allows now: its scope, or less where its maker may do less."""
    depends_on: tuple[str, ...]
    """Ids of the rows that this comes from."""
    ends_at: datetime | None


class Organizations:
    """Tenants and their tokens."""

    def __init__(self, organizations: OrganizationRepository, tokens: AccessTokenRepository, makers: Makers) -> None:
        self._organizations = organizations
        self._tokens = tokens
        self._makers = makers
        self._noted: dict[str, datetime] = {}

    @classmethod
    def on(cls, connection: MongoConnection) -> Self:
        """Make the organizations of a connection's database."""
        tokens = AccessTokenRepository(connection)
        return cls(OrganizationRepository(connection), tokens, Makers(tokens, MemberRepository(connection)))

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
            raise NotFoundError(f"No organization has the id {organization_id!r}.")
        return organization

    async def rename(self, organization_id: str, name: str) -> Organization:
        """Give the organization another name.

        Raises:
            NotFoundError: there is no such organization.
        """
        changed = await self._organizations.change(organization_id, {"name": name})
        if changed is None:
            raise NotFoundError(f"No organization has the id {organization_id!r}.")
        return changed

    async def set_cache_scope(self, organization_id: str, scope: CacheScope) -> Organization:
        """Share the cache of embeddings with everybody, or keep one to itself, from the next call on.

        What it shared until now stays shared; an erasure of its cache takes that out.

        Raises:
            NotFoundError: there is no such organization.
        """
        changed = await self._organizations.change(organization_id, {"cache_scope": scope.value})
        if changed is None:
            raise NotFoundError(f"No organization has the id {organization_id!r}.")
        return changed

    async def issue_token(
        self,
        organization_id: str,
        *,
        name: str,
        scope: TokenScope = TokenScope.ADMIN,
        expires_at: datetime | None = None,
        by: Permission = Permission.OWNER,
        made_by: Maker | None = None,
    ) -> IssuedToken:
        """Make an access token, which ends or shrinks with the rights of its maker.

        Raises:
            AccessDeniedError: it would allow more than whoever makes it may do.
            ConflictError: the maker is a token at the end of a long chain of tokens.
        """
        if not by.includes(scope.permission):
            raise AccessDeniedError(
                f"a token of scope `{scope.value}` may do what an owner may: an owner has to make it"
            )
        now = clock.now()
        await self._makers.require_short(organization_id, made_by, now)
        secret = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        token = AccessToken(
            id=new_id(),
            organization_id=organization_id,
            name=name,
            token_hash=_hash(secret),
            scope=scope,
            made_by=made_by,
            created_at=now,
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
            AccessDeniedError: unknown, revoked, expired, or its maker may do nothing here; it does not say which.
        """
        token = await self._tokens.with_hash(_hash(secret))
        now = clock.now()
        standing = await self._makers.standing_of_token(token, now) if token else Standing(None)
        if token is None or standing.permission is None:
            raise AccessDeniedError(
                "The access token is unknown, revoked or expired, or whoever made it has left the organization. Make"
                " one with `analytiq token create`, or have an owner or admin take this one over.",
                code="unauthenticated",
            )
        organization = await self._organizations.get(token.organization_id)
        if organization is None:
            raise AccessDeniedError("the access token's organization is gone", code="unauthenticated")
        await self._note_use(token.id, now)
        return OpenedToken(organization, token, standing.permission, standing.depends_on, standing.ends_at)

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

    async def permissions_of(self, tokens: Sequence[AccessToken]) -> list[Permission | None]:
        """Return what each of these tokens allows now; None: nothing."""
        now = clock.now()
        return [(await self._makers.standing_of_token(token, now)).permission for token in tokens]

    async def take_over_token(
        self, organization_id: str, token_id: str, maker: Maker, *, by: Permission = Permission.OWNER
    ) -> AccessToken:
        """Give a token another maker, so that it no longer ends with whoever made it.

        Raises:
            AccessDeniedError: it may do more than whoever would take it over.
            ConflictError: it is revoked, or the new maker is a token that descends from it.
            NotFoundError: the organization has no such token.
        """
        now = clock.now()
        token = await self._tokens.get(organization_id, token_id)
        if token is None:
            raise NotFoundError(f"no access token has the id {token_id!r}")
        if not by.includes(token.scope.permission):
            raise AccessDeniedError(f"An owner has to take over a token of scope `{token.scope.value}`.")
        if token_id in (await self._makers.standing(organization_id, maker, now)).token_ids:
            raise ConflictError(
                "A token cannot be taken over with itself, or with a token that was made with it. Sign in, or use"
                " `analytiq token take-over --database`.",
                code="own_descendant",
            )
        await self._makers.require_short(organization_id, maker, now)
        changed = await self._tokens.hand_over(organization_id, token_id, maker)
        if changed is None:
            raise ConflictError("The access token is revoked. Make a new one.", code="token_revoked")
        return changed

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
