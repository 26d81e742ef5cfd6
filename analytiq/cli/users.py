"""`analytiq user …`, for operators: directly in the database, recorded in the audit log."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import SecretStr

from analytiq.cli.console import errors_as_sentences, note, output, print_rows
from analytiq.cli.options import DataDir
from analytiq.composition.services import Services
from analytiq.errors import AnalytiqError, NotFoundError
from analytiq.models import maker
from analytiq.models.account import Permission, Role, User, normalize
from analytiq.models.audit import Actor, ActorKind
from analytiq.settings import Settings, read_settings
from analytiq.standalone.data_directory import read_connection
from analytiq.standalone.local_database import on_database, organization_of
from analytiq.storage.client import MongoConnection
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.sessions import SessionRepository
from analytiq.storage.repositories.users import MemberRepository, UserRepository

app = typer.Typer(help="Manage accounts of people, directly in the database.", no_args_is_help=True)

OfOrganization = Annotated[
    str | None, typer.Option("--organization", help="Id of the organization. Default: the oldest.")
]
Email = Annotated[str, typer.Argument(metavar="ADDRESS", help="Email address of the person.")]


@app.command("list")
def user_list(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """List the members of an organization."""
    with errors_as_sentences():
        print_table(read_settings(), data_dir, organization)


@app.command("invite")
def user_invite(
    *,
    email: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help="Default: the link's recipient enters an address.")
    ] = None,
    role: Annotated[
        Role | None, typer.Option(help="Role of the person. [default: viewer; owner while there is no owner]")
    ] = None,
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Create a link that makes a person a member, and print it only now."""
    with errors_as_sentences():
        invite(read_settings(), data_dir, organization, email=email, role=role)


@app.command("reset")
def user_reset(email: Email, data_dir: DataDir = None) -> None:
    """Create a link for choosing a new password, and print it only now."""
    with errors_as_sentences():
        reset(read_settings(), data_dir, email)


