"""Direct access to the platform's database, for recovery, and for data missing from the API."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from analytiq.errors import NotFoundError
from analytiq.models.account import TokenScope
from analytiq.models.maker import OPERATOR
from analytiq.models.organization import Organization
from analytiq.settings import Settings
from analytiq.standalone.embedded_address import address_of_running_database
from analytiq.storage.client import MongoConnection, connect, translate
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.session import DatabaseError
from analytiq.tenancy.organizations.service import FIRST_ORGANIZATION_NAME, IssuedToken, Organizations

Result = TypeVar("Result")

JobCounts = dict[tuple[str, str], int]
"""The number of jobs by (kind, state)."""


def address_of_database(settings: Settings, data_dir: Path | None) -> SecretStr:
    """Find the database: the named data directory's embedded one if it runs, else as `analytiq up` does.

    Raises:
        NotFoundError: MONGODB_URI is not set, and no embedded database runs.
    """
    if settings.mongo.uri is None:
        return address_of_running_database(data_dir or settings.data_dir)
    if data_dir is None:
        return settings.mongo.uri
    try:
        return address_of_running_database(data_dir)
    except NotFoundError:
        return settings.mongo.uri


def describe(uri: SecretStr, database: str) -> str:
    """Describe the database server: replica set or sharded cluster, and its version.

    Raises:
        AnalytiqError: it cannot be reached, or does not support the platform.
    """

    async def say(connection: MongoConnection) -> str:
        await connection.ping()
        kind = "a sharded cluster" if connection.is_sharded else "a replica set"
        return f"{kind}, version {'.'.join(map(str, connection.server_version))}"

    return run_on_database(uri, database, say)


def count_jobs(uri: SecretStr, database: str, organization_id: str) -> JobCounts:
    """Count an organization's unfinished jobs."""

    async def count(connection: MongoConnection) -> JobCounts:
        return await JobRepository(connection).counts(organization_id)

    return run_on_database(uri, database, count)


def issue_token(
    uri: SecretStr, database: str, name: str, scope: TokenScope, organization_id: str | None
) -> tuple[str, IssuedToken]:
    """Create an access token for an organization; return the organization's id too.

    By default for the oldest; without any, create one: an installation whose processes are started
    one by one has no other way.

    Raises:
        NotFoundError: there is no such organization.
    """

    async def issue(connection: MongoConnection) -> tuple[str, IssuedToken]:
        organizations = Organizations.on(connection)
        if organization_id is not None:
            organization = await organizations.get(organization_id)
        else:
            await migrate(connection)
            organization = await organizations.first() or await organizations.create(FIRST_ORGANIZATION_NAME)
        return organization.id, await organizations.issue_token(
            organization.id, name=name, scope=scope, made_by=OPERATOR
        )

    return run_on_database(uri, database, issue)


async def organization_of(connection: MongoConnection, organization_id: str | None) -> Organization:
    """Return the organization with this id, by default the oldest.

    Raises:
        NotFoundError: there is no such organization, or none at all.
    """
    organizations = Organizations.on(connection)
    if organization_id is not None:
        return await organizations.get(organization_id)
    organization = await organizations.first()
    if organization is None:
        name = connection.database.name
        raise NotFoundError(f"The database {name!r} has no organization yet: `analytiq up` makes one.")
    return organization


def on_database(
    settings: Settings, data_dir: Path | None, work: Callable[[MongoConnection], Awaitable[Result]]
) -> Result:
    """Run work on the database of `address_of_database`."""
    return run_on_database(address_of_database(settings, data_dir), settings.mongo.database, work)


def run_on_database(uri: SecretStr, database: str, work: Callable[[MongoConnection], Awaitable[Result]]) -> Result:
    """Connect, do the work, close; turn the driver's temporary failures into errors of the library."""

    async def run() -> Result:
        connection = await connect(uri, database)
        try:
            return await work(connection)
        except DatabaseError as error:
            known = translate(error)
            if known is None:
                raise
            raise known from error
        finally:
            await connection.close()

    return asyncio.run(run())
