"""Password changes: with the old password, or by a link from an operator or a mail."""

from datetime import timedelta

from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, InvalidInputError, NotFoundError
from analytiq.models.account import LinkPurpose, OneTimeLink, User, UserSession, normalize
from analytiq.settings import AccountSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.tenancy.accounts.passwords import Passwords, check_new
from analytiq.tenancy.accounts.secrets import hash_of, new_secret
from analytiq.tenancy.accounts.sessions import Browser, Sessions


class Recovery:
    """Changes passwords; a new password signs the person out everywhere else."""

    def __init__(
        self, rows: Repositories, signing_in: Sessions, passwords: Passwords, settings: AccountSettings
    ) -> None:
        self._connection = rows.connection
        self._users = rows.users
        self._sessions = rows.sessions
        self._links = rows.links
        self._signing_in = signing_in
        self._passwords = passwords
        self._settings = settings

    async def change(self, user: User, session: UserSession, *, current: str, new: str, browser: Browser) -> None:
        """Replace the password and sign other browsers out.

        Raises:
            InvalidInputError: the current password is wrong, or the new one is easy to guess.
        """
        await self._signing_in.take_attempt(user.email, browser)
        if not await self._passwords.is_right(current, user.password_hash, address=browser.address or ""):
            raise InvalidInputError.of_field("current_password", "The current password is wrong. Type it again.")
        await self._replace(user, new, kept_session=session.id)

    async def new_link(self, email: str) -> tuple[User, SecretStr]:
        """Return the secret of a link to choose a new password; earlier links become invalid.

        Raises:
            NotFoundError: the address has no account. Callers over HTTP must not tell.
        """
        user = await self._users.with_email(normalize(email))
        if user is None:
            raise NotFoundError(f"No account has the address {email!r}. Check its spelling.")
        await self._links.forget_of(user.id, LinkPurpose.PASSWORD_RESET)
        secret = new_secret()
        link = OneTimeLink(
            id=new_id(),
            purpose=LinkPurpose.PASSWORD_RESET,
            secret_hash=hash_of(secret),
            user_id=user.id,
            expires_at=clock.now() + timedelta(minutes=self._settings.reset_minutes),
        )
        await self._links.insert(link)
        return user, SecretStr(secret)

    async def reset(self, secret: str, new: str) -> User:
        """Choose a new password by a link; sign all browsers out.

        Raises:
            AccessDeniedError: the link is unknown, used or expired.
        """

        async def used(session: Session) -> User:
            link = await self._links.take(LinkPurpose.PASSWORD_RESET, hash_of(secret), clock.now(), session)
            user = await self._users.get(link.user_id, session) if link and link.user_id else None
            if user is None:
                raise _link_invalid()
            # In the transaction, so that a refused password leaves the link unused.
            check_new(new, email=user.email, name=user.name)
            await self._users.set_password(session, user.id, password_hash)
            await self._sessions.end_all(user.id, session=session)
            return user

        if len(new) > 10_000:
            raise InvalidInputError.of_field("password", "The password is too long. Choose a shorter one.")
        if not await self._links.is_open(LinkPurpose.PASSWORD_RESET, hash_of(secret), clock.now()):
            raise _link_invalid()  # before anything is hashed
        password_hash = await self._passwords.hash(new)
        return await run_in_transaction(self._connection, used)

    async def _replace(self, user: User, new: str, *, kept_session: str) -> None:
        check_new(new, email=user.email, name=user.name)
        password_hash = await self._passwords.hash(new)

        async def replace(session: Session) -> None:
            await self._users.set_password(session, user.id, password_hash)
            await self._sessions.end_all(user.id, but=kept_session, session=session)
            await self._links.forget_of(user.id, LinkPurpose.PASSWORD_RESET, session)

        await run_in_transaction(self._connection, replace)


def _link_invalid() -> AccessDeniedError:
    return AccessDeniedError("The link is unknown, used or expired. Ask for a new one.", code="reset_link_invalid")
