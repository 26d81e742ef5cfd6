"""Which files a command means."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from analytiq.errors import InvalidInputError


def files_below(paths: Sequence[Path]) -> list[Path]:
    """The files that are named, and all below the directories that are; hidden ones only where they are named.

    Raises:
        InvalidInputError: a path does not exist, a directory cannot be read, or there is no file at all.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found.extend(_walk(path))
        elif path.exists():
            found.append(path)
        else:
            raise InvalidInputError(f"{str(path)!r} does not exist.")
    if not found:
        raise InvalidInputError(f"There is no file in {', '.join(repr(str(path)) for path in paths)}.")
    # A file that is named twice, or below two of the paths, is one file.
    return list({file.resolve(): file for file in found}.values())


def _walk(directory: Path) -> Iterator[Path]:
    """In the order of their names; links to directories are not followed, so there are no circles."""

    def refuse(error: OSError) -> None:
        raise InvalidInputError(f"{error.filename!r} cannot be read: {error.strerror}.") from error

    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.is_file():
                yield file