@app.command("role")
def user_role(
    email: Email,
    role: Annotated[Role, typer.Argument(help="New role of the person.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Give a member another role."""
    with errors_as_sentences():
        change_role(read_settings(), data_dir, organization, email, role)


@app.command("remove")
def user_remove(email: Email, organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """End a membership."""
    with errors_as_sentences():
        remove(read_settings(), data_dir, organization, email)


@app.command("sign-out")
def user_sign_out(email: Email, data_dir: DataDir = None) -> None:
    """Sign a person out in every browser."""
    with errors_as_sentences():
        sign_out(read_settings(), data_dir, email)


Result = TypeVar("Result")

OPERATOR = Actor(kind=ActorKind.OPERATOR, id=None, name="the command line")
MINUTE = "%Y-%m-%d %H:%M UTC"


def print_table(settings: Settings, data_dir: Path | None, organization_id: str | None) -> None:
    """Print the members with their roles."""

    async def read(connection: MongoConnection) -> list[tuple[str, ...]]:
        organization = await organization_of(connection, organization_id)
        people = Services(settings, connection).tenancy.people
        rows: list[tuple[str, ...]] = []
        while page := (await people.members(organization.id, skip=len(rows), limit=100))[0]:
            rows += [
                (
                    person.user.email,
                    person.user.name,
                    person.member.role.value,
                    f"{person.user.last_signed_in_at:{MINUTE}}" if person.user.last_signed_in_at else "never",
                )
                for person in page
            ]
        return rows

    print_rows(("address", "name", "role", "last signed in"), _run(settings, data_dir, read))


def invite(
    settings: Settings, data_dir: Path | None, organization_id: str | None, *, email: str | None, role: Role | None
) -> None:
    """Print the link of a new invitation; without a role it makes a viewer, or the first owner."""

    async def make(connection: MongoConnection) -> tuple[str, Role, SecretStr]:
        await migrate(connection)
        organization = await organization_of(connection, organization_id)
        invitations = Services(settings, connection).tenancy.invitations
        has_owner = await MemberRepository(connection).has_owner(organization.id)
        given = role or (Role.VIEWER if has_owner else Role.OWNER)
        invited = await invitations.invite(
            organization.id,
            role=given,
            email=email,
            invited_by=OPERATOR.name,
            by=Permission.OWNER,
            made_by=maker.OPERATOR,
        )
        target = {"invitation_id": invited.invitation.id, "role": given.value}
        await Services(settings, connection).tenancy.audit_log.note(
            organization.id, "create_invitation", OPERATOR, target=target
        )
        return organization.name, given, invited.secret

    name, given, secret = _run(settings, data_dir, make)
    whom = email or "the first person to follow it"
    note(f"This link makes {whom} {given.value} of {name}. It is shown only now, and works once:")
    output.print(f"{_base(settings, data_dir)}/invite/#{secret.get_secret_value()}", soft_wrap=True)


def reset(settings: Settings, data_dir: Path | None, email: str) -> None:
    """Print a link to a new password."""

    async def make(connection: MongoConnection) -> SecretStr:
        user, secret = await Services(settings, connection).tenancy.recovery.new_link(email)
        await _note_of_user(connection, settings, user, "create_password_reset")
        return secret

    secret = _run(settings, data_dir, make)
    note(f"This link lets {email} choose a new password within {settings.accounts.reset_minutes:g} minutes:")
    output.print(f"{_base(settings, data_dir)}/reset/#{secret.get_secret_value()}", soft_wrap=True)


def change_role(settings: Settings, data_dir: Path | None, organization_id: str | None, email: str, role: Role) -> None:
    """Give a member another role."""

    async def change(connection: MongoConnection) -> None:
        organization = await organization_of(connection, organization_id)
        user = await _user(connection, email)
        await Services(settings, connection).tenancy.people.change_role(
            organization.id, user.id, role, by=Permission.OWNER
        )
        target = {"user_id": user.id, "role": role.value}
        await Services(settings, connection).tenancy.audit_log.note(
            organization.id, "update_member", OPERATOR, target=target
        )

    _run(settings, data_dir, change)
    note(f"{email} is {role.value} from now on.")


def remove(settings: Settings, data_dir: Path | None, organization_id: str | None, email: str) -> None:
    """End a membership."""

    async def end(connection: MongoConnection) -> None:
        organization = await organization_of(connection, organization_id)
        user = await _user(connection, email)
        await Services(settings, connection).tenancy.people.remove(organization.id, user.id, by=Permission.OWNER)
        target = {"user_id": user.id}
        await Services(settings, connection).tenancy.audit_log.note(
            organization.id, "delete_member", OPERATOR, target=target
        )

    _run(settings, data_dir, end)
    note(f"{email} is no longer a member.")


def sign_out(settings: Settings, data_dir: Path | None, email: str) -> None:
    """End all sessions of a person."""

    async def end(connection: MongoConnection) -> int:
        user = await _user(connection, email)
        ended = await SessionRepository(connection).end_all(user.id)
        await _note_of_user(connection, settings, user, "sign_out_everywhere")
        return ended

    note(f"{email} is signed out of {_run(settings, data_dir, end)} sessions.")


async def _note_of_user(connection: MongoConnection, settings: Settings, user: User, action: str) -> None:
    for member in await MemberRepository(connection).of_user(user.id):
        target = {"user_id": user.id}
        await Services(settings, connection).tenancy.audit_log.note(
            member.organization_id, action, OPERATOR, target=target
        )


async def _user(connection: MongoConnection, email: str) -> User:
    user = await UserRepository(connection).with_email(normalize(email))
    if user is None:
        raise NotFoundError(f"No account has the address {email!r}. List the accounts with `analytiq user list`.")
    return user


def _run(settings: Settings, data_dir: Path | None, work: Callable[[MongoConnection], Awaitable[Result]]) -> Result:
    return on_database(settings, data_dir, work)


def _base(settings: Settings, data_dir: Path | None) -> str:
    """Return the API's public address: by the settings, else of `analytiq up`."""
    if settings.api.public_url is not None:
        return settings.api.public_url.rstrip("/")
    try:
        return read_connection(data_dir or settings.data_dir).url.rstrip("/")
    except AnalytiqError:
        return f"http://{settings.api.host}:{settings.api.port}"
