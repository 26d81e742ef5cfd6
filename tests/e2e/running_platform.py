"""Starts, damages and stops the real thing: `analytiq` as a process of its own."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from analytiq.settings import child_environment
from analytiq.standalone.data_directory import read_connection
from analytiq.standalone.embedded_address import address_of_running_database
from analytiq.storage.client import connect
from analytiq.tenancy.organizations.service import Organizations

START_SECONDS = 120.0
STOP_SECONDS = 90.0
COMMAND_SECONDS = 180.0
READY = "Analytiq is ready"
OWN_SERVERS = {
    "ANALYTIQ_PROVIDERS__ALLOW_PRIVATE_ADDRESSES": "true",
    "ANALYTIQ_CHAT__GRACE_SECONDS": "8",
    "ANALYTIQ_EMBEDDING__ALLOW_GLOBAL_CACHE": "true",
    "ANALYTIQ_TELEMETRY__METRICS_NAME_TENANTS": "true",
}
"""The providers of these tests are servers on this machine, which an organization may not name otherwise; and a test
waits for the end of an answer that nobody reads."""


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
        """Return the output of it and of its processes so far."""
        return log_of(self.data_dir)

    @property
    def shared_folder(self) -> Path:
        """The folder that sources may read; a test makes one of its own below."""
        return shared_folder_of(self.data_dir)

    def client(self) -> httpx.Client:
        """A client of the organization, its paths relative to `/v0/orgs/{organization_id}`."""
        return client_of(self.url, self.organization_id, self.token)


def client_of(url: str, organization_id: str, token: str) -> httpx.Client:
    """A client of an organization: `client.get("/tags")`."""
    return httpx.Client(
        base_url=f"{url}/v0/orgs/{organization_id}", headers={"Authorization": f"Bearer {token}"}, timeout=60.0
    )


def shared_folder_of(data_dir: Path) -> Path:
    return data_dir.with_name(f"{data_dir.name}-shared")


def log_of(data_dir: Path) -> str:
    return data_dir.with_name(f"{data_dir.name}.log").read_text(errors="replace")


def run_command(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `analytiq` with these arguments to its end; one that does not end fails with all that it printed."""
    try:
        return subprocess.run(
            [sys.executable, "-m", "analytiq.cli", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
            env=child_environment(environment or {}),
        )
    except subprocess.TimeoutExpired as error:
        printed = "".join(part.decode(errors="replace") for part in (error.stdout, error.stderr) if part)
        pytest.fail(f"`analytiq {' '.join(arguments)}` did not end within {COMMAND_SECONDS} s:\n{printed[-4000:]}")


def start_platform(
    data_dir: Path,
    *options: str,
    until: str = READY,
    prints_logs: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Running:
    """Run `analytiq up` on a data directory of the test's own; stop it with `stop_platform`.

    Args:
        data_dir: made if need be; beside it comes a file with what is printed.
        options: of `up`.
        until: printed words to wait for; before READY there is no address and no token.
        prints_logs: whether the processes' logs are printed, instead of going to files as they do for people.
        environment: further settings.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir.with_name(f"{data_dir.name}.log")
    verbose = ("--verbose",) if prints_logs else ()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "analytiq.cli",
                "up",
                "--data-dir",
                str(data_dir),
                "--port",
                "0",
                *verbose,
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=child_environment(
                {
                    **OWN_SERVERS,
                    "ANALYTIQ_SOURCES__FOLDERS": json.dumps([str(shared_folder_of(data_dir))]),
                    **(environment or {}),
                }
            ),
        )
    deadline = time.monotonic() + START_SECONDS
    while until not in log_of(data_dir):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            pytest.fail(f"`analytiq up` did not get ready:\n{log_of(data_dir)}")
        time.sleep(0.02)
    if until != READY:
        return Running(url="", organization_id="", token="", data_dir=data_dir, process=process)
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


def make_organization(running: Running, name: str) -> tuple[str, str]:
    """Make an organization directly in the database; returns its id and an access token."""

    async def make() -> tuple[str, str]:
        connection = await connect(address_of_running_database(running.data_dir), "analytiq")
        try:
            organizations = Organizations.on(connection)
            organization = await organizations.create(name)
            issued = await organizations.issue_token(organization.id, name="tests")
            return organization.id, issued.secret.get_secret_value()
        finally:
            await connection.close()

    # In a thread: an event loop made here would take the place of the one that asynchronous tests share.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, make()).result()
