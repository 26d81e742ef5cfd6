"""The present rights of the makers of tokens and invitations, read at each use."""

from dataclasses import dataclass
from datetime import datetime

from analytiq.errors import ConflictError
from analytiq.models.account import Permission, Role
from analytiq.models.maker import Maker, MakerKind
from analytiq.models.organization import AccessToken
from analytiq.storage.repositories.organizations import AccessTokenRepository
from analytiq.storage.repositories.users import MemberRepository
from analytiq.storage.session import Session

LONGEST_CHAIN = 8
"""Tokens in a chain of tokens that made tokens: each use of the last one reads them all."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The present rights of a maker.

    Attributes:
        permission: None if the maker has no rights here any more.
        depends_on: ids of the memberships and tokens that decide.
        ends_at: the first expiry among those tokens.
        token_ids: the tokens among `depends_on`, the maker first.
    """

    permission: Permission | None
    depends_on: tuple[str, ...] = ()
    ends_at: datetime | None = None
    token_ids: tuple[str, ...] = ()


class Makers:
    """Follows a maker to the person, the operator or the tokens that its rights come from."""

    def __init__(self, tokens: AccessTokenRepository, members: MemberRepository) -> None:
        self._tokens = tokens
        self._members = members

    async def standing(
        self, organization_id: str, maker: Maker | None, now: datetime, session: Session | None = None
    ) -> Standing:
        """Return the maker's rights; None (rows older than makers) and operators have all rights."""
        found = Standing(Permission.OWNER)
        for _ in range(LONGEST_CHAIN + 1):
            if maker is None or maker.kind is MakerKind.OPERATOR:
                return found
            if maker.kind is MakerKind.USER:
                return await self._of_person(organization_id, maker, found, session)
            token = await self._tokens.get(organization_id, maker.id or "", session)
            if token is None or not token.is_open(now):
                return Standing(None, found.depends_on)
            found = _under(found, token)
            maker = token.made_by
        return Standing(None, found.depends_on)

    async def standing_of_token(self, token: AccessToken, now: datetime) -> Standing:
        """Return a token's permission: its scope, or less if its maker has less."""
        if not token.is_open(now):
            return Standing(None)
        maker = await self.standing(token.organization_id, token.made_by, now)
        if maker.permission is None:
            return Standing(None, (token.id, *maker.depends_on))
        return Standing(
            token.scope.permission.at_most(maker.permission),
            (token.id, *maker.depends_on),
            earliest(token.expires_at, maker.ends_at),
            (token.id, *maker.token_ids),
        )

    async def require_short(self, organization_id: str, maker: Maker | None, now: datetime) -> None:
        """Refuse a maker at the end of a long chain of tokens.

        Raises:
            ConflictError: the chain has LONGEST_CHAIN tokens.
        """
        chain = (await self.standing(organization_id, maker, now)).token_ids
        if len(chain) >= LONGEST_CHAIN:
            raise ConflictError(
                f"This token descends from {LONGEST_CHAIN - 1} others. Use a token that a person made.",
                code="too_many_makers",
            )

    async def role_now(
        self,
        organization_id: str,
        role: Role,
        maker: Maker | None,
        now: datetime,
        session: Session | None = None,
    ) -> Role | None:
        """Return the invitation's present role; None if its maker may no longer invite."""
        permission = (await self.standing(organization_id, maker, now, session)).permission
        if permission is None or not permission.includes(Permission.ADMIN):
            return None
        return role if permission.includes(role.permission) else Role.ADMIN

    async def _of_person(
        self, organization_id: str, maker: Maker, found: Standing, session: Session | None
    ) -> Standing:
        member = await self._members.get(organization_id, maker.id or "", session)
        if member is None or member.id != maker.member_id:
            return Standing(None, found.depends_on)
        assert found.permission is not None  # noqa: S101  # a chain that has ended is answered at once
        permission = found.permission.at_most(member.role.permission)
        return Standing(permission, (*found.depends_on, member.id), found.ends_at, found.token_ids)


def earliest(*moments: datetime | None) -> datetime | None:
    """Return the earliest of the given moments, if any."""
    return min((moment for moment in moments if moment is not None), default=None)


def _under(found: Standing, token: AccessToken) -> Standing:
    assert found.permission is not None  # noqa: S101  # a chain that has ended is answered at once
    return Standing(
        found.permission.at_most(token.scope.permission),
        (*found.depends_on, token.id),
        earliest(found.ends_at, token.expires_at),
        (*found.token_ids, token.id),
    )
