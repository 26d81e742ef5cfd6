"""`analytiq token …`."""

from pathlib import Path

from analytiq import clock
from analytiq.cli.connection import connect_to_api
from analytiq.cli.console import note, output, print_rows
from analytiq.client import AccessToken
from analytiq.models.account import TokenScope
from analytiq.models.maker import OPERATOR
from analytiq.settings import Settings
from analytiq.storage.client import MongoConnection

MINUTE = "%Y-%m-%d %H:%M UTC"


def create(settings: Settings, data_dir: Path | None, name: str, scope: TokenScope) -> None:
    """Make a token with the present one, and print its secret."""
    with connect_to_api(settings, data_dir) as client:
        issued = client.create_token(name, scope=scope.value)
    _print_new(issued.token_id, issued.token)


def create_in_database(
    settings: Settings, data_dir: Path | None, name: str, scope: TokenScope, organization_id: str | None
) -> None:
    """Make a token directly in the database, for those who have lost theirs.

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
    """Close a token for good."""
    with connect_to_api(settings, data_dir) as client:
        client.revoke_token(token_id)
    note(f"The token {token_id} opens nothing any more.")


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
    from analytiq.standalone.local_database import address_of_database, organization_of, run_on_database
    from analytiq.tenancy.organizations.service import Organizations

    async def hand_over(connection: MongoConnection) -> str:
        organization = await organization_of(connection, organization_id)
        return (await Organizations.on(connection).take_over_token(organization.id, token_id, OPERATOR)).name

    name = run_on_database(address_of_database(settings, data_dir), settings.mongo.database, hand_over)
    _tell_taken_over(name, OPERATOR.name)


def _tell_taken_over(name: str, maker: str) -> None:
    note(f"The token {name!r} counts as made by {maker} from now on. Its secret stays the same.")


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
    note(f"Token {token_id}; its secret is shown this once:")
    output.print(secret)
