"""Archives as files: written under a temporary name until complete, read from a file or a pipe."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from analytiq.errors import ConflictError, InvalidInputError
from analytiq.operations.backup.making import Backup, Made
from analytiq.operations.backup.progress import OnStep, ignore
from analytiq.operations.backup.recording import recording
from analytiq.operations.backup.restoring import Restore, Restored, RestoreOptions, verified
from analytiq.operations.backup.verification import Contents
from analytiq.storage.client import MongoConnection

PIPE = Path("-")
"""Stands for standard output or standard input."""
PART_SUFFIX = ".part"


async def write_file(
    connection: MongoConnection,
    path: Path,
    organization_ids: Sequence[str] | None,
    *,
    on_step: OnStep = ignore,
) -> Made:
    """Write an archive to `path`, or to standard output for PIPE, and record it for its organizations.

    The file is named `{path}.part` until it is complete and on disk; a failure removes it. A killed process leaves
    it, without a trailer, so that no restore accepts it.

    Raises:
        ConflictError: a file of that name exists.
        InvalidInputError: the path is not writable.
    """
    backup = Backup(connection)
    header = await backup.header(organization_ids)
    command = "analytiq backup --everything" if header.is_whole else "analytiq backup"
    async with recording(connection, header, command=command, path=path) as record:
        made = await _write(backup, path, organization_ids, on_step)
        record.byte_size, record.sha256, record.rows = made.byte_size, made.sha256, made.rows
    return made


async def _write(backup: Backup, path: Path, organization_ids: Sequence[str] | None, on_step: OnStep) -> Made:
    if path == PIPE:
        made = await backup.make(sys.stdout.buffer, organization_ids, on_step=on_step)
        sys.stdout.buffer.flush()
        return made
    if await asyncio.to_thread(path.exists):
        raise ConflictError(f"The file {str(path)!r} exists and is kept. Name another file.")
    part = path.with_name(path.name + PART_SUFFIX)
    with _written(part, path) as stream:
        made = await backup.make(stream, organization_ids, on_step=on_step)
        await asyncio.to_thread(_to_disk, stream)
    return made


async def verify_file(path: Path, *, on_step: OnStep = ignore) -> Contents:
    """Verify an archive; see `analytiq.operations.backup.verification.verify`."""
    with opened(path) as (stream, byte_size):
        return await verified(stream, on_step=on_step, total_bytes=byte_size)


async def restore_file(
    connection: MongoConnection, path: Path, options: RestoreOptions, *, on_step: OnStep = ignore
) -> list[Restored]:
    """Verify an archive and restore it; see `Restore.restore`."""
    with opened(path) as (stream, byte_size):
        contents = await verified(stream, on_step=on_step, total_bytes=byte_size)
        return await Restore(connection).restore(stream, contents, options, on_step=on_step)


@contextmanager
def opened(path: Path) -> Generator[tuple[BinaryIO, int]]:
    """Open an archive for reading, with its length in bytes.

    A pipe is first written to a temporary file: an archive is verified before anything is restored.

    Raises:
        InvalidInputError: the file is missing, or not readable.
    """
    try:
        if path == PIPE:
            with tempfile.TemporaryFile() as spool:
                shutil.copyfileobj(sys.stdin.buffer, spool, 1024 * 1024)
                length = spool.tell()
                spool.seek(0)
                yield spool, length  # pyright: ignore[reportReturnType]  # it is a BinaryIO in all but name
        else:
            with path.open("rb") as stream:
                yield stream, os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise InvalidInputError(f"The archive {str(path)!r} cannot be read: {error.strerror or error}.") from error


@contextmanager
def _written(part: Path, path: Path) -> Generator[BinaryIO]:
    try:
        # Readable by the owner alone: it contains everything of an organization.
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise InvalidInputError(f"{str(part)!r} cannot be written: {error.strerror or error}.") from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        part.rename(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InvalidInputError(f"{str(part)!r} could not be written to its end: {error.strerror or error}.") from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _to_disk(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
