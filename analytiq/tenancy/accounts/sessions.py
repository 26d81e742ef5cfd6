"""Sign-in and sign-out: passwords, session cookies, limits on guessing."""

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
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.tenancy.accounts.passwords import Passwords
from analytiq.tenancy.accounts.secrets import hash_of, new_secret

log = structlog.get_logger(__name__)

NOTED_EVERY = timedelta(minutes=5)
"""Precision of a session's last use, to save a write per request."""
NOBODYS = ""
"""Organization id for the limits on guessing, which belong to no organization."""

_OF_ADDRESS = Bucket(interval_ms=1_000, burst=100)
"""Attempts per address. An office may share one, and a password costs the server 64 MiB and 50 ms."""
_OF_ACCOUNT = Bucket(interval_ms=6_000, burst=50)
"""Attempts per account from all addresses: high, since a stranger could otherwise lock a person out."""
_OF_BOTH = Bucket(interval_ms=30_000, burst=6)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session; its secret goes into the cookie and is not stored."""

    user: User
    session: UserSession
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser of a sign-in."""

    address: str | None = None
    user_agent: str | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """A person's organization, and the role in it."""

    organization_name: str
    member: Member


class Sessions:
    """Sessions of people. They end after `session_idle_hours` without a call, and after `session_days`."""

    def __init__(self, rows: Repositories, passwords: Passwords, settings: AccountSettings) -> None:
        self._users = rows.users
        self._members = rows.members
        self._organizations = rows.organizations
        self._sessions = rows.sessions
        self._limits = rows.rate_limits
        self._passwords = passwords
        self._settings = settings

    async def sign_in(self, email: str, password: str, browser: Browser) -> SignedIn:
        """Open a session.

        Raises:
            AccessDeniedError: the address or the password is wrong; neither text nor time reveals which.
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
                "The address or the password is wrong. Try again, or ask an operator for a new link by"
                " `analytiq user reset`.",
                code="unauthenticated",
            )
        if self._passwords.is_dated(password_hash):
            await self._users.rehash(user.id, old=password_hash, new=await self._passwords.hash(password))
        return await self.open(user, browser)

    async def take_attempt(self, email: str | None, browser: Browser) -> None:
        """Count an attempt at an account's password; None: at a secret, which costs time only.

        Raises:
            RateLimitedError: too many attempts from this address, at this account, or both.
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
                    "Too many attempts to sign in. Wait a moment, then try again.",
                    retry_after=outcome.wait_ms / 1000,
                    code="too_many_attempts",
                )

    async def open(self, user: User, browser: Browser) -> SignedIn:
        """Open a session for an authenticated person."""
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
        """Return the person whose browser has this secret.

        Raises:
            AccessDeniedError: the session ended or expired.
        """
        session = await self._sessions.with_hash(hash_of(secret))
        now = clock.now()
        user = await self._users.get(session.user_id) if session and session.expires_at > now else None
        if session is None or user is None:
            raise AccessDeniedError("You are signed out. Sign in again.", code="unauthenticated")
        if now - session.last_seen_at >= NOTED_EVERY:
            await self._sessions.note_use(session.id, now, self._until(session.created_at, now))
        return user, session

    async def organizations_of(self, user: User) -> list[Membership]:
        """Return the person's organizations, oldest membership first."""
        found: list[Membership] = []
        for member in await self._members.of_user(user.id):
            organization = await self._organizations.get(member.organization_id)
            if organization is not None:
                found.append(Membership(organization.name, member))
        return found

    async def member_of(self, user: User, organization_id: str) -> Member | None:
        """Return the person's membership of the organization, if any."""
        return await self._members.get(organization_id, user.id)

    async def open_of(self, user: User, *, skip: int, limit: int) -> tuple[list[UserSession], int]:
        """Return a page of the person's sessions, latest use first, and their count."""
        return await self._sessions.open_of(user.id, clock.now(), skip=skip, limit=limit)

    async def end(self, user: User, session_id: str) -> None:
        """End one of the person's sessions, from its next call on.

        Raises:
            NotFoundError: the session is not the person's, or has ended already.
        """
        if not await self._sessions.end_own(user.id, session_id):
            raise NotFoundError(f"You have no session with the id {session_id!r}. It may have ended already.")

    async def sign_out(self, session: UserSession) -> None:
        """End this session."""
        await self._sessions.end(session.id)

    async def sign_out_everywhere(self, user: User) -> int:
        """End all sessions of the person, this one included; return their number."""
        return await self._sessions.end_all(user.id)

    def _until(self, created_at: datetime, now: datetime) -> datetime:
        idle = now + timedelta(hours=self._settings.session_idle_hours)
        return min(idle, created_at + timedelta(days=self._settings.session_days))
