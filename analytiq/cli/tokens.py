"""`analytiq token …`."""

from pathlib import Path
from typing import Annotated

import typer

from analytiq import clock
from analytiq.cli.connection import connect_to_api
from analytiq.cli.console import errors_as_sentences, note, output, print_rows
from analytiq.cli.options import DataDir
from analytiq.client import AccessToken
from analytiq.models.account import TokenScope
from analytiq.models.maker import OPERATOR
from analytiq.settings import Settings, read_settings
from analytiq.standalone.local_database import on_database
from analytiq.storage.client import MongoConnection

InDatabase = Annotated[
    bool, typer.Option("--database", help="Work without a token, on MONGODB_URI's database or that of `up`.")
]
OrganizationId = Annotated[
    str | None, typer.Option(help="Id of the organization, with --database. Default: the oldest.")
]

app = typer.Typer(help="Manage access tokens.", no_args_is_help=True)


@app.command("create")
def token_create(
    *,
    name: Annotated[str, typer.Argument(help="Purpose of the token.")],
    scope: Annotated[TokenScope, typer.Option(help="Permissions; `admin` allows everything.")] = TokenScope.ADMIN,
    in_database: InDatabase = False,
    organization: OrganizationId = None,
    data_dir: DataDir = None,
) -> None:
    """Create an access token, and show its secret only now."""
    with errors_as_sentences():
        if in_database:
            create_in_database(read_settings(), data_dir, name, scope, organization)
        else:
            create(read_settings(), data_dir, name, scope)


@app.command("list")
def token_list(data_dir: DataDir = None) -> None:
    """List access tokens, without their secrets."""
    with errors_as_sentences():
        print_table(read_settings(), data_dir)


@app.command("revoke")
def token_revoke(
    token_id: Annotated[str, typer.Argument(help="Id from `token list`.")], data_dir: DataDir = None
) -> None:
    """Revoke an access token for good."""
    with errors_as_sentences():
        revoke(read_settings(), data_dir, token_id)


@app.command("take-over")
def token_take_over(
    *,
    token_id: Annotated[str, typer.Argument(help="Id from `token list`.")],
    in_database: InDatabase = False,
    organization: OrganizationId = None,
    data_dir: DataDir = None,
) -> None:
    """Become the maker of an access token, so that it no longer ends with its former maker."""
    with errors_as_sentences():
        if in_database:
            take_over_in_database(read_settings(), data_dir, token_id, organization)
        else:
            take_over(read_settings(), data_dir, token_id)


MINUTE = "%Y-%m-%d %H:%M UTC"


def create(settings: Settings, data_dir: Path | None, name: str, scope: TokenScope) -> None:
    """Create a token with the present one, and print its secret."""
    with connect_to_api(settings, data_dir) as client:
        issued = client.create_token(name, scope=scope.value)
    _print_new(issued.token_id, issued.token)


def create_in_database(
    settings: Settings, data_dir: Path | None, name: str, scope: TokenScope, organization_id: str | None
) -> None:
    """Create a token directly in the database, for users who have lost theirs.

    Raises:
        NotFoundError: no database is known, or it has no such organization.
    """
    from analytiq.standalone.local_database import address_of_database, issue_token

    uri = address_of_database(settings, data_dir)
    of_organization, issued = issue_token(uri, settings.mongo.database, name, scope, organization_id)
    note(f"For the organization {of_organization}:")
    _print_new(issued.token.id, issued.secret.get_secret_value())


def print_table(settings: Settings, data_dir: Path | None) -> None:
    """Print all tokens, without their secrets."""
    with connect_to_api(settings, data_dir) as client:
        rows = [_row(token) for token in client.tokens()]
    print_rows(("token", "id", "scope", "made", "by", "last used", "state"), rows)


def revoke(settings: Settings, data_dir: Path | None, token_id: str) -> None:
    """Revoke a token for good."""
    with connect_to_api(settings, data_dir) as client:
        client.revoke_token(token_id)
    note(f"The token {token_id} is revoked.")


def take_over(settings: Settings, data_dir: Path | None, token_id: str) -> None:
    """Make the present token the maker of another one."""
    with connect_to_api(settings, data_dir) as client:
        token = client.take_over_token(token_id)
    _tell_taken_over(token.name, token.made_by.name if token.made_by else "unknown")


def take_over_in_database(
    settings: Settings, data_dir: Path | None, token_id: str, organization_id: str | None
) -> None:
    """Make the operator the maker of a token, directly in the database.

    Raises:
        NotFoundError: no database is known, or the organization has no such token.
    """
    from analytiq.standalone.local_database import organization_of
    from analytiq.tenancy.organizations.service import Organizations

    async def hand_over(connection: MongoConnection) -> str:
        organization = await organization_of(connection, organization_id)
        return (await Organizations.on(connection).take_over_token(organization.id, token_id, OPERATOR)).name

    name = on_database(settings, data_dir, hand_over)
    _tell_taken_over(name, OPERATOR.name)


def _tell_taken_over(name: str, maker: str) -> None:
    note(f"The maker of the token {name!r} is now {maker}. Its secret stays the same.")


def _row(token: AccessToken) -> tuple[str, ...]:
    used = f"{token.last_used_at:{MINUTE}}" if token.last_used_at else "never"
    by = token.made_by.name if token.made_by else "unknown"
    return token.name, token.token_id, token.scope, f"{token.created_at:{MINUTE}}", by, used, _state(token)


def _state(token: AccessToken) -> str:
    if token.revoked_at is not None:
        return f"revoked {token.revoked_at:{MINUTE}}"
    if token.permission is None and (token.expires_at is None or token.expires_at > clock.now()):
        return "ended with its maker"
    if token.permission not in (None, "owner" if token.scope == "admin" else token.scope):
        return f"{token.permission} only, as its maker"
    if token.expires_at is not None:
        return f"until {token.expires_at:{MINUTE}}"
    return "valid"


def _print_new(token_id: str, secret: str) -> None:
    note(f"Token {token_id}. Its secret is shown only now:")
    output.print(secret)
