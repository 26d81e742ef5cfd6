"""Restore of an archive beside a running system, complete or not at all."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import BinaryIO

import structlog

from analytiq.assistants.prompts.requests import resuming_request
from analytiq.errors import AnalytiqError, ConflictError, InvalidInputError, TransientError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.cache_key import cache_key
from analytiq.ingestion.membership import kb_changed
from analytiq.models.archive import ArchivedOrganization, EmbeddingIdentity
from analytiq.models.erasure import ErasureKind, ErasureOptions, LedgerFate
from analytiq.models.job import JobRequest
from analytiq.models.usage import Operation
from analytiq.operations.backup.container import Frame
from analytiq.operations.backup.holding import holding
from analytiq.operations.backup.progress import OnStep, Step, ignore
from analytiq.operations.backup.recording import RestoreRecording
from analytiq.operations.backup.verification import Contents, Section, batches, verify
from analytiq.storage.catalog import VECTORS_PREFIX
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.archives import ArchiveSource
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.storage.repositories.erasures import ErasureRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.restore_target import InstallationTarget, Rekey, RestoreTarget
from analytiq.storage.repositories.restores import RestoreRepository, RestoreRun
from analytiq.storage.repositories.tenant_rows import TenantRows
from analytiq.storage.session import DatabaseError
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

RENEW_SECONDS = 20.0
ORDER = (
    # Referenced rows before rows that refer to them, so that nothing ever looks orphaned or stuck; documents last.
    "fs.files", "fs.chunks", "document_text_segments", "document_texts", "knowledge_bases", VECTORS_PREFIX,
    "generations", "document_index", "tags", "spu_ledger", "llm_usage", "prompts", "prompt_versions",
    "prompt_runs", "prompt_results", "chat_threads", "chat_messages", "embedding_cache", "llm_providers", "sources",
    "source_items", "source_addresses", "webhook_endpoints", "docs", "access_tokens",
)  # fmt: skip
SECRETS = ("access_tokens", "source_addresses", "webhook_endpoints")
"""Rows by secrets that are unique, or that would send a copy's events: a restore under fresh ids leaves them out."""
AT_ACTIVATION = ("organizations", "kb_epochs")


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """Options of a restore.

    Attributes:
        organization_ids: organizations of the archive to restore; None: all, and the installation's data.
        is_fresh: restore under fresh ids, as a new organization. Access tokens are left out.
        name: another name for the (only) organization.
        allows_erased: restore data erased after the archive was made, too.
    """

    organization_ids: tuple[str, ...] | None = None
    is_fresh: bool = False
    name: str | None = None
    allows_erased: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """A restored organization, its id in this database, and its documents erased since the backup."""

    source_organization_id: str
    organization_id: str
    rows: int
    erased_documents: tuple[str, ...]


