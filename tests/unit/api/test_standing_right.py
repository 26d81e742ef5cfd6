"""The right to a stream is looked up while the stream lasts."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import AccessDeniedError
from api import standing_right
from api.access import Caller
from api.standing_right import StandingRight

REVOKED = AccessDeniedError("revoked", code="unauthenticated")


def caller(ends_in: timedelta | None = None) -> Caller:
    ends_at = None if ends_in is None else clock.now() + ends_in
    return cast("Caller", SimpleNamespace(organization=SimpleNamespace(id="a"), ends_at=ends_at))


def right_of(found: Caller) -> StandingRight:
    return StandingRight(cast("Request", None), cast("Services", None), found)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The look-ups; all of them refuse."""
    made: list[str] = []

    async def identify(_: object, __: object, organization_id: str) -> Any:
        made.append(organization_id)
        raise REVOKED

    monkeypatch.setattr(standing_right, "identify", identify)
    return made


async def test_reader_whose_token_was_revoked_is_refused_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch, looked_up: list[str]
) -> None:
    right = right_of(caller())
    assert await right.refusal() is None
    assert looked_up == []
    monkeypatch.setattr(standing_right, "CHECK_SECONDS", 0.0)
    assert await right.refusal() is REVOKED


async def test_reader_whose_token_expired_is_refused_at_once(looked_up: list[str]) -> None:
    assert await right_of(caller(timedelta(hours=1))).refusal() is None
    assert await right_of(caller(timedelta(seconds=-1))).refusal() is REVOKED
    assert looked_up == ["a"]
