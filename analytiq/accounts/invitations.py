"""Invites people: links that make whoever follows them a member."""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import SecretStr

from analytiq import clock
from analytiq.accounts.secrets import hash_of, new_secret
from analytiq.errors import AccessDeniedError, ConflictError, InvalidInputError, NotFoundError
from analytiq.models.account import ADDRESS, Invitation, Permission, Role, normalize
from analytiq.mongo.ids import new_id
from analytiq.mongo.repositories.organizations import OrganizationRepository
from analytiq.mongo.repositories.sessions import InvitationRepository
from analytiq.mongo.repositories.users import MemberRepository, UserRepository


@dataclass(frozen=True, slots=True)
class Invited:
    """A new invitation; its secret is shown this once."""

    invitation: Invitation
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """What whoever follows the link is told before accepting."""

    invitation: Invitation
    organization_name: str


class Invitations:
    """Invitations of organizations."""

    def __init__(
        self,
        users: UserRepository,
        members: MemberRepository,
        invitations: InvitationRepository,
        organizations: OrganizationRepository,
        *,
        days: float,
    ) -> None:
        """Prepare.

        Args:
            users: by address.
            members: who is a member already.
            invitations: where they are kept.
            organizations: by name.
            days: how long an invitation can be accepted.
        """
        self._users = users
        self._members = members
        self._invitations = invitations
        self._organizations = organizations
        self._days = days

    async def invite(
        self, organization_id: str, *, role: Role, email: str | None, invited_by: str | None, by: Permission
    ) -> Invited:
        """Make a link that makes whoever follows it a member, for some days.

        Raises:
            AccessDeniedError: only an owner makes owners.
            ConflictError: the person is a member already.
            InvalidInputError: it is no address.
        """
        require_owner_for(role, by)
        if email is not None:
            email = normalize(email)
            if not ADDRESS.fullmatch(email):
                raise InvalidInputError.of_field("email", f"{email!r} is not an address such as ada@example.com")
            known = await self._users.with_email(email)
            if known is not None and await self._members.get(organization_id, known.id) is not None:
                raise ConflictError(f"{email} is a member already", code="already_member")
        secret = new_secret()
        now = clock.now()
        invitation = Invitation(
            id=new_id(),
            organization_id=organization_id,
            email=email,
            role=role,
            secret_hash=hash_of(secret),
            invited_by=invited_by,
            created_at=now,
            expires_at=now + timedelta(days=self._days),
        )
        await self._invitations.insert(invitation)
        return Invited(invitation, SecretStr(secret))

    async def page(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[Invitation], int]:
        """A page of the invitations that can still be accepted, latest first, and how many there are."""
        return await self._invitations.open_of(organization_id, clock.now(), skip=skip, limit=limit)

    async def withdraw(self, organization_id: str, invitation_id: str) -> None:
        """Make an invitation's link void."""
        if not await self._invitations.delete(organization_id, invitation_id):
            raise NotFoundError(f"no open invitation has the id {invitation_id!r}")

    async def look_at(self, secret: str) -> OpenInvitation:
        """What an invitation's link leads to.

        Raises:
            NotFoundError: unknown, used, withdrawn or expired.
        """
        invitation = await self.open_with(secret)
        organization = await self._organizations.get(invitation.organization_id)
        if organization is None:
            raise no_invitation()
        return OpenInvitation(invitation, organization.name)

    async def open_with(self, secret: str) -> Invitation:
        """The invitation with this secret, if it can still be accepted; else as `look_at`."""
        invitation = await self._invitations.with_hash(hash_of(secret))
        if invitation is None or invitation.accepted_at is not None or invitation.expires_at <= clock.now():
            raise no_invitation()
        return invitation


def require_owner_for(role: Role, by: Permission) -> None:
    """Refuse to make or unmake an owner by anybody else."""
    if role is Role.OWNER and not by.includes(Permission.OWNER):
        raise AccessDeniedError("only an owner makes and unmakes owners")


def no_invitation() -> NotFoundError:
    """What is told of a link that leads nowhere."""
    return NotFoundError(
        "the invitation is unknown, used, withdrawn or expired: ask whoever invited you for a new one",
        code="invitation_not_found",
    )
