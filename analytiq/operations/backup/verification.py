"""Verification of an archive before a restore: complete, undamaged, and consistent with its header."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from analytiq.errors import InvalidInputError
from analytiq.models.archive import ArchiveHeader, ArchiveTrailer, SectionEnd, SectionKey
from analytiq.models.stored import Stored
from analytiq.operations.backup.container import Frame, FrameKind, FrameReader, damaged, truncated
from analytiq.operations.backup.progress import OnStep, Step, ignore
from analytiq.storage import catalog
from analytiq.storage.repositories.archives import count_rows

Model = TypeVar("Model", bound=Stored)


@dataclass(frozen=True, slots=True)
class Section:
    """The start of a section's first batch, and the digest of the frame before it."""

    key: SectionKey
    offset: int
    chain: bytes
    rows: int


@dataclass(frozen=True, slots=True)
class Contents:
    """A complete and undamaged archive."""

    header: ArchiveHeader
    trailer: ArchiveTrailer
    sections: tuple[Section, ...]
    byte_size: int
    sha256: str


def verify(stream: BinaryIO, *, on_step: OnStep = ignore, total_bytes: int | None = None) -> Contents:
    """Read every frame and check every digest and count; blocks for the whole reading.

    Raises:
        InvalidInputError: the file is no archive, damaged, incomplete, of a newer format, or contradicts itself.
    """
    reader = FrameReader(stream)
    reader.begin()
    first = reader.read()
    if first is None:
        raise truncated(reader.offset)
    if first.kind is not FrameKind.HEADER:
        raise damaged(first.offset)
    header = _parsed(ArchiveHeader, first)
    sections: list[Section] = []
    rows = 0
    while True:
        frame = reader.read()
        if frame is None:
            raise truncated(reader.offset)
        if frame.kind is FrameKind.TRAILER:
            break
        if frame.kind is not FrameKind.SECTION:
            raise damaged(frame.offset)
        section = _read_section(reader, frame, header)
        sections.append(section)
        rows += section.rows
        on_step(Step(f"verifying {section.key.collection}", rows, reader.offset, total_bytes))
    trailer = _parsed(ArchiveTrailer, frame)
    end = reader.offset
    if stream.read(1):
        raise damaged(end)
    if trailer.sections != len(sections) or sum(total.rows for total in trailer.totals) != rows:
        raise damaged(frame.offset)
    return Contents(header, trailer, tuple(sections), end, reader.chain.hex())


def batches(stream: BinaryIO, section: Section) -> Generator[Frame]:
    """Yield the batches of a verified section, checked once more: the file may have changed since."""
    reader = FrameReader(stream)
    reader.resume(section.offset, section.chain)
    while True:
        frame = reader.read()
        if frame is None:
            raise truncated(reader.offset)
        if frame.kind is FrameKind.END:
            return
        yield frame


def _read_section(reader: FrameReader, opening: Frame, header: ArchiveHeader) -> Section:
    key = _parsed(SectionKey, opening)
    _require_known(key, header)
    offset, chain = reader.offset, reader.chain
    rows = byte_size = 0
    while True:
        frame = reader.read()
        if frame is None:
            raise truncated(reader.offset)
        if frame.kind is FrameKind.BATCH:
            with _damage_at(frame.offset):
                rows += count_rows(frame.payload)
            byte_size += len(frame.payload)
            continue
        if frame.kind is not FrameKind.END:
            raise damaged(frame.offset)
        if _parsed(SectionEnd, frame) != SectionEnd(rows=rows, byte_size=byte_size):
            raise damaged(frame.offset)
        return Section(key, offset, chain, rows)


def _require_known(key: SectionKey, header: ArchiveHeader) -> None:
    collection = catalog.find(key.collection)
    is_vectors = key.collection.startswith(catalog.VECTORS_PREFIX)
    if collection is None or collection.taken is catalog.Taken.NEVER or is_vectors != (key.kb_id is not None):
        raise InvalidInputError(
            f"The archive has a section {key.collection!r}, which this release does not restore. Restore it with the"
            f" release that made it ({header.product_version}), or a newer one.",
            code="archive_unknown_section",
        )
    if key.organization_id not in {None, *(organization.id for organization in header.organizations)}:
        raise InvalidInputError(
            f"The archive has rows of an organization ({key.organization_id}) that its header does not name: it was"
            " not written by `analytiq backup`.",
            code="archive_foreign",
        )


def _parsed(model: type[Model], frame: Frame) -> Model:
    with _damage_at(frame.offset):
        return model.model_validate_json(frame.payload)


@contextmanager
def _damage_at(offset: int) -> Generator[None]:
    try:
        yield
    except (ValueError, ValidationError) as error:
        raise damaged(offset) from error
