"""Fixtures of the end-to-end tests: one real platform, started with `analytiq up`, for the whole run."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from analytiq.cli.embedded_address import address_of_running_database
from analytiq.mongo.client import connect
from analytiq.mongo.data_directory import read_connection
from analytiq.mongo.repositories.organizations import AccessTokenRepository, OrganizationRepository
from analytiq.organizations.service import Organizations

START_SECONDS = 120.0
STOP_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Running:
    """A platform that is ready. `url` is the API's, without the prefix of the organization."""

    url: str
    organization_id: str
    token: str
    data_dir: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        """What it and its processes have printed so far."""
        return log_of(self.data_dir)

    def client(self) -> httpx.Client:
        """A client of the organization, its paths relative to `/v0/orgs/{organization_id}`."""
        return client_of(self.url, self.organization_id, self.token)


def client_of(url: str, organization_id: str, token: str) -> httpx.Client:
    """A client of an organization: `client.get("/tags")`."""
    return httpx.Client(
        base_url=f"{url}/v0/orgs/{organization_id}", headers={"Authorization": f"Bearer {token}"}, timeout=60.0
    )


def log_of(data_dir: Path) -> str:
    return data_dir.with_name(f"{data_dir.name}.log").read_text(errors="replace")


def start_platform(data_dir: Path, *options: str) -> Running:
    """Run `analytiq up` on a data directory of the test's own; stop it with `stop_platform`."""
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir.with_name(f"{data_dir.name}.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "analytiq.cli", "up", "--data-dir", str(data_dir), "--port", "0", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    deadline = time.monotonic() + START_SECONDS
    while "Analytiq is ready" not in log_of(data_dir):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            pytest.fail(f"`analytiq up` did not get ready:\n{log_of(data_dir)}")
        time.sleep(0.02)
    connection = read_connection(data_dir)
    return Running(
        url=connection.url,
        organization_id=connection.organization_id,
        token=connection.token.get_secret_value(),
        data_dir=data_dir,
        process=process,
    )


def stop_platform(running: Running) -> int:
    """End it as a service manager does; returns the exit code."""
    running.process.terminate()
    try:
        return running.process.wait(STOP_SECONDS)
    finally:
        running.process.kill()
        running.process.wait()


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


def make_organization(running: Running, name: str) -> tuple[str, str]:
    """Make an organization directly in the database; returns its id and an access token."""

    async def make() -> tuple[str, str]:
        connection = await connect(address_of_running_database(running.data_dir), "analytiq")
        try:
            organizations = Organizations(OrganizationRepository(connection), AccessTokenRepository(connection))
            organization = await organizations.create(name)
            issued = await organizations.issue_token(organization.id, name="tests")
            return organization.id, issued.secret.get_secret_value()
        finally:
            await connection.close()

    # In a thread: an event loop made here would take the place of the one that asynchronous tests share.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, make()).result()
