"""Fixtures of the end-to-end tests: one real platform, started with `analytiq up`, for the whole run."""

from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.running_platform import Running, client_of, make_organization, start_platform, stop_platform


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The platform of this test process, shared by its tests: make tags and names of your own."""
    platform = start_platform(tmp_path_factory.mktemp("platform") / "data")
    yield platform
    assert stop_platform(platform) == 0, platform.log[-4000:]


@pytest.fixture(scope="session")
def client(running: Running) -> Iterator[httpx.Client]:
    """A client of the first organization."""
    with running.client() as opened:
        yield opened


@pytest.fixture(scope="session")
def other_client(running: Running) -> Iterator[httpx.Client]:
    """A client of a second organization on the same platform."""
    organization_id, token = make_organization(running, "Another organization")
    with client_of(running.url, organization_id, token) as opened:
        yield opened
