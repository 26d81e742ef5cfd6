"""Writer of archives: of one organization, of several, or of the installation."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import structlog

import analytiq
from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.cache_key import cache_key
from analytiq.models.archive import (
    ArchivedOrganization,
    ArchiveHeader,
    ArchiveTrailer,
    CollectionTotal,
    SectionEnd,
    SectionKey,
)
from analytiq.operations.backup.container import FrameKind, FrameWriter
from analytiq.operations.backup.holding import holding
from analytiq.operations.backup.progress import OnStep, Step, ignore
from analytiq.storage.catalog import VECTORS_PREFIX
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.archives import ArchiveSource, KbOfSnapshot, KeysOf, Piece
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Made:
    """An archive written to its end."""

    header: ArchiveHeader
    trailer: ArchiveTrailer
    byte_size: int
    sha256: str
    """The chained digest of its last frame, hex digits; it stands for the whole archive."""
    rows: dict[str, dict[str, int]]
    """Organization → collection → rows; all `kb_vectors_…` count as one."""


@dataclass(slots=True)
class _Section:
    key: SectionKey
    rows: int = 0
    byte_size: int = 0


@dataclass(slots=True)
class _Totals:
    sections: int = 0
    rows: dict[str, int] = field(default_factory=dict[str, int])
    byte_sizes: dict[str, int] = field(default_factory=dict[str, int])
    of_organizations: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])

    def add(self, section: _Section) -> None:
        name = section.key.collection
        name = VECTORS_PREFIX if name.startswith(VECTORS_PREFIX) else name
        self.sections += 1
        self.rows[name] = self.rows.get(name, 0) + section.rows
        self.byte_sizes[name] = self.byte_sizes.get(name, 0) + section.byte_size
        if section.key.organization_id is not None:
            own = self.of_organizations.setdefault(section.key.organization_id, {})
            own[name] = own.get(name, 0) + section.rows

    def by_collection(self) -> tuple[CollectionTotal, ...]:
        return tuple(
            CollectionTotal(collection=name, rows=rows, byte_size=self.byte_sizes[name])
            for name, rows in sorted(self.rows.items())
        )


class Backup:
    """Maker of archives beside a running system."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection
        self._holds = BackupHoldRepository(connection)

    async def make(self, stream: BinaryIO, organization_ids: Sequence[str] | None, *, on_step: OnStep = ignore) -> Made:
        """Write an archive of these organizations; None: of the installation, with access tokens and encrypted keys.

        Each organization is consistent in itself: the archive shows it at one moment during the backup.

        Args:
            stream: written in order and never sought, so that it may be a pipe.
            organization_ids: the organizations of the archive.
            on_step: called after each batch.

        Raises:
            NotFoundError: there is no such organization.
            TransientError: the snapshot or the hold was lost; run it again.
        """
        source = ArchiveSource(self._connection)
        header = await self._header_of(source, organization_ids)
        writing = _Writing(stream, header, on_step)
        keys_of = _keys_of(await source.own_addresses())
        for organization in header.organizations:
            await writing.take(self._held(source, organization.id, keys_of, is_whole=header.is_whole), organization.id)
            await checkpoint("backup.organization_written")
        if header.is_whole:
            ids = [organization.id for organization in header.organizations]
            await writing.take(source.of_installation(ids), None)
        unknown = [f"the collection {name!r} is in no archive" for name in await source.unknown_collections()]
        made = await writing.finish([*source.warnings, *unknown])
        log.info("backup.made", organizations=len(header.organizations), bytes=made.byte_size, sha256=made.sha256)
        return made

    async def header(self, organization_ids: Sequence[str] | None) -> ArchiveHeader:
        """Return the header of an archive of these organizations begun now.

        Raises:
            NotFoundError: there is no such organization.
            InvalidInputError: there are no organizations.
        """
        return await self._header_of(ArchiveSource(self._connection), organization_ids)

    async def _header_of(self, source: ArchiveSource, organization_ids: Sequence[str] | None) -> ArchiveHeader:
        known = {item.organization_id: item.name for item in await source.organizations()}
        wanted = list(known) if organization_ids is None else list(dict.fromkeys(organization_ids))
        for organization_id in wanted:
            if organization_id not in known:
                raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
        if not wanted:
            raise InvalidInputError("There is no organization to back up.", code="nothing_to_back_up")
        return ArchiveHeader(
            product_version=analytiq.__version__,
            schema_version=await source.schema_version(),
            created_at=clock.now(),
            is_whole=organization_ids is None,
            organizations=tuple(ArchivedOrganization(id=item, name=known[item]) for item in wanted),
        )

    async def _held(
        self, source: ArchiveSource, organization_id: str, keys_of: KeysOf, *, is_whole: bool
    ) -> AsyncGenerator[Piece, None]:
        async with holding(self._holds, organization_id, reason="a backup") as hold:
            await checkpoint("backup.held")
            async for piece in source.of_organization(organization_id, is_whole=is_whole, keys_of=keys_of):
                hold.require()
                yield piece


