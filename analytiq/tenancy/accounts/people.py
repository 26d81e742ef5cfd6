"""Members of organizations: admit, change roles, remove."""

from dataclasses import dataclass

from analytiq import clock
from analytiq.errors import AccessDeniedError, ConflictError, InvalidInputError, NotFoundError
from analytiq.models.account import Invitation, Member, Permission, Role, User, normalize
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.tenancy.accounts.invitations import Invitations, no_invitation, require_owner_for
from analytiq.tenancy.accounts.passwords import Passwords, check_new


@dataclass(frozen=True, slots=True)
class Person:
    """A member, and the person behind it."""

    member: Member
    user: User


class People:
    """Members of organizations. An organization with an owner always keeps one."""

    def __init__(self, rows: Repositories, invitations: Invitations, passwords: Passwords) -> None:
        self._connection = rows.connection
        self._users = rows.users
        self._members = rows.members
        self._invitations = invitations
        self._invitation_rows = rows.invitations
        self._passwords = passwords

    async def accept(self, secret: str, *, email: str | None, name: str, password: str) -> User:
        """Accept an invitation as a new person, with a password.

        Raises:
            ConflictError: the address has an account: sign in, then follow the link.
            InvalidInputError: the address is missing, or the password is easy to guess.
        """
        invitation = await self._invitations.open_with(secret)
        address = invitation.email or normalize(email or "")
        if "@" not in address:
            raise InvalidInputError.of_field("email", "The invitation names no email address. Give yours.")
        check_new(password, email=address, name=name)
        if await self._users.with_email(address) is not None:
            raise ConflictError(
                f"{address} has an account already. Sign in, then follow the invitation's link once more.",
                code="email_taken",
            )
        password_hash = await self._passwords.hash(password)
        user = User(id=new_id(), email=address, name=name, password_hash=password_hash, created_at=clock.now())

        async def become(session: Session) -> None:
            if await self._users.with_email(address, session) is not None:
                raise ConflictError(f"{address} has an account already. Sign in instead.", code="email_taken")
            await self._users.insert(session, user)
            await self._use_up(session, invitation, user)

        await run_in_transaction(self._connection, become)
        return user

    async def admit(self, email: str, name: str) -> User | None:
        """Create a person without a password from the open invitations of an address, and accept those.

        The caller vouches for the person's address: a sign-in provider has verified it.

        Args:
            email: the verified address, normalized.
            name: the provider's name for the person; the address if it gives none.

        Returns:
            The new person; None without a valid invitation of the address.
        """
        now = clock.now()
        invitations = await self._invitation_rows.open_for(email, now)
        usable = [invitation for invitation in invitations if await self._invitations.role_now(invitation) is not None]
        if not usable:
            return None
        user = User(id=new_id(), email=email, name=name or email, created_at=now)

        async def become(session: Session) -> None:
            if await self._users.with_email(email, session) is not None:
                raise ConflictError(f"{email} has an account already. Sign in again.", code="email_taken")
            await self._users.insert(session, user)
            for invitation in usable:
                await self._use_up(session, invitation, user)

        await run_in_transaction(self._connection, become)
        return user

    async def accept_as(self, secret: str, user: User) -> Invitation:
        """Accept an invitation as the signed-in person; an invitation for another address is refused."""
        invitation = await self._invitations.open_with(secret)
        if invitation.email not in (None, user.email):
            raise AccessDeniedError(
                f"The invitation is for {invitation.email}, and you are signed in as {user.email}. Sign out,"
                " then follow its link again."
            )
        await run_in_transaction(self._connection, lambda session: self._use_up(session, invitation, user))
        return invitation

    async def rename(self, user: User, name: str) -> User:
        """Rename the person in all their organizations; the audit log, which stores addresses, is unaffected.

        Raises:
            AccessDeniedError: the person is gone.
        """
        renamed = await self._users.rename(user.id, name)
        if renamed is None:
            raise AccessDeniedError("You are signed out. Sign in again.", code="unauthenticated")
        return renamed

    async def members(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[Person], int]:
        """Return a page of members, oldest first, and their count."""
        members, total = await self._members.of_organization(organization_id, skip=skip, limit=limit)
        users = {user.id: user for user in await self._users.with_ids([member.user_id for member in members])}
        return [Person(member, users[member.user_id]) for member in members if member.user_id in users], total

    async def change_role(self, organization_id: str, user_id: str, role: Role, *, by: Permission) -> Person:
        """Change a member's role.

        Raises:
            ConflictError: the member is the last owner.
            AccessDeniedError: only an owner makes and unmakes owners.
        """
        require_owner_for(role, by)

        async def change(session: Session) -> Member:
            member = await self._member(session, organization_id, user_id, by)
            if member.role is Role.OWNER and role is not Role.OWNER:
                await self._keep_an_owner(session, organization_id, user_id)
            changed = member.model_copy(update={"role": role})
            await self._members.put(session, changed)
            return changed

        member = await run_in_transaction(self._connection, change)
        user = await self._users.get(user_id)
        if user is None:
            raise NotFoundError(f"No member has the id {user_id!r}. List the members to find it.")
        return Person(member, user)

    async def remove(self, organization_id: str, user_id: str, *, by: Permission) -> None:
        """End a membership, from the next call on.

        Raises:
            ConflictError: the member is the last owner.
        """

        async def end(session: Session) -> None:
            member = await self._member(session, organization_id, user_id, by)
            if member.role is Role.OWNER:
                await self._keep_an_owner(session, organization_id, user_id)
            await self._members.remove(session, organization_id, user_id)

        await run_in_transaction(self._connection, end)

    async def _member(self, session: Session, organization_id: str, user_id: str, by: Permission) -> Member:
        member = await self._members.get(organization_id, user_id, session)
        if member is None:
            raise NotFoundError(f"No member has the id {user_id!r}. List the members to find it.")
        require_owner_for(member.role, by)
        return member

    async def _keep_an_owner(self, session: Session, organization_id: str, but: str) -> None:
        if not set(await self._members.owners(session, organization_id)) - {but}:
            raise ConflictError(
                "The organization would have no owner. Make another member an owner first.", code="last_owner"
            )

    async def _use_up(self, session: Session, invitation: Invitation, user: User) -> None:
        role = await self._invitations.role_now(invitation, session)
        if role is None:
            raise no_invitation()
        if not await self._invitation_rows.accept(session, invitation.id, clock.now()):
            raise no_invitation()
        if not await self._users.join(session, user.id):
            raise AccessDeniedError("You are signed out. Sign in again.", code="unauthenticated")
        known = await self._members.get(invitation.organization_id, user.id, session)
        if known is not None and known.role.permission.includes(role.permission):
            return  # an invitation never lowers a role
        await self._members.put(
            session,
            Member(
                id=new_id(),
                organization_id=invitation.organization_id,
                user_id=user.id,
                role=role,
                created_at=clock.now(),
            ),
        )
