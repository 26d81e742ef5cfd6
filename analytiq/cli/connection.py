"""The API that a command calls."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from analytiq.cli.console import errors_as_sentences
from analytiq.client import Client
from analytiq.errors import InvalidInputError
from analytiq.settings import Settings, read_settings
from analytiq.standalone.data_directory import ConnectionFile, read_connection


@contextmanager
def api_client(data_dir: Path | None) -> Generator[Client]:
    """Open a client for a command; an error of the library ends the command with its sentence."""
    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        yield client


def connect_to_api(settings: Settings, data_dir: Path | None) -> Client:
    """Return a client of the API that `find_connection` names."""
    connection = find_connection(settings, data_dir)
    return Client(connection.url, connection.organization_id, connection.token.get_secret_value())


def find_connection(settings: Settings, data_dir: Path | None) -> ConnectionFile:
    """Find the API: of the named data directory, else of the environment, else of the default directory.

    Raises:
        NotFoundError: no platform has run there.
        InvalidInputError: the environment names only some of the required values.
    """
    if data_dir is not None:
        return read_connection(data_dir)
    url, organization_id, token = settings.url, settings.organization_id, settings.token
    if url and organization_id and token:
        return ConnectionFile(url=url, organization_id=organization_id, token=token)
    if url or organization_id or token:
        given = {"ANALYTIQ_URL": url, "ANALYTIQ_ORGANIZATION_ID": organization_id, "ANALYTIQ_TOKEN": token}
        missing = [name for name, value in given.items() if not value]
        raise InvalidInputError(
            f"{' and '.join(missing)} must be set too: the API's address, the organization and the token go together."
        )
    return read_connection(settings.data_dir)
