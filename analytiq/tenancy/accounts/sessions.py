"""Signs people in and out: password, cookie's secret, limits on guessing."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, NotFoundError, RateLimitedError
from analytiq.models.account import Member, User, UserSession, normalize
from analytiq.models.rate_limit import Bucket, Charge
from analytiq.settings import AccountSettings
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.storage.repositories.sessions import SessionRepository
from analytiq.storage.repositories.users import MemberRepository, UserRepository
from analytiq.tenancy.accounts.passwords import Passwords
from analytiq.tenancy.accounts.secrets import hash_of, new_secret

log = structlog.get_logger(__name__)

NOTED_EVERY = timedelta(minutes=5)
"""A session's last use is known this exactly: not a write for each request."""
NOBODYS = ""
"""Limits on guessing belong to no organization."""

_OF_ADDRESS = Bucket(interval_ms=1_000, burst=100)
"""An office may share one; passwords cost the server 64 MiB and 50 ms each, so there is a limit."""
_OF_ACCOUNT = Bucket(interval_ms=6_000, burst=50)
"""From wherever: high, since a stranger could otherwise keep a person out."""
_OF_BOTH = Bucket(interval_ms=30_000, burst=6)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session; its secret goes into the cookie and is kept nowhere."""

    user: User
    session: UserSession
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class Browser:
    """From where somebody signs in."""

    address: str | None = None
    user_agent: str | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """An organization of a person, and the part in it."""

    organization_name: str
    member: Member


class Sessions:
    """Who is signed in. Sessions end after `session_idle_hours` without a call, and after `session_days` anyway."""

    def __init__(
        self,
        users: UserRepository,
        members: MemberRepository,
        organizations: OrganizationRepository,
        sessions: SessionRepository,
        limits: RateLimitRepository,
        passwords: Passwords,
        settings: AccountSettings,
    ) -> None:
        self._users = users
        self._members = members
        self._organizations = organizations
        self._sessions = sessions
        self._limits = limits
        self._passwords = passwords
        self._settings = settings

    async def sign_in(self, email: str, password: str, browser: Browser) -> SignedIn:
        """Open a session.

        Raises:
            AccessDeniedError: the address or the password is wrong; it does not say which, nor does the time it takes.
            RateLimitedError: too many attempts.
        """
        email = normalize(email)
        await self.take_attempt(email, browser)
        user = await self._users.with_email(email)
        password_hash = user.password_hash if user else None
        if (
            not await self._passwords.is_right(password, password_hash, address=browser.address or "")
            or user is None
            or password_hash is None
        ):
            log.info("accounts.sign_in_refused", address=browser.address)
            raise AccessDeniedError(
                "the address or the password is wrong; an operator can send you a new link: `analytiq user reset`",
                code="unauthenticated",
            )
        if self._passwords.is_dated(password_hash):
            await self._users.rehash(user.id, old=password_hash, new=await self._passwords.hash(password))
        return await self.open(user, browser)

    async def take_attempt(self, email: str | None, browser: Browser) -> None:
        """Count an attempt at an account's password; None: at a secret that cannot be guessed, but costs time.

        Raises:
            RateLimitedError: too many from this address, at this account, or both.
        """
        address = browser.address or "unknown"
        limits = [(f"sign_in:{address}", _OF_ADDRESS)]
        if email is not None:
            account = hashlib.sha256(email.encode()).hexdigest()[:32]
            limits += [(f"sign_in:{address}:{account}", _OF_BOTH), (f"sign_in::{account}", _OF_ACCOUNT)]
        for key, bucket in limits:
            outcome = await self._limits.take(NOBODYS, key, [Charge("attempts", bucket, 1)], patience_ms=0.0)
            if not outcome.is_granted:
                raise RateLimitedError(
                    "too many attempts to sign in; wait a moment",
                    retry_after=outcome.wait_ms / 1000,
                    code="too_many_attempts",
                )

    async def open(self, user: User, browser: Browser) -> SignedIn:
        """A session for somebody who has shown who they are."""
        now = clock.now()
        secret = new_secret()
        session = UserSession(
            id=new_id(),
            secret_hash=hash_of(secret),
            user_id=user.id,
            created_at=now,
            last_seen_at=now,
            expires_at=self._until(now, now),
            address=browser.address,
            user_agent=browser.user_agent[:300] if browser.user_agent else None,
        )
        await self._sessions.insert(session)
        await self._users.note_sign_in(user.id, now)
        return SignedIn(user, session, SecretStr(secret))

    async def open_with(self, secret: str) -> tuple[User, UserSession]:
        """The person whose browser has this secret.

        Raises:
            AccessDeniedError: signed out or expired.
        """
        session = await self._sessions.with_hash(hash_of(secret))
        now = clock.now()
        user = await self._users.get(session.user_id) if session and session.expires_at > now else None
        if session is None or user is None:
            raise AccessDeniedError("you are signed out; sign in again", code="unauthenticated")
        if now - session.last_seen_at >= NOTED_EVERY:
            await self._sessions.note_use(session.id, now, self._until(session.created_at, now))
        return user, session

    async def organizations_of(self, user: User) -> list[Membership]:
        """The organizations that the person is a member of, oldest membership first."""
        found: list[Membership] = []
        for member in await self._members.of_user(user.id):
            organization = await self._organizations.get(member.organization_id)
            if organization is not None:
                found.append(Membership(organization.name, member))
        return found

    async def member_of(self, user: User, organization_id: str) -> Member | None:
        """The person's part in the organization, if any."""
        return await self._members.get(organization_id, user.id)

    async def open_of(self, user: User, *, skip: int, limit: int) -> tuple[list[UserSession], int]:
        """A page of the person's sessions, the one used last first, and how many there are."""
        return await self._sessions.open_of(user.id, clock.now(), skip=skip, limit=limit)

    async def end(self, user: User, session_id: str) -> None:
        """End one of the person's sessions, from its next call on.

        Raises:
            NotFoundError: it is not one of theirs, or has ended already.
        """
        if not await self._sessions.end_own(user.id, session_id):
            raise NotFoundError(f"no session of yours has the id {session_id!r}: it may have ended already")

    async def sign_out(self, session: UserSession) -> None:
        """End this session."""
        await self._sessions.end(session.id)

    async def sign_out_everywhere(self, user: User) -> int:
        """End all of the person's sessions, this one too; returns how many they were."""
        return await self._sessions.end_all(user.id)

    def _until(self, created_at: datetime, now: datetime) -> datetime:
        idle = now + timedelta(hours=self._settings.session_idle_hours)
        return min(idle, created_at + timedelta(days=self._settings.session_days))
