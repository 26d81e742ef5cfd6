"""The address of the embedded database of a data directory."""

from pathlib import Path

from pydantic import SecretStr

from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.standalone.embedded_process import ServerFiles
from analytiq.standalone.embedded_state import ServerState
from analytiq.storage.embedded_replica_set import (
    APPLICATION_PASSWORD_FILE,
    APPLICATION_USER,
    USER,
    connection_uri,
)

PASSWORD_FILE = "mongod.password"  # noqa: S105  # the name of the file


def address_of_running_database(data_dir: Path) -> SecretStr:
    """Return the connection URI of the database started by a running `up` or `demo`.

    Raises:
        NotFoundError: none runs there.
        InvalidInputError: its files are unreadable.
    """
    files = ServerFiles(data_dir.expanduser().absolute())
    try:
        return _read_address(files)
    except OSError as error:
        raise InvalidInputError(
            f"{error.filename!r} cannot be read ({error.strerror}): name the data directory of `analytiq up`, as the"
            " user who runs it."
        ) from error


def _read_address(files: ServerFiles) -> SecretStr:
    state = ServerState.read(files.state)
    if state.process is None or state.port is None or not state.process.serves(files.data):
        raise NotFoundError(
            f"No embedded database runs on {str(files.root)!r}: start it with `analytiq up`, name its data directory"
            " with --data-dir, or set MONGODB_URI."
        )
    own_password, user = files.root / APPLICATION_PASSWORD_FILE, APPLICATION_USER
    if not own_password.exists():  # a server that an earlier release has started
        own_password, user = files.root / PASSWORD_FILE, USER
    password = own_password.read_text(encoding="utf-8").strip()
    return connection_uri(state.port, SecretStr(password), user=user)
