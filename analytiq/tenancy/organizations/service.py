"""Organizations, and their access tokens: issue, check, revoke."""

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
from analytiq.storage.repositories.search_openings import KnowledgeBasesAtVersions, SearchOpeningRepository
from analytiq.storage.repositories.users import MemberRepository
from analytiq.tenancy.makers import Makers, Standing

TOKEN_PREFIX = "aq_"  # noqa: S105  # what a token begins with, for those who search for leaked ones
TOKEN_BYTES = 32
MOST_NOTED = 10_000
FIRST_ORGANIZATION_NAME = "My organization"


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token; its secret is shown only once and not stored."""

    token: AccessToken
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class OpenedToken:
    """A valid token, and its organization."""

    organization: Organization
    token: AccessToken
    permission: Permission
    """Its permission now: its scope, or less if its maker has less."""
    depends_on: tuple[str, ...]
    """Ids of the rows that the permission depends on."""
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
        """Return the organizations of a connection's database."""
        tokens = AccessTokenRepository(connection)
        return cls(OrganizationRepository(connection), tokens, Makers(tokens, MemberRepository(connection)))

    async def create(self, name: str) -> Organization:
        """Create an organization."""
        organization = Organization(id=new_id(), name=name, created_at=clock.now())
        await self._organizations.insert(organization)
        return organization

    async def first(self) -> Organization | None:
        """Return the oldest organization, if any."""
        return await self._organizations.first()

    async def get(self, organization_id: str) -> Organization:
        """Return the organization with this id."""
        organization = await self._organizations.get(organization_id)
        if organization is None:
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
        return organization

    async def rename(self, organization_id: str, name: str) -> Organization:
        """Rename the organization.

        Raises:
            NotFoundError: there is no such organization.
        """
        changed = await self._organizations.change(organization_id, {"name": name})
        if changed is None:
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
        return changed

    async def set_cache_scope(self, organization_id: str, scope: CacheScope) -> Organization:
        """Share the organization's embedding cache with others or keep it private, from the next call on.

        Embeddings shared so far stay shared; an erasure of the cache removes them.

        Raises:
            NotFoundError: there is no such organization.
        """
        changed = await self._organizations.change(organization_id, {"cache_scope": scope.value})
        if changed is None:
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
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
        """Issue an access token, which ends or shrinks with its maker's rights.

        Raises:
            AccessDeniedError: the token would allow more than its maker may do.
            ConflictError: the maker is a token at the end of a long chain of tokens.
        """
        if not by.includes(scope.permission):
            raise AccessDeniedError(f"A token of scope `{scope.value}` has an owner's rights. Ask an owner to make it.")
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
        """Return the organization of a bearer token; raises as `open_token`."""
        return (await self.open_token(secret)).organization

    async def open_token(self, secret: str) -> OpenedToken:
        """Return a bearer token with its organization.

        Raises:
            AccessDeniedError: unknown, revoked or expired, or its maker has no rights here; the error does not say
                which.
        """
        token, organization = await self._tokens.opened(_hash(secret)) or (None, None)
        return await self._open(token, organization)

    async def open_for_search(
        self, openings: SearchOpeningRepository, secret: str, organization_id: str, kb_ids: Sequence[str]
    ) -> tuple[OpenedToken, KnowledgeBasesAtVersions]:
        """Return a bearer token, and the organization's knowledge bases by id, read in the same command.

        Raises:
            AccessDeniedError: as `open_token`.
        """
        opening = await openings.read(_hash(secret), organization_id, kb_ids)
        return await self._open(opening.token, opening.organization), opening.knowledge_bases

    async def _open(self, token: AccessToken | None, organization: Organization | None) -> OpenedToken:
        now = clock.now()
        standing = await self._makers.standing_of_token(token, now) if token else Standing(None)
        if token is None or standing.permission is None:
            raise AccessDeniedError(
                "The access token is unknown, revoked or expired, or its maker has left the organization."
                " Make a new one with `analytiq token create`, or ask an owner or admin to take this one"
                " over.",
                code="unauthenticated",
            )
        if organization is None:
            raise AccessDeniedError(
                "The access token's organization is gone. Use a token of another organization.", code="unauthenticated"
            )
        await self._note_use(token.id, now)
        return OpenedToken(organization, token, standing.permission, standing.depends_on, standing.ends_at)

    async def _note_use(self, token_id: str, now: datetime) -> None:
        """Record the token's use, at most once a minute to save writes."""
        minute = now.replace(second=0, microsecond=0)
        if self._noted.get(token_id) != minute:
            if len(self._noted) > MOST_NOTED:
                self._noted.clear()
            self._noted[token_id] = minute
            await self._tokens.note_use(token_id)

    async def tokens(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[AccessToken], int]:
        """Return a page of the organization's tokens, newest first, and their count."""
        page = await self._tokens.of_organization(organization_id, skip=skip, limit=limit)
        return page, await self._tokens.count(organization_id)

    async def permissions_of(self, tokens: Sequence[AccessToken]) -> list[Permission | None]:
        """Return the present permission of each token; None for no rights."""
        now = clock.now()
        return [(await self._makers.standing_of_token(token, now)).permission for token in tokens]

    async def take_over_token(
        self, organization_id: str, token_id: str, maker: Maker, *, by: Permission = Permission.OWNER
    ) -> AccessToken:
        """Change a token's maker, so that it no longer ends with its first maker.

        Raises:
            AccessDeniedError: the token has more rights than the new maker.
            ConflictError: the token is revoked, or the new maker is a token that descends from it.
            NotFoundError: the organization has no such token.
        """
        now = clock.now()
        token = await self._tokens.get(organization_id, token_id)
        if token is None:
            raise NotFoundError(f"No access token has the id {token_id!r}. List the tokens to find it.")
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
        """Revoke a token at once.

        Raises:
            AccessDeniedError: the token has more rights than the caller.
        """
        token = await self._tokens.get(organization_id, token_id)
        if token is not None and not by.includes(token.scope.permission):
            raise AccessDeniedError(
                f"A token of scope `{token.scope.value}` can only be revoked by an owner. Ask an owner."
            )
        if not await self._tokens.revoke(organization_id, token_id):
            raise NotFoundError(f"No access token has the id {token_id!r}. List the tokens to find it.")


def _hash(secret: str) -> str:
    """Return the SHA-256 of a secret. It needs no salt: a secret of 256 random bits cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()
