"""Files of `analytiq ingest`: their selection, their names, and the reasons for skipped ones."""

import os
import platform
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from analytiq.client.upload import document_path
from analytiq.errors import AnalytiqError, InvalidInputError
from analytiq.ingestion.documents.naming import validated_folder
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.registry import default_registry

OF_THE_SYSTEM = ("Thumbs.db", "desktop.ini", "~$*", "*.part", "*.crdownload")
"""Files not made by people: previews, folder settings, locks of Office, unfinished downloads."""


@dataclass(frozen=True, slots=True)
class Root:
    """A directory to ingest; its files become documents below `folder`."""

    directory: Path
    folder: str

    @property
    def origin(self) -> str:
        """The directory and its machine, which distinguish two directories of one name."""
        return f"{platform.node()}:{self.directory.resolve()}"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to ingest; `root` is None for a file named on the command line."""

    path: Path
    document_name: str
    root: Root | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skipped file, with the reason."""

    path: Path
    reason: str


@dataclass(slots=True)
class Found:
    """The files found below the named paths."""

    files: list[FoundFile] = field(default_factory=list[FoundFile])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    present: dict[Root, set[str]] = field(default_factory=dict[Root, set[str]])
    """Root → the document names of all its files, including skipped ones."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A selection of a directory's files, by glob patterns over names and paths below it."""

    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    def refusal(self, below: PurePosixPath) -> str | None:
        """Return the reason to skip a file; None if it is selected."""
        if self.includes and not self.is_included(below):
            return "not among --include"
        if any(_matches(part, self.excludes) for part in (below, *below.parents)):
            return "excluded"
        return None

    def is_included(self, below: PurePosixPath) -> bool:
        """Return whether an include pattern matches the file, whatever its type."""
        return _matches(below, self.includes)


def find_files(paths: Sequence[Path], choice: Choice | None = None, *, folder: str | None = None) -> Found:
    """Find the named files and all files below the named directories; hidden ones only if named.

    Args:
        paths: files and directories.
        choice: selection of the directories' files; by default all.
        folder: a name for the only directory, instead of its own.

    Raises:
        InvalidInputError: a path does not exist, a directory is unreadable or empty, or two directories have
            the same name.
    """
    roots = _roots(paths, folder)
    found = Found()
    for path in paths:
        root = roots.get(path)
        if root is not None:
            _walk(root, choice or Choice(), found)
        elif path.exists():
            found.files.append(FoundFile(path, unicodedata.normalize("NFC", path.name)))
        else:
            raise InvalidInputError(f"{str(path)!r} does not exist.")
    if not found.files and not found.skipped:
        raise InvalidInputError(f"There is no file in {', '.join(repr(str(path)) for path in paths)}.")
    # A file that is named twice, or below two of the paths, is ingested once.
    found.files = list({file.path.resolve(): file for file in reversed(found.files)}.values())[::-1]
    return found


def _roots(paths: Iterable[Path], folder: str | None) -> dict[Path, Root]:
    directories = [path for path in paths if path.is_dir()]
    if folder is not None and len(directories) != 1:
        raise InvalidInputError("--as names one directory: ingest the directories one by one.")
    roots: dict[Path, Root] = {}
    by_folder: dict[str, Path] = {}
    for path in directories:
        own = unicodedata.normalize("NFC", path.resolve().name)
        if not own and folder is None:
            raise InvalidInputError(f"The directory {str(path)!r} has no name: give it one with --as NAME.")
        root = Root(path, own if folder is None else validated_folder(folder, field="--as"))
        other = by_folder.setdefault(root.folder, path.resolve())
        if other != path.resolve():
            raise InvalidInputError(
                f"Two directories are called {root.folder!r}, so their documents could not be told apart. Ingest them"
                " one by one, and name one of them with --as."
            )
        roots[path] = root
    return roots


def _walk(root: Root, choice: Choice, found: Found) -> None:
    """Walk in the order of names; links to directories are not followed, so there are no cycles."""
    names = found.present.setdefault(root, set())
    real = root.directory.resolve()
    for file in _below(root.directory, found):
        name = document_path(file, root.directory, root.folder)
        names.add(name)
        reason = _refusal(file, root, real, choice)
        if reason is None:
            found.files.append(FoundFile(file, name, root))
        else:
            found.skipped.append(Skipped(file, reason))
    if not names:
        # An unmounted directory looks like this: every document would seem to have vanished.
        raise InvalidInputError(f"There is no file in {str(root.directory)!r}. Is it mounted?")


def _below(directory: Path, found: Found) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise InvalidInputError(f"{error.filename!r} cannot be read: {error.strerror}.") from error

    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [Path(folder, name) for name in folders if Path(folder, name).is_symlink()]
        found.skipped.extend(Skipped(link, "a link to a directory, which is not followed") for link in links)
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.is_file():
                yield file


def _refusal(file: Path, root: Root, real: Path, choice: Choice) -> str | None:
    """Return the reason to skip a directory's file; None if it is ingested."""
    below = PurePosixPath(file.relative_to(root.directory).as_posix())
    if file.is_symlink() and not file.resolve().is_relative_to(real):
        return "a link that leads out of the directory"
    reason = choice.refusal(below)
    if reason is not None or choice.is_included(below):
        return reason
    if _matches(below, OF_THE_SYSTEM):
        return "a file of the system"
    return _unreadable_kind(file)


def _unreadable_kind(file: Path) -> str | None:
    try:
        if file.stat().st_size == 0:
            return "empty"
        kind = detect_content_type(file)
    except Exception:  # noqa: BLE001  # a damaged file, or one that cannot be opened: its upload says what is wrong
        return None
    try:
        default_registry().entry_for(kind)
    except AnalytiqError as error:
        return error.detail
    return None


def _matches(below: PurePosixPath, patterns: Iterable[str]) -> bool:
    return any(fnmatch(below.name, pattern) or fnmatch(str(below), pattern) for pattern in patterns)