class _Writing:
    """Conversion of pieces to sections, compressing and writing one frame while the next is read."""

    def __init__(self, stream: BinaryIO, header: ArchiveHeader, on_step: OnStep) -> None:
        self._frames = FrameWriter(stream)
        self._header = header
        self._on_step = on_step
        self._totals = _Totals()
        self._section: _Section | None = None
        self._pending: asyncio.Future[None] | None = None
        self._rows = 0
        self._byte_size = 0
        self._frames.write(FrameKind.HEADER, header.model_dump_json().encode())

    async def take(self, pieces: AsyncGenerator[Piece, None], organization_id: str | None) -> None:
        """Write the pieces of an organization, or of none."""
        try:
            async for piece in pieces:
                key = SectionKey(collection=piece.collection, organization_id=organization_id, kb_id=piece.kb_id)
                await self._in_section(key)
                await self._batch(piece)
                await checkpoint("backup.batch_written")
            await self._in_section(None)
        finally:
            await pieces.aclose()
            await self._settled()

    async def finish(self, warnings: Sequence[str]) -> Made:
        """End the archive."""
        trailer = ArchiveTrailer(
            finished_at=clock.now(),
            sections=self._totals.sections,
            totals=self._totals.by_collection(),
            warnings=tuple(warnings),
        )
        await self._write(FrameKind.TRAILER, trailer.model_dump_json().encode())
        await self._settled()
        return Made(
            self._header,
            trailer,
            self._frames.byte_size,
            self._frames.chain.hex(),
            self._totals.of_organizations,
        )

    async def _in_section(self, key: SectionKey | None) -> None:
        if self._section is not None and self._section.key == key:
            return
        if self._section is not None:
            end = SectionEnd(rows=self._section.rows, byte_size=self._section.byte_size)
            await self._write(FrameKind.END, end.model_dump_json().encode())
            self._totals.add(self._section)
            self._section = None
        if key is not None:
            await self._write(FrameKind.SECTION, key.model_dump_json().encode())
            self._section = _Section(key)

    async def _batch(self, piece: Piece) -> None:
        assert self._section is not None  # noqa: S101  # `take` has just opened it
        self._section.rows += piece.count
        self._section.byte_size += len(piece.rows)
        self._rows += piece.count
        self._byte_size += len(piece.rows)
        await self._write(FrameKind.BATCH, piece.rows)
        self._on_step(Step(piece.collection, self._rows, self._byte_size))

    async def _write(self, kind: FrameKind, payload: bytes) -> None:
        await self._settled()
        self._pending = asyncio.ensure_future(asyncio.to_thread(self._frames.write, kind, payload))

    async def _settled(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            await pending


def _keys_of(addresses: Sequence[str]) -> KeysOf:
    """Return the possible shared-cache keys of chunks, at well-known servers and at each of `addresses`."""

    def keys(kb: KbOfSnapshot, hashes: Sequence[str]) -> list[str]:
        return [
            cache_key(
                text_hash,
                model=kb.embedding_model,
                dimensions=kb.dimensions,
                input_type=InputType.DOCUMENT,
                scope="global",
                endpoint=endpoint,
            )
            for text_hash in hashes
            for endpoint in ("", *addresses)
        ]

    return keys
