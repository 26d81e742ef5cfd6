"""The organization and token of a data directory: those it has, or, at first start, new ones."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from analytiq.errors import AccessDeniedError, AnalytiqError
from analytiq.mongo.client import connect
from analytiq.mongo.data_directory import read_connection
from analytiq.mongo.migrations import migrate
from analytiq.mongo.repositories.organizations import AccessTokenRepository, OrganizationRepository
from analytiq.organizations.service import FIRST_ORGANIZATION_NAME, Organizations

TOKEN_NAME = "analytiq up"  # noqa: S105  # what the token is called in lists


@dataclass(frozen=True, slots=True)
class Access:
    """What opens the organization."""

    organization_id: str
    organization_name: str
    token: SecretStr
    is_new_token: bool


async def open_or_create(uri: SecretStr, database: str, directory: Path) -> Access:
    """The access that connection.json in `directory` keeps; a new token where it is gone or no longer valid.

    Migrates the database on the way. The oldest organization counts, and one is made where there is none.
    """
    connection = await connect(uri, database)
    try:
        await migrate(connection)
        organizations = Organizations(OrganizationRepository(connection), AccessTokenRepository(connection))
        return await _kept(organizations, directory) or await _made(organizations)
    finally:
        await connection.close()


async def _kept(organizations: Organizations, directory: Path) -> Access | None:
    try:
        token = read_connection(directory).token
    except AnalytiqError:
        return None  # there is none, or it is damaged: either way a new one is made and said
    try:
        organization = await organizations.open_with(token.get_secret_value())
    except AccessDeniedError:
        return None
    return Access(organization.id, organization.name, token, is_new_token=False)


async def _made(organizations: Organizations) -> Access:
    organization = await organizations.first() or await organizations.create(FIRST_ORGANIZATION_NAME)
    issued = await organizations.issue_token(organization.id, name=TOKEN_NAME)
    return Access(organization.id, organization.name, issued.secret, is_new_token=True)
