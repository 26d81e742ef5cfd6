"""Passwords that anybody would try are refused with the reason; good ones are taken."""

import asyncio

import pytest

from analytiq.errors import InvalidInputError, RateLimitedError
from analytiq.tenancy.accounts.guessing import MOST_JUDGED, judge
from analytiq.tenancy.accounts.passwords import MOST_WAITING, MOST_WAITING_OF_ONE, Passwords, check_new


@pytest.mark.parametrize(
    "password",
    [
        "password12", "password123", "1234567890", "qwertyuiop", "letmein1234", "iloveyou12", "Password1!",
        "P4ssw0rd!23",
        "passwort123", "1q2w3e4r5t", "asdfghjkl;'", "abcdefghij", "football1234", "admin12345", "welcome2024",
        "margaret1987", "monkey monkey", "drowssap12", "iloveyouiloveyou", "qwertz12345", "analytiq2026",
        "Lovelace2026", "example12345", "trustno1trustno1",
    ],
)  # fmt: skip
def test_password_that_anybody_would_try_is_refused_with_the_reason(password: str) -> None:
    with pytest.raises(InvalidInputError, match="easy to guess, since it contains"):
        check_new(password, email="ada@example.com", name="Ada Lovelace")


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "staple another one",
        "x9fKq2LmPz",
        "blue-tiger-lamp",
        "wherever you roam",
        "Zug um 7 in Ulm",
    ],
)
def test_password_that_takes_long_to_guess_is_taken(password: str) -> None:
    check_new(password, email="ada@example.com", name="Ada Lovelace")


def test_what_follows_after_many_characters_adds_nothing_and_takes_no_time() -> None:
    assert judge("ab" * 500).guesses_log10 == judge("ab" * (MOST_JUDGED // 2)).guesses_log10 < 4


async def test_flood_of_sign_ins_is_refused_and_keeps_no_other_address_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passwords, release = Passwords(), asyncio.Event()

    async def held(_: object, *_arguments: object) -> bool:
        await release.wait()
        return True

    monkeypatch.setattr(asyncio, "to_thread", held)
    flood = [asyncio.create_task(passwords.is_right("wrong", "hash", address="10.0.0.1")) for _ in range(60)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    refused = [task for task in flood if task.done()]
    assert len(refused) == 60 - MOST_WAITING_OF_ONE - 2
    assert all(isinstance(task.exception(), RateLimitedError) for task in refused)
    other = asyncio.create_task(passwords.is_right("right", "hash", address="10.0.0.2"))
    await asyncio.sleep(0)
    assert not other.done()
    release.set()
    assert await other
    assert sum(result is True for result in await asyncio.gather(*flood, return_exceptions=True)) == 60 - len(refused)


async def test_calls_from_many_addresses_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords, release = Passwords(), asyncio.Event()

    async def held(_: object, *_arguments: object) -> bool:
        await release.wait()
        return True

    monkeypatch.setattr(asyncio, "to_thread", held)
    calls = [asyncio.create_task(passwords.is_right("a", "hash", address=str(number))) for number in range(100)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sum(not task.done() for task in calls) == MOST_WAITING + 2
    release.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(result) for result in results} == {bool, RateLimitedError}
    assert await passwords.is_right("a", "hash")
