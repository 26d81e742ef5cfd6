"""Connections to providers are closed after each test, as an application closes them at its end."""

from collections.abc import AsyncIterator

import pytest

from analytiq.inference.providers.guarded_http import close_idle_connections


@pytest.fixture(autouse=True)
async def idle_connections_are_closed() -> AsyncIterator[None]:
    """Close what a test left open at the fake servers."""
    yield
    await close_idle_connections()
