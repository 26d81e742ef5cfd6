"""The disk of the embedded server: detection of a full disk, and waiting for free space."""

import asyncio
import errno
import shutil
from pathlib import Path

from analytiq.settings import MEBIBYTE

LEAST_FREE_BYTES = 300 * MEBIBYTE
"""Free space needed to restart mongod: it creates up to three journal files of 100 MB (measured)."""
FULL_BYTES = MEBIBYTE
"""Below this a disk counts as full, even if mongod could still log that."""
LOOK_SECONDS = 5.0


def is_full(root: Path) -> bool:
    """Return whether the disk is full."""
    return free_bytes(root) < FULL_BYTES


def free_bytes(root: Path) -> int:
    """Return the free bytes of the directory's disk; quotas of the user are not included."""
    return shutil.disk_usage(root).free


def says_full(error: OSError) -> bool:
    """Return whether a call failed because the disk is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


async def wait_for_room(root: Path) -> None:
    """Return once there is free space; after at least one pause, since a user's quota is not visible beforehand."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if free_bytes(root) >= LEAST_FREE_BYTES:
            return


def waiting_for_room(root: Path) -> str:
    """Return the message to someone who can free disk space."""
    return (
        f"The disk that holds {str(root)!r} is full, so the embedded database has stopped; nothing is lost. It"
        f" restarts automatically once {LEAST_FREE_BYTES // MEBIBYTE} MB are free there: remove unneeded files, or"
        " stop Analytiq, move the directory to a larger disk and set ANALYTIQ_DATA_DIR to it."
    )
