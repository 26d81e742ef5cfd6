"""`analytiq token …`."""

from pathlib import Path

from analytiq.cli.connection import connect_to_api
from analytiq.cli.console import note, output, print_rows
from analytiq.client import AccessToken
from analytiq.models.account import TokenScope
from analytiq.settings import Settings

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
    from analytiq.cli.local_database import address_of_database, issue_token

    uri = address_of_database(settings, data_dir)
    of_organization, issued = issue_token(uri, settings.mongo.database, name, scope, organization_id)
    note(f"For the organization {of_organization}:")
    _print_new(issued.token.id, issued.secret.get_secret_value())


def print_table(settings: Settings, data_dir: Path | None) -> None:
    """Print all tokens, without their secrets."""
    with connect_to_api(settings, data_dir) as client:
        rows = [_row(token) for token in client.tokens()]
    print_rows(("token", "id", "scope", "made", "last used", "state"), rows)


def revoke(settings: Settings, data_dir: Path | None, token_id: str) -> None:
    """Close a token for good."""
    with connect_to_api(settings, data_dir) as client:
        client.revoke_token(token_id)
    note(f"The token {token_id} opens nothing any more.")


def _row(token: AccessToken) -> tuple[str, ...]:
    used = f"{token.last_used_at:{MINUTE}}" if token.last_used_at else "never"
    return token.name, token.token_id, token.scope, f"{token.created_at:{MINUTE}}", used, _state(token)


def _state(token: AccessToken) -> str:
    if token.revoked_at is not None:
        return f"revoked {token.revoked_at:{MINUTE}}"
    if token.expires_at is not None:
        return f"until {token.expires_at:{MINUTE}}"
    return "valid"


def _print_new(token_id: str, secret: str) -> None:
    note(f"Token {token_id}; its secret is shown this once:")
    output.print(secret)
