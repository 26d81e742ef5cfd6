"""The organization and token of a data directory: the existing ones, or, at first start, new ones."""

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from analytiq.errors import AccessDeniedError, AnalytiqError
from analytiq.models.account import Permission, Role
from analytiq.models.maker import OPERATOR
from analytiq.settings import Settings
from analytiq.standalone.data_directory import read_connection
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.providers import ProviderRepository
from analytiq.storage.repositories.users import MemberRepository
from analytiq.tenancy.accounts.invitations import Invitations
from analytiq.tenancy.makers import Makers
from analytiq.tenancy.organizations.service import FIRST_ORGANIZATION_NAME, Organizations

TOKEN_NAME = "analytiq up"  # noqa: S105  # what the token is called in lists


@dataclass(frozen=True, slots=True)
class Access:
    """Access to the organization."""

    organization_id: str
    organization_name: str
    token: SecretStr
    is_new_token: bool
    has_provider_keys: bool = False
    """True if the database contains keys encrypted with the secret key."""
    owner_invitation: SecretStr | None = None
    """Secret of a link that makes its follower the owner, if a new organization has no member yet."""


async def open_or_create(uri: SecretStr, settings: Settings, directory: Path) -> Access:
    """Return the access in the directory's connection.json; issue a token where it is missing or invalid.

    Also migrate the database. Uses the oldest organization, and creates one if there is none.
    """
    connection = await connect(uri, settings.mongo.database)
    try:
        await migrate(connection)
        organizations = Organizations.on(connection)
        access = await _kept(organizations, directory) or await _made(organizations, connection, settings)
        stored = await ProviderRepository(connection).page_of_all(None, 1)
        return replace(access, has_provider_keys=bool(stored))
    finally:
        await connection.close()


async def _kept(organizations: Organizations, directory: Path) -> Access | None:
    try:
        token = read_connection(directory).token
    except AnalytiqError:
        return None  # it is missing or damaged: in both cases a new one is created and printed
    try:
        organization = await organizations.open_with(token.get_secret_value())
    except AccessDeniedError:
        return None
    return Access(organization.id, organization.name, token, is_new_token=False)


async def _made(organizations: Organizations, connection: MongoConnection, settings: Settings) -> Access:
    organization = await organizations.first() or await organizations.create(FIRST_ORGANIZATION_NAME)
    issued = await organizations.issue_token(organization.id, name=TOKEN_NAME, made_by=OPERATOR)
    return Access(
        organization.id,
        organization.name,
        issued.secret,
        is_new_token=True,
        owner_invitation=await _invited_owner(organization.id, connection, settings),
    )


async def _invited_owner(organization_id: str, connection: MongoConnection, settings: Settings) -> SecretStr | None:
    if (await MemberRepository(connection).of_organization(organization_id, skip=0, limit=1))[1]:
        return None
    # Not of the composition: the supervising process stays small.
    rows = Repositories(connection)
    makers = Makers(rows.access_tokens, rows.members)
    invitations = Invitations(rows, makers, days=settings.accounts.invitation_days)
    invited = await invitations.invite(
        organization_id, role=Role.OWNER, email=None, invited_by=TOKEN_NAME, by=Permission.OWNER, made_by=OPERATOR
    )
    return invited.secret
