"""Stacks of failed jobs as an organization sees them."""

import asyncio

import pytest
from pymongo.errors import AutoReconnect

from analytiq.errors import AnalytiqError, PermanentError, TransientError
from analytiq.jobs.queue.stack import stack_of


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:  # noqa: BLE001  # with the places that it came through
        return caught


def test_files_are_named_by_their_place_in_a_package() -> None:
    async def late() -> None:
        async with asyncio.timeout(0):
            await asyncio.sleep(1)

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(late())
    stack = stack_of(caught.value)
    assert 'File "asyncio/timeouts.py", line ' in stack
    assert 'File "tests/unit/queue/test_stack.py", line ' in stack
    assert "await asyncio.sleep(1)" in stack
    assert '"/' not in stack


def test_message_of_an_error_that_is_not_ours_is_not_quoted() -> None:
    lost = AutoReconnect("db7.internal:27017: connection closed, password=hunter2")
    try:
        try:
            raise lost
        except AutoReconnect as error:
            raise TransientError("MongoDB did not finish the call") from error
    except TransientError as error:
        stack = stack_of(error)
    assert "db7" not in stack
    assert "hunter2" not in stack
    said = [line for line in stack.splitlines() if line and not line.startswith(" ")]
    assert said == [
        "AutoReconnect",
        "which led to:",
        "TransientError: MongoDB did not finish the call",
    ]


def test_error_while_another_is_handled_and_groups_are_told_whole() -> None:
    missing = KeyError("secret")
    both = ExceptionGroup("secret", [raised(PermanentError("one")), raised(ValueError("secret"))])
    try:
        try:
            raise missing
        except KeyError:
            raise both  # noqa: B904  # as it happens where nobody thought of it
    except ExceptionGroup as error:
        stack = stack_of(error)
    assert "secret" not in stack
    for told in ("KeyError", "while that was handled:", "ExceptionGroup", "PermanentError: one", "ValueError"):
        assert told in stack.splitlines()


def test_end_of_a_long_stack_is_kept() -> None:
    def deep(levels: int) -> None:
        if not levels:
            raise PermanentError("at the bottom")
        deep(levels - 1)

    with pytest.raises(AnalytiqError) as caught:
        deep(500)
    stack = stack_of(caught.value)
    assert len(stack) == 8000
    assert stack.endswith("PermanentError: at the bottom")
