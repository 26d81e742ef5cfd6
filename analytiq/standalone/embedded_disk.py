"""The disk under the embedded server: whether it is full, and waiting until it is not."""

import asyncio
import errno
import shutil
from pathlib import Path

from analytiq.settings import MEBIBYTE

LEAST_FREE_BYTES = 300 * MEBIBYTE
"""What mongod is restarted with: it makes up to three journal files of 100 MB before it serves (measured)."""
FULL_BYTES = MEBIBYTE
"""With less than this a disk is full, whether or not mongod could still write so into its log."""
LOOK_SECONDS = 5.0


def is_full(root: Path) -> bool:
    """Whether nothing more can be written."""
    return free_bytes(root) < FULL_BYTES


def free_bytes(root: Path) -> int:
    """What this user may still write to the disk that holds the directory; a quota of his own does not show."""
    return shutil.disk_usage(root).free


def says_full(error: OSError) -> bool:
    """Whether a call failed for want of room."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


async def wait_for_room(root: Path) -> None:
    """Return once there is room again; at the earliest after one pause, since a quota does not show beforehand."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if free_bytes(root) >= LEAST_FREE_BYTES:
            return


def waiting_for_room(root: Path) -> str:
    """What a person is told who can make room."""
    return (
        f"The disk that holds {str(root)!r} is full, so the embedded database has stopped; nothing is lost. It is"
        f" started again by itself once {LEAST_FREE_BYTES // MEBIBYTE} MB are free there: remove what is not needed, or"
        " stop Analytiq, move the directory to a larger disk and set ANALYTIQ_DATA_DIR to it."
    )
