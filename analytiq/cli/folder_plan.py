"""Comparison of a directory with its documents: new, changed, unchanged and vanished files."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analytiq.cli.files import Found, FoundFile, Root
from analytiq.client import Client, DocumentAtPath
from analytiq.errors import ConflictError

_BLOCK_BYTES = 1024 * 1024


class Hashes:
    """SHA-256 of files, computed once for each state of a file."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, int, int], str] = {}

    def of(self, path: Path) -> str | None:
        """Return the hash; None if the file is unreadable, which its upload reports."""
        try:
            status = path.stat()
            key = (path, status.st_mtime_ns, status.st_size)
            if key not in self._known:
                with path.open("rb") as file:
                    self._known[key] = _sha256(iter(lambda: file.read(_BLOCK_BYTES), b""))
            return self._known[key]
        except OSError:
            return None


@dataclass(slots=True)
class Comparison:
    """The planned uploads and deletions."""

    to_send: list[FoundFile] = field(default_factory=list[FoundFile])
    changed: set[Path] = field(default_factory=set[Path])
    """Files to send whose name has another stored version."""
    unchanged: dict[str, FoundFile] = field(default_factory=dict[str, FoundFile])
    """Document id → its file."""
    vanished: list[DocumentAtPath] = field(default_factory=list[DocumentAtPath])


def compare(client: Client, found: Found, hashes: Hashes, *, is_named: bool) -> Comparison:
    """Compare files with the organization's documents, before any bytes are sent.

    Args:
        client: the organization's client.
        found: the files.
        hashes: kept from one comparison to the next.
        is_named: True if the user has named the directory, so that documents from elsewhere with this name count too.

    Raises:
        ConflictError: documents of this name came from another directory or machine.
    """
    comparison = Comparison()
    there: dict[str, list[DocumentAtPath]] = {}
    for root, present in found.present.items():
        documents = list(client.documents_below(root.folder))
        if not is_named:
            _require_own(root, documents)
        _index(there, documents)
        own = [item for item in documents if item.origin is not None]
        comparison.vanished += [item for item in own if item.document_name not in present and _is_gone(root, item)]
    loose = [file.document_name for file in found.files if file.root is None]
    _index(there, client.documents_at(loose) if loose else ())
    for file in found.files:
        _sort_in(comparison, file, there, hashes)
    return comparison


def _index(there: dict[str, list[DocumentAtPath]], documents: Iterable[DocumentAtPath]) -> None:
    for document in documents:
        there.setdefault(document.document_name, []).append(document)


def _require_own(root: Root, documents: Sequence[DocumentAtPath]) -> None:
    foreign = [item for item in documents if item.origin not in (None, root.origin)]
    if not foreign:
        return
    raise ConflictError(
        f"{len(foreign)} documents in {root.folder!r} came from {foreign[0].origin!r}, and this is {root.origin!r}. If"
        f" it is the same folder, go on with --as {root.folder!r}. If not, name this one otherwise with --as NAME."
    )


def _is_gone(root: Root, document: DocumentAtPath) -> bool:
    """Return True unless the file still exists, is hidden, or cannot be listed."""
    below = document.document_name.removeprefix(f"{root.folder}/")
    return not (root.directory / below).is_symlink() and not (root.directory / below).exists()


def _sort_in(
    comparison: Comparison, file: FoundFile, there: Mapping[str, Sequence[DocumentAtPath]], hashes: Hashes
) -> None:
    versions = there.get(file.document_name, ())
    sha256 = hashes.of(file.path) if versions else None
    same = next((version for version in versions if version.sha256 == sha256), None)
    if same is not None:
        comparison.unchanged[same.document_id] = file
        return
    comparison.to_send.append(file)
    if versions:
        comparison.changed.add(file.path)


def _sha256(blocks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()
