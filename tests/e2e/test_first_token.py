"""The first token of an installation whose processes are started one by one, as docs/how-to/deploy.md says."""

import asyncio
import re
import uuid
from collections.abc import Iterator

import pytest
from pydantic import SecretStr
from pymongo import MongoClient

from analytiq.storage.client import connect
from analytiq.tenancy.organizations.service import Organizations
from tests.e2e.running_platform import run_command


@pytest.fixture
def installation(mongo_uri: SecretStr) -> Iterator[dict[str, str]]:
    """The database in its processes' environment, which is empty."""
    name = f"first_token_{uuid.uuid4().hex}"
    yield {"MONGODB_URI": mongo_uri.get_secret_value(), "ANALYTIQ_MONGO__DATABASE": name}
    with MongoClient[dict[str, object]](mongo_uri.get_secret_value()) as client:
        client.drop_database(name)


def create(installation: dict[str, str], *options: str) -> tuple[str, str]:
    """Make a token; the id of its organization, and its secret."""
    created = run_command("token", "create", "first", "--database", *options, environment=installation)
    assert created.returncode == 0, created.stderr
    named = re.search(r"For the organization (\w{24}):", created.stderr)
    assert named is not None, created.stderr
    return named[1], created.stdout.strip()


async def organization_that_opens(installation: dict[str, str], secret: str) -> str:
    connection = await connect(SecretStr(installation["MONGODB_URI"]), installation["ANALYTIQ_MONGO__DATABASE"])
    try:
        organizations = Organizations.on(connection)
        return (await organizations.open_with(secret)).id
    finally:
        await connection.close()


def test_first_token_brings_the_first_organization_and_the_next_is_of_the_same(installation: dict[str, str]) -> None:
    organization_id, secret = create(installation)
    again, other = create(installation)
    assert (again, other == secret) == (organization_id, False)
    assert create(installation, "--organization", organization_id)[0] == organization_id
    assert asyncio.run(organization_that_opens(installation, secret)) == organization_id


def test_token_of_an_unknown_organization_is_not_made(installation: dict[str, str]) -> None:
    refused = run_command("token", "create", "x", "--database", "--organization", "0" * 24, environment=installation)
    assert refused.returncode == 1
    assert "0" * 24 in refused.stderr
