"""The data directory: one process holds it; a few small files in it outlive that process.

    lock              held with flock by the process that runs the platform; names that process
    connection.json   the address of the API for clients on this machine, and their token
    secret.key, …     secrets made at first start
    mongodb/, mongod.*   the embedded server's own (`analytiq.standalone.embedded_server`)

Directories have mode 0700, files 0600, whoever creates them: processes run with `keep_files_private`.
"""

import contextlib
import fcntl
import os
import secrets
import socket
import stat
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError, field_serializer

from analytiq import clock
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError

LOCK_FILE = "lock"
CONNECTION_FILE = "connection.json"
PRIVATE_UMASK = 0o077


class Holder(BaseModel):
    """The process that holds a data directory."""

    model_config = ConfigDict(frozen=True)

    pid: int
    host: str
    since: str
    """RFC 3339, UTC."""
    url: str | None = None
    """Address of its API, once ready."""


class ConnectionFile(BaseModel):
    """The connection of clients on the same machine to the API."""

    model_config = ConfigDict(frozen=True)

    url: str
    organization_id: str
    token: SecretStr

    @field_serializer("token", when_used="json")
    def _reveal_token(self, token: SecretStr) -> str:
        """Reveal the token in the file; it is masked everywhere else."""
        return token.get_secret_value()


class DataDirectory:
    """A claimed data directory; `release` it, or use it as a context manager."""

    def __init__(self, path: Path, lock_descriptor: int, holder: Holder) -> None:
        self.path = path
        self._lock_descriptor: int | None = lock_descriptor
        self._holder = holder
        _claimed.add(self)

    @classmethod
    def claim(cls, path: Path) -> Self:
        """Create the directory if necessary and claim it for this process.

        Raises:
            ConflictError: another process holds it; the text names it, and a remedy.
            InvalidInputError: it cannot be created or written.
        """
        path = path.expanduser().absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.chmod(0o700)
            descriptor = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InvalidInputError.of_field(
                "ANALYTIQ_DATA_DIR",
                f"{str(path)!r} cannot be used ({error.strerror}); name a directory that this user owns.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise _held(path) from error
        make_private(path)
        holder = Holder(pid=os.getpid(), host=socket.gethostname(), since=clock.now().isoformat())
        directory = cls(path, descriptor, holder)
        directory.announce(None)
        return directory

    def announce(self, url: str | None) -> None:
        """Write the holder of the directory and the API's address into the lock file."""
        if self._lock_descriptor is None:
            raise ConflictError(f"{str(self.path)!r} was released; claim it before announcing an address.")
        self._holder = self._holder.model_copy(update={"url": url})
        content = self._holder.model_dump_json().encode()
        # In place, never by rename: the lock belongs to this inode.
        os.pwrite(self._lock_descriptor, content, 0)
        os.ftruncate(self._lock_descriptor, len(content))

    def read_or_create_secret(
        self, name: str, make: Callable[[], str] = lambda: secrets.token_urlsafe(32)
    ) -> SecretStr:
        """Return the secret in the file `name`, created by `make` at first use."""
        target = self.path / name
        if not target.exists():
            write_private_file(target, make())
        target.chmod(0o600)
        return SecretStr(target.read_text(encoding="utf-8").strip())

    def write_connection(self, connection: ConnectionFile) -> None:
        """Publish the connection to the API; readers see either the old file or the new one."""
        write_private_file(self.path / CONNECTION_FILE, connection.model_dump_json(indent=2))

    def remove_connection(self) -> None:
        """Remove the connection when the API stops."""
        (self.path / CONNECTION_FILE).unlink(missing_ok=True)

    def release(self) -> None:
        """Release the directory for the next process; idempotent."""
        if self._lock_descriptor is None:
            return
        os.ftruncate(self._lock_descriptor, 0)
        self._close()

    def _close(self) -> None:
        descriptor, self._lock_descriptor = self._lock_descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


_claimed: weakref.WeakSet[DataDirectory] = weakref.WeakSet()


def _forget_in_forked_child() -> None:
    """Close the lock in a forked child.

    A child shares its parent's flock. A child that outlives a killed parent would otherwise hold the
    directory, and the platform could not start again before the child ends.
    """
    for directory in list(_claimed):
        directory._close()  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001  # this module's own class


os.register_at_fork(after_in_child=_forget_in_forked_child)


def read_connection(path: Path) -> ConnectionFile:
    """Read the connection to the API whose data directory is `path`.

    Raises:
        NotFoundError: no API runs on it.
        InvalidInputError: the file is damaged, or cannot be read.
    """
    target = path.expanduser() / CONNECTION_FILE
    try:
        content = target.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no {str(target)!r}, so no Analytiq is running on that data directory: start it with"
            " `analytiq up`, or give its URL and token."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InvalidInputError(
            f"{str(target)!r} cannot be read ({reason}): name the data directory of `analytiq up` as the user who runs"
            " it, or give its URL and token."
        ) from error
    try:
        return ConnectionFile.model_validate_json(content)
    except ValidationError as error:
        # Without the cause: pydantic quotes the input, and the input holds a token.
        raise InvalidInputError(
            f"{str(target)!r} is damaged ({error.error_count()} wrong fields): restart `analytiq up`."
        ) from None


def keep_files_private() -> None:
    """Let this process and its children create files and directories readable by their user alone."""
    os.umask(PRIVATE_UMASK)


def make_private(root: Path) -> None:
    """Remove other users' permissions that earlier releases granted below a data directory."""
    for directory, _, names in os.walk(root):
        for path in (Path(directory), *(Path(directory) / name for name in names)):
            with contextlib.suppress(OSError):  # gone, or another user's
                mode = path.lstat().st_mode
                if mode & PRIVATE_UMASK and not stat.S_ISLNK(mode):
                    path.chmod(stat.S_IMODE(mode) & ~PRIVATE_UMASK)


def write_private_file(target: Path, content: str) -> None:
    """Replace a file atomically and durably, readable by its owner alone."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()
        raise
    parent = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _held(path: Path) -> ConflictError:
    lock = path / LOCK_FILE
    try:
        holder = Holder.model_validate_json(lock.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return ConflictError(
            f"Another process holds the data directory {str(path)!r} without naming itself; find it with"
            f" `fuser {lock}` and stop it, or set ANALYTIQ_DATA_DIR to another directory.",
            code="data_directory_held",
        )
    answering = f", its API at {holder.url}" if holder.url else ""
    return ConflictError(
        f"The data directory {str(path)!r} is held by process {holder.pid} on {holder.host} since"
        f" {holder.since}{answering}. Use that one, stop it with `kill {holder.pid}`, or set"
        " ANALYTIQ_DATA_DIR to another directory.",
        code="data_directory_held",
    )