class Restore:
    """Restorer of verified archives."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection
        self._restores = RestoreRepository(connection)
        self._holds = BackupHoldRepository(connection)
        self._erasures = ErasureRepository(connection)
        self._tenants = TenantRows(connection)
        self._jobs = JobRepository(connection)

    async def check(self, contents: Contents, options: RestoreOptions) -> list[ArchivedOrganization]:
        """Return the organizations that a restore would bring back; change nothing.

        Raises:
            InvalidInputError: the archive lacks a requested organization.
            ConflictError: an organization exists, is being erased, or was erased since.
        """
        chosen = await self._chosen(contents, options)
        for organization in chosen:
            await self._require_absent(contents, organization.id, options)
        return chosen

    async def restore(
        self, stream: BinaryIO, contents: Contents, options: RestoreOptions, *, on_step: OnStep = ignore
    ) -> list[Restored]:
        """Restore one organization after the other; each becomes visible as a whole, or not at all.

        After a crash, the same call continues the restore. After a permanent error, the rows inserted for that
        organization are removed again.

        Args:
            stream: the archive, as `verify` has read it; it is sought.
            contents: the result of `verify`.
            options: see there.
            on_step: called after each batch.

        Raises:
            ConflictError: see `check`; or an id is taken by another row.
            InvalidInputError: the archive contradicts itself.
            TransientError: the connection to the database was lost; run it again.
        """
        progress = _Progress(contents, on_step)
        chosen = await self.check(contents, options)
        if contents.header.is_whole and options.organization_ids is None:
            await self._restore_installation(stream, contents, progress)
        return [await self._restore_one(stream, contents, item, options, progress) for item in chosen]

    async def _chosen(self, contents: Contents, options: RestoreOptions) -> list[ArchivedOrganization]:
        header = contents.header
        newest = await ArchiveSource(self._connection).schema_version()
        if header.schema_version > newest:
            raise InvalidInputError(
                f"The archive is of a database at version {header.schema_version}, and this one is at {newest}."
                f" Upgrade to {header.product_version} or newer first.",
                code="archive_too_new",
            )
        held = {organization.id: organization for organization in header.organizations}
        wanted = list(held) if options.organization_ids is None else list(dict.fromkeys(options.organization_ids))
        for organization_id in wanted:
            if organization_id not in held:
                names = ", ".join(f"{item.id} ({item.name})" for item in header.organizations)
                raise InvalidInputError.of_field(
                    "organization", f"The archive does not contain {organization_id!r}. It contains {names}."
                )
        if options.name is not None and len(wanted) != 1:
            raise InvalidInputError.of_field("name", "Only one organization can be given a name.")
        return [held[organization_id] for organization_id in wanted]

    async def _require_absent(self, contents: Contents, organization_id: str, options: RestoreOptions) -> None:
        if await self._erasures.open_of(organization_id) is not None and not options.is_fresh:
            raise ConflictError(
                f"The organization {organization_id} is being erased. Wait until `analytiq erase list` says that it is"
                " done.",
                code="erasure_running",
            )
        erased = await self._erasures.finished_since(organization_id, contents.header.created_at)
        if not options.allows_erased and any(item.kind is ErasureKind.ORGANIZATION for item in erased):
            raise ConflictError(
                f"The organization {organization_id} was erased after this archive was made. If it is to come back all"
                " the same, say so with --even-if-erased.",
                code="erased_since",
            )
        if options.is_fresh:
            return
        known = {item.organization_id for item in await ArchiveSource(self._connection).organizations()}
        if organization_id in known:
            raise ConflictError(
                f"The organization {organization_id} already exists and stays unchanged. Restore beside it with"
                " --as-new, or instead of it with --replace.",
                code="organization_exists",
            )

    async def _restore_one(
        self,
        stream: BinaryIO,
        contents: Contents,
        organization: ArchivedOrganization,
        options: RestoreOptions,
        progress: "_Progress",
    ) -> Restored:
        record = RestoreRecording(self._connection, contents, organization.id, is_fresh=options.is_fresh)
        run, is_taken_up = await self._restores.begin(organization.id, contents.sha256, is_fresh=options.is_fresh)
        try:
            async with self._leased(run), holding(self._holds, run.organization_id, reason="a restore") as hold:
                if not is_taken_up:
                    await self._require_empty(run)
                await checkpoint("restore.begun")
                target = RestoreTarget(self._connection, run, await self._rekey())
                rows = await self._insert(stream, contents, run, target, options, progress)
                hold.require()
                await self._activate(stream, contents, run, target, options)
        except (InvalidInputError, ConflictError) as error:
            await self._undo(run, error)
            await record.failed(error)
            raise
        except BaseException as error:
            # Inserted rows stay, invisible: the same call continues from there at once.
            await asyncio.shield(self._restores.expire(run))
            await asyncio.shield(record.failed(error))
            raise
        await checkpoint("restore.activated")
        await record.done(run.organization_id)
        log.info("restore.done", organization_id=run.organization_id, rows=rows, taken_up=is_taken_up)
        erased = await self._erasures.finished_since(organization.id, contents.header.created_at)
        named = {document_id for item in erased for document_id in item.document_ids}
        return Restored(organization.id, run.organization_id, rows, tuple(sorted(map(run.ids.new, named))))

    async def _insert(
        self,
        stream: BinaryIO,
        contents: Contents,
        run: RestoreRun,
        target: RestoreTarget,
        options: RestoreOptions,
        progress: "_Progress",
    ) -> int:
        sections = _ordered(contents, run.source_organization_id)
        if options.is_fresh:
            # A token opens one organization; the old tokens open the old one.
            sections = [section for section in sections if section.key.collection not in SECRETS]
        rows = 0
        for number, section in enumerate(sections):
            rows += section.rows
            if number < run.sections_done:
                progress.add(section.key.collection, section.rows, 0)
                continue
            async for frame in _read(stream, section):
                inserted = await target.insert(section.key.collection, section.key.kb_id, frame.payload)
                progress.add(section.key.collection, inserted, len(frame.payload))
                await checkpoint("restore.batch_inserted")
            if not await self._restores.note_section(run, number + 1):
                raise _lease_lost()
            await checkpoint("restore.section_restored")
        return rows

    async def _activate(
        self,
        stream: BinaryIO,
        contents: Contents,
        run: RestoreRun,
        target: RestoreTarget,
        options: RestoreOptions,
    ) -> None:
        rows: dict[str, bytes] = {}
        for section in contents.sections:
            if section.key.organization_id == run.source_organization_id and section.key.collection in AT_ACTIVATION:
                found = [frame.payload async for frame in _read(stream, section)]
                rows[section.key.collection] = b"".join(found)
        if "organizations" not in rows:
            raise InvalidInputError(
                f"The archive lacks the row of its organization {run.source_organization_id}.", code="archive_foreign"
            )
        await target.activate(
            rows["organizations"],
            rows.get("kb_epochs", b""),
            restores=self._restores,
            jobs=self._jobs,
            requests_of=_work_of_archive,
            name=options.name,
        )

    async def _restore_installation(self, stream: BinaryIO, contents: Contents, progress: "_Progress") -> None:
        target = InstallationTarget(self._connection)
        for section in contents.sections:
            if section.key.organization_id is None:
                async for frame in _read(stream, section):
                    inserted = await target.insert(section.key.collection, frame.payload)
                    progress.add(section.key.collection, inserted, len(frame.payload))

    async def _require_empty(self, run: RestoreRun) -> None:
        kb_ids = await self._tenants.kb_ids(run.organization_id)
        left = await self._tenants.count(run.organization_id, kb_ids=kb_ids, options=ErasureOptions(keeps_tokens=True))
        left.pop("restores", None)
        if left:
            # No existing row may be taken for ours and removed by an undo: the run ends here.
            await self._restores.end(run)
            what = ", ".join(f"{count} in {name}" for name, count in left.items())
            raise ConflictError(
                f"Rows of the organization {run.organization_id} are left in this database ({what}), though it has no"
                f" organization of that id. Remove them with `analytiq erase organization {run.organization_id}`.",
                code="rows_left",
            )

    async def _undo(self, run: RestoreRun, reason: AnalytiqError) -> None:
        """Remove the inserted rows; the organization had none before, so that all its rows are ours."""
        if not await self._restores.renew(run):
            return  # owned by another process by now, or ended before anything was inserted
        options = ErasureOptions(ledger=LedgerFate.DELETE)
        kb_ids = await self._tenants.kb_ids(run.organization_id)
        for name in await self._tenants.collections():
            if name not in ("restores", "access_tokens"):
                await self._tenants.erase(run.organization_id, name, kb_ids=kb_ids, options=options)
        await self._restores.end(run)
        log.warning("restore.undone", organization_id=run.organization_id, code=reason.code)

    async def _rekey(self) -> Rekey:
        """Give an embedding of one scope the key of another, by finding the parts that its key was made of."""
        endpoints = ["", *await ArchiveSource(self._connection).own_addresses()]

        def rekey(embedding: EmbeddingIdentity, scope: str) -> str | None:
            is_query = embedding.operation == Operation.SEARCH.value
            input_type = InputType.QUERY if is_query else InputType.DOCUMENT
            for endpoint in endpoints:
                keys = [
                    cache_key(
                        embedding.chunk_hash,
                        model=embedding.embedding_model,
                        dimensions=embedding.dimensions,
                        input_type=input_type,
                        scope=of_scope,
                        endpoint=endpoint,
                    )
                    for of_scope in (embedding.scope, scope)
                ]
                if keys[0] == embedding.key:
                    return keys[1]
            return None

        return rekey

    @asynccontextmanager
    async def _leased(self, run: RestoreRun) -> AsyncGenerator[None]:
        async def renew() -> None:
            while True:
                await asyncio.sleep(RENEW_SECONDS)
                try:
                    if not await self._restores.renew(run):
                        return  # noticed at the end of the section, and at the latest by the activation
                except DatabaseError:
                    log.warning("restore.lease_not_renewed", exc_info=True)

        renewal = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)


class _Progress:
    """A sum of the restored rows."""

    def __init__(self, contents: Contents, on_step: OnStep) -> None:
        self._on_step = on_step
        self._total = sum(total.byte_size for total in contents.trailer.totals)
        self._rows = 0
        self._byte_size = 0

    def add(self, collection: str, rows: int, byte_size: int) -> None:
        """Add restored rows."""
        self._rows += rows
        self._byte_size += byte_size
        self._on_step(Step(f"restoring {collection}", self._rows, self._byte_size, self._total))


async def verified(stream: BinaryIO, *, on_step: OnStep = ignore, total_bytes: int | None = None) -> Contents:
    """Verify in a thread."""
    return await asyncio.to_thread(verify, stream, on_step=on_step, total_bytes=total_bytes)


async def _read(stream: BinaryIO, section: Section) -> AsyncGenerator[Frame, None]:
    reading = batches(stream, section)
    while (frame := await asyncio.to_thread(next, reading, None)) is not None:
        yield frame


def _ordered(contents: Contents, organization_id: str) -> list[Section]:
    """Return the organization's sections in the order of restoring."""

    def place(section: Section) -> int:
        name = section.key.collection
        return ORDER.index(VECTORS_PREFIX if name.startswith(VECTORS_PREFIX) else name)

    own = [section for section in contents.sections if section.key.organization_id == organization_id]
    return sorted((section for section in own if section.key.collection not in AT_ACTIVATION), key=place)


def _work_of_archive(organization_id: str, kb_ids: Sequence[str], prompt_ids: Sequence[str]) -> list[JobRequest]:
    """Request the work missing from the archive: first indexing, runs, and the indexes of a search server."""
    first = [kb_changed(organization_id, kb_id) for kb_id in kb_ids]
    return first + [resuming_request(organization_id, prompt_id) for prompt_id in prompt_ids]


def _lease_lost() -> TransientError:
    return TransientError("Another process continues this restore. Wait for its end.", code="restore_taken_up")
