"""Argon2id, by argon2-cffi with RFC 9106's second recommended parameters (64 MiB, 3 passes, 4 lanes)."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from analytiq.errors import InvalidInputError, RateLimitedError
from analytiq.tenancy.accounts.guessing import ENOUGH_LOG10, judge

SHORTEST = 10
"""Characters: NIST SP 800-63B asks for at least 8, and for no rules of composition."""
LONGEST = 1000
AT_ONCE = 2
"""Concurrent hashes, 64 MiB each: a flood of sign-ins must not exhaust a process's memory."""
MOST_WAITING = 16
"""Most waiting calls: at 50 ms each, the last one waits for half a second; on a busy small machine for some."""
MOST_WAITING_OF_ONE = 4
"""Waiting calls from one address, so that its flood keeps no other address from signing in."""
RETRY_AFTER_SECONDS = 2.0
OWN_NAME = "analytiq"

_hasher = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)


@cache
def _nobodys() -> str:
    return _hasher.hash("the password of nobody")


class Passwords:
    """Hashes and checks passwords in threads, a few at a time, with a bounded queue."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting: Counter[str] = Counter()

    async def hash(self, password: str, *, address: str = "") -> str:
        """Return the password in Argon2id's notation.

        Raises:
            RateLimitedError: too many calls are waiting.
        """
        async with self._turn(address):
            return await asyncio.to_thread(_hasher.hash, password)

    async def is_right(self, password: str, password_hash: str | None, *, address: str = "") -> bool:
        """Check a password; take equally long for an unknown person, so that the time reveals nothing.

        Raises:
            RateLimitedError: too many calls are waiting, in all or from this address.
        """
        async with self._turn(address):
            is_right = await asyncio.to_thread(_verify, password, password_hash or _nobodys())
        return is_right and password_hash is not None

    @asynccontextmanager
    async def _turn(self, address: str) -> AsyncGenerator[None]:
        if self._waiting.total() >= MOST_WAITING or self._waiting[address] >= MOST_WAITING_OF_ONE:
            raise RateLimitedError(
                "Too many passwords are being checked at this moment. Try again in a few seconds.",
                retry_after=RETRY_AFTER_SECONDS,
                code="too_many_sign_ins",
            )
        self._waiting[address] += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        try:
            yield
        finally:
            self._turns.release()

    @staticmethod
    def is_dated(password_hash: str) -> bool:
        """Return whether the hash has other parameters than today's."""
        return _hasher.check_needs_rehash(password_hash)


def check_new(password: str, *, email: str, name: str) -> None:
    """Refuse a password that is guessed soon.

    Raises:
        InvalidInputError: too short, too long, or easy to guess: a common password, word or name with little added, a
            row of keys, or the person's own address or name.
    """
    if len(password) < SHORTEST:
        raise InvalidInputError.of_field(
            "password", f"The password is shorter than {SHORTEST} characters. Choose a longer one."
        )
    if len(password) > LONGEST:
        raise InvalidInputError.of_field(
            "password", f"The password is longer than {LONGEST} characters. Choose a shorter one."
        )
    if password.strip().lower() in {email.lower(), email.partition("@")[0].lower(), name.lower()}:
        raise InvalidInputError.of_field(
            "password", "The password is your own address or name, which an attacker tries first. Choose another one."
        )
    if len(set(password)) < 4:
        raise InvalidInputError.of_field(
            "password", "The password repeats fewer than 4 different characters. Choose another one."
        )
    judgement = judge(password, [*email.replace("@", " ").replace(".", " ").split(), *name.split(), OWN_NAME])
    if judgement.guesses_log10 < ENOUGH_LOG10:
        because = f", since it contains {judgement.weakness}" if judgement.weakness else ""
        raise InvalidInputError.of_field(
            "password",
            f"The password is easy to guess{because}. Use several unrelated words, or let a password"
            " manager choose one.",
            code="password_too_common",
        )


def _verify(password: str, password_hash: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False
