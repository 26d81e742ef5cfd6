"""Invitations: links that make their followers members."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, ConflictError, InvalidInputError, NotFoundError
from analytiq.models.account import ADDRESS, Invitation, Permission, Role, normalize
from analytiq.models.maker import Maker
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.tenancy.accounts.secrets import hash_of, new_secret
from analytiq.tenancy.makers import Makers


@dataclass(frozen=True, slots=True)
class Invited:
    """A new invitation; its secret is shown only once."""

    invitation: Invitation
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """An open invitation as its follower sees it before accepting."""

    invitation: Invitation
    organization_name: str
    role: Role
    """The invitation's role now: lower than at its creation if its maker's role is lower."""


class Invitations:
    """Invitations of organizations."""

    def __init__(self, rows: Repositories, makers: Makers, *, days: float) -> None:
        self._users = rows.users
        self._members = rows.members
        self._invitations = rows.invitations
        self._organizations = rows.organizations
        self._makers = makers
        self._days = days

    async def invite(
        self,
        organization_id: str,
        *,
        role: Role,
        email: str | None,
        invited_by: str | None,
        by: Permission,
        made_by: Maker | None = None,
    ) -> Invited:
        """Create an invitation link, valid for some days and as long as its maker may invite.

        Raises:
            AccessDeniedError: only an owner makes owners.
            ConflictError: the person is a member already.
            InvalidInputError: the address is not valid.
        """
        require_owner_for(role, by)
        if email is not None:
            email = normalize(email)
            if not ADDRESS.fullmatch(email):
                raise InvalidInputError.of_field(
                    "email", f"{email!r} is not an email address. Write one such as ada@example.com."
                )
            known = await self._users.with_email(email)
            if known is not None and await self._members.get(organization_id, known.id) is not None:
                raise ConflictError(
                    f"{email} is a member already. Change the member's role instead.", code="already_member"
                )
        secret = new_secret()
        now = clock.now()
        invitation = Invitation(
            id=new_id(),
            organization_id=organization_id,
            email=email,
            role=role,
            secret_hash=hash_of(secret),
            invited_by=invited_by,
            made_by=made_by,
            created_at=now,
            expires_at=now + timedelta(days=self._days),
        )
        await self._invitations.insert(invitation)
        return Invited(invitation, SecretStr(secret))

    async def page(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[Invitation], int]:
        """Return a page of open invitations, latest first, and their count."""
        return await self._invitations.open_of(organization_id, clock.now(), skip=skip, limit=limit)

    async def roles_now(self, invitations: Sequence[Invitation]) -> list[Role | None]:
        """Return the present role of each invitation; None if it cannot be accepted."""
        return [await self.role_now(invitation) for invitation in invitations]

    async def role_now(self, invitation: Invitation, session: Session | None = None) -> Role | None:
        """Return the present role of the invitation; None if its maker may no longer invite."""
        return await self._makers.role_now(
            invitation.organization_id, invitation.role, invitation.made_by, clock.now(), session
        )

    async def take_over(self, organization_id: str, invitation_id: str, maker: Maker, *, by: Permission) -> Invitation:
        """Change an open invitation's maker, so that it no longer ends with its first maker.

        Raises:
            AccessDeniedError: the invitation makes an owner, and the new maker is not an owner.
            NotFoundError: the organization has no such open invitation.
        """
        found = await self._invitations.get(organization_id, invitation_id)
        if found is not None:
            require_owner_for(found.role, by)
            found = await self._invitations.hand_over(organization_id, invitation_id, maker)
        if found is None:
            raise NotFoundError(
                f"No open invitation has the id {invitation_id!r}. List the open invitations to find it."
            )
        return found

    async def withdraw(self, organization_id: str, invitation_id: str) -> None:
        """Invalidate an invitation's link."""
        if not await self._invitations.delete(organization_id, invitation_id):
            raise NotFoundError(
                f"No open invitation has the id {invitation_id!r}. List the open invitations to find it."
            )

    async def look_at(self, secret: str) -> OpenInvitation:
        """Return the open invitation of a link.

        Raises:
            NotFoundError: unknown, used, withdrawn or expired.
        """
        invitation = await self.open_with(secret)
        organization = await self._organizations.get(invitation.organization_id)
        role = await self.role_now(invitation)
        if organization is None or role is None:
            raise no_invitation()
        return OpenInvitation(invitation, organization.name, role)

    async def open_with(self, secret: str) -> Invitation:
        """Return the open invitation with this secret; raises as `look_at`."""
        invitation = await self._invitations.with_hash(hash_of(secret))
        if invitation is None or invitation.accepted_at is not None or invitation.expires_at <= clock.now():
            raise no_invitation()
        if await self.role_now(invitation) is None:
            raise no_invitation()
        return invitation


def require_owner_for(role: Role, by: Permission) -> None:
    """Refuse making or unmaking an owner, except by an owner."""
    if role is Role.OWNER and not by.includes(Permission.OWNER):
        raise AccessDeniedError("Only an owner can make or unmake owners. Ask an owner of the organization.")


def no_invitation() -> NotFoundError:
    """Return the error for a link without an open invitation."""
    return NotFoundError(
        "The invitation is unknown, used, withdrawn or expired, or its maker may no longer invite."
        " Ask an owner or admin of the organization for a new one.",
        code="invitation_not_found",
    )
