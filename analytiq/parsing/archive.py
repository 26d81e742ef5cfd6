"""Zip files from strangers: what they hold and what they would unpack to, before anything is unpacked."""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from analytiq.errors import CorruptFileError, LimitExceededError

MAX_MEMBERS = 20_000
MAX_UNPACKED_BYTES = 512 * 1024 * 1024
MAX_RATIO = 200
"""Office XML of repetitive tables packs 50 to 100 times; a bomb of zeros packs 1,000 times."""
RATIO_FLOOR_BYTES = 16 * 1024 * 1024
"""Below it a member may pack as well as it likes: it cannot hurt."""


def check_archive(path: Path) -> None:
    """Walk a zip's directory without unpacking it.

    The declared sizes can be trusted for this: `zipfile` never reads more of a member than it declares.

    Raises:
        CorruptFileError: not a zip, or its directory is damaged.
        LimitExceededError: too many members, or they unpack to too much.
    """
    try:
        with ZipFile(path) as archive:
            members = archive.infolist()
    except (BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise CorruptFileError(f"The file's zip container is damaged ({error}): upload an undamaged copy.") from error
    if len(members) > MAX_MEMBERS:
        raise LimitExceededError(
            f"The file's zip container has {len(members)} members; at most {MAX_MEMBERS} are read."
        )
    total = sum(member.file_size for member in members)
    if total > MAX_UNPACKED_BYTES:
        raise LimitExceededError(
            f"The file unpacks to {total} bytes; at most {MAX_UNPACKED_BYTES} are unpacked. Split it."
        )
    for member in members:
        ratio = member.file_size / max(member.compress_size, 1)
        if member.file_size > RATIO_FLOOR_BYTES and ratio > MAX_RATIO:
            raise LimitExceededError(
                f"The member {member.filename!r} would grow {ratio:.0f} times on unpacking, as a zip bomb "
                f"does; at most {MAX_RATIO} times is allowed."
            )
