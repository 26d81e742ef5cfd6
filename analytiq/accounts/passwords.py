"""Argon2id, by argon2-cffi with RFC 9106's second recommended parameters (64 MiB, 3 passes, 4 lanes)."""

import asyncio
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from analytiq.errors import InvalidInputError

SHORTEST = 10
"""Characters: NIST SP 800-63B asks for 8 at least, and for no rules of composition."""
LONGEST = 1000
AT_ONCE = 2
"""64 MiB each: a flood of sign-ins must not take a process's memory."""

_hasher = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)


@cache
def _nobodys() -> str:
    return _hasher.hash("the password of nobody")


class Passwords:
    """Hashes and checks passwords in threads, a few at a time."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def hash(self, password: str) -> str:
        """Argon2id's notation of the password."""
        async with self._turns:
            return await asyncio.to_thread(_hasher.hash, password)

    async def is_right(self, password: str, password_hash: str | None) -> bool:
        """Whether the password fits. Takes as long where there is none, so that time tells nobody who exists."""
        async with self._turns:
            is_right = await asyncio.to_thread(_verify, password, password_hash or _nobodys())
        return is_right and password_hash is not None

    @staticmethod
    def is_dated(password_hash: str) -> bool:
        """Whether the hash was made with other parameters than today's."""
        return _hasher.check_needs_rehash(password_hash)


def check_new(password: str, *, email: str, name: str) -> None:
    """Refuse what anybody would guess first.

    Raises:
        InvalidInputError: too short, too long, or the person's own address or name.
    """
    if len(password) < SHORTEST:
        raise InvalidInputError.of_field("password", f"is shorter than {SHORTEST} characters")
    if len(password) > LONGEST:
        raise InvalidInputError.of_field("password", f"is longer than {LONGEST} characters")
    if password.strip().lower() in {email.lower(), email.partition("@")[0].lower(), name.lower()}:
        raise InvalidInputError.of_field("password", "is your own address or name, which anybody would try first")
    if len(set(password)) < 4:
        raise InvalidInputError.of_field("password", "repeats fewer than 4 different characters")


def _verify(password: str, password_hash: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False
