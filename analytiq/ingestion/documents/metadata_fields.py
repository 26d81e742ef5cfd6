"""Declarations of metadata fields' types, and the guarantee that every document's values match them.

Writers read the declaration, check their metadata against it, commit, and read it again. A declaration is written
between two passes over the documents. So the later of the two always sees the other: the second pass sees a document
committed before it, and the writer of one committed later finds the declaration changed, and converts its
own document. There are no locks, and no upload waits for another.

The next declaration repairs the document of a writer that died between its commit and its second read.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

import structlog
from pydantic import JsonValue

from analytiq.errors import ConflictError, FieldError, InvalidInputError, NotFoundError
from analytiq.ingestion.documents.metadata import fitted_metadata
from analytiq.ingestion.membership import document_changed
from analytiq.models.document import Document
from analytiq.models.job import Priority
from analytiq.models.metadata_field import (
    LONGEST_NAME,
    MOST_FIELDS,
    FieldType,
    FieldTypes,
    Misfit,
    MisfitPolicy,
    fitted,
)
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

MOST_NAMED = 20
"""Most documents named in a refusal."""
BATCH = 200
"""Documents rewritten in one transaction."""


@dataclass(frozen=True, slots=True)
class DeclaredFields:
    """An organization's declaration at one point in time; `revision` shows whether it has changed since."""

    types: FieldTypes
    revision: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """The result of a declaration: the numbers of rewritten documents and removed values."""

    types: FieldTypes
    documents_rewritten: int
    values_removed: int


@dataclass(frozen=True, slots=True)
class Refit:
    """Changes to one document's metadata: converted values, and names of values of another type."""

    rewritten: Mapping[str, JsonValue]
    misfits: Mapping[str, str]
    """Name → reason."""

    @property
    def is_needed(self) -> bool:
        """Return True if the document needs a change."""
        return bool(self.rewritten or self.misfits)


def plan_refit(metadata: Mapping[str, JsonValue], types: FieldTypes) -> Refit:
    """Decide the changes that make the metadata match the types."""
    rewritten: dict[str, JsonValue] = {}
    misfits: dict[str, str] = {}
    for name in metadata.keys() & types.keys():
        try:
            kept = fitted(metadata[name], types[name])
        except Misfit as misfit:
            misfits[name] = str(misfit)
            continue
        if kept != metadata[name]:
            rewritten[name] = kept
    return Refit(rewritten, misfits)


class MetadataFields:
    """The declared fields of organizations."""

    def __init__(
        self,
        connection: MongoConnection,
        organizations: OrganizationRepository,
        documents: DocumentRepository,
        jobs: JobRepository,
    ) -> None:
        self._connection = connection
        self._organizations = organizations
        self._documents = documents
        self._jobs = jobs

    async def of(self, organization_id: str) -> DeclaredFields:
        """Return the current declarations."""
        organization = await self._organizations.get(organization_id)
        if organization is None:
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
        return DeclaredFields(organization.metadata_fields, organization.metadata_fields_revision)

    async def fitted(
        self, organization_id: str, metadata: Mapping[str, JsonValue]
    ) -> tuple[dict[str, JsonValue], DeclaredFields]:
        """Return the metadata in stored form, with the declaration used for it: see `settle`.

        Raises:
            InvalidInputError: names each field with a value of another type.
        """
        declared = await self.of(organization_id)
        return fitted_metadata(metadata, declared.types), declared

    async def settle_all(self, documents: Sequence[Document], declared: DeclaredFields) -> dict[str, Document]:
        """Apply `settle` to documents of one organization, with one read; return those with metadata, by id."""
        with_metadata = {document.id: document for document in documents if document.metadata}
        if not with_metadata:
            return {}
        now = await self.of(next(iter(with_metadata.values())).organization_id)
        if now.revision == declared.revision:
            return with_metadata
        return {key: await self.settle(document, declared) for key, document in with_metadata.items()}

    async def settle(self, document: Document, declared: DeclaredFields) -> Document:
        """Apply a declaration that has changed since the document was written; return the document as it is then."""
        now = await self.of(document.organization_id)
        if now.revision == declared.revision or not plan_refit(document.metadata, now.types).is_needed:
            return document
        await self._refit(document.organization_id, [document.id], now)
        return await self._documents.get(document.organization_id, document.id) or document

    async def declare(
        self, organization_id: str, types: Mapping[str, FieldType], *, on_misfit: MisfitPolicy
    ) -> Declaration:
        """Declare exactly these fields, and convert the stored values.

        Other fields become undeclared; their values stay.

        Raises:
            InvalidInputError: a name is invalid; or values do not fit and `on_misfit` is to refuse: names documents.
            ConflictError: another declaration is being made.
        """
        validate_names(types)
        before = await self.of(organization_id)
        await self._require_fit(organization_id, types, on_misfit)
        declared = DeclaredFields(types, before.revision + 1)
        if not await self._organizations.declare_metadata_fields(organization_id, types, after=before.revision):
            raise ConflictError("Another call is declaring metadata fields. Read the fields and try again.")
        rewritten, removed = 0, 0
        async for ids in self._unfit(organization_id, types):
            counts = await self._refit(organization_id, ids, declared)
            rewritten, removed = rewritten + counts[0], removed + counts[1]
        return Declaration(types, rewritten, removed)

    async def _require_fit(self, organization_id: str, types: FieldTypes, on_misfit: MisfitPolicy) -> None:
        if on_misfit is MisfitPolicy.REMOVE:
            return
        found: list[FieldError] = []
        count = 0
        async for document in self._documents.with_metadata(organization_id, list(types)):
            misfits = plan_refit(document.metadata, types).misfits
            count += bool(misfits)
            for name, reason in sorted(misfits.items()):
                if len(found) < MOST_NAMED:
                    found.append(FieldError(f"fields.{name}", f"{document.name!r} ({document.id}): {reason}"))
        if count:
            named = "; ".join(f"{item.field.removeprefix('fields.')} in {item.reason}" for item in found[:3])
            holders = "1 document holds" if count == 1 else f"{count} documents hold"
            raise InvalidInputError(
                f"{holders} values that do not fit, such as {named}. Change them, or declare with on_misfit"
                ' "remove", which removes these values from the documents\' metadata.',
                errors=found,
                code="metadata_misfits",
            )

    async def _unfit(self, organization_id: str, types: FieldTypes) -> AsyncIterator[list[str]]:
        ids: list[str] = []
        async for document in self._documents.with_metadata(organization_id, list(types)):
            if plan_refit(document.metadata, types).is_needed:
                ids.append(document.id)
            if len(ids) == BATCH:
                yield ids
                ids = []
        if ids:
            yield ids

    async def _refit(
        self, organization_id: str, document_ids: Sequence[str], declared: DeclaredFields
    ) -> tuple[int, int]:
        """Convert the documents, unless a newer declaration exists; count the documents and the removed values."""

        async def commit(session: Session) -> tuple[int, int]:
            organization = await self._organizations.get(organization_id, session=session)
            if organization is None or organization.metadata_fields_revision != declared.revision:
                return 0, 0
            refits: dict[str, Refit] = {}
            for document in await self._documents.with_ids(session, organization_id, document_ids):
                refit = plan_refit(document.metadata, declared.types)
                if refit.is_needed:
                    refits[document.id] = refit
            changes = {key: (refit.rewritten, list(refit.misfits)) for key, refit in refits.items()}
            await self._documents.change_metadata_values(session, organization_id, changes)
            # Chunks may store metadata for a search server. Concurrent uploads come first.
            requests = [document_changed(organization_id, key) for key in refits]
            requests = [request.model_copy(update={"priority": Priority.BULK}) for request in requests]
            await self._jobs.enqueue(requests, session=session)
            return len(refits), sum(len(refit.misfits) for refit in refits.values())

        rewritten, removed = await run_in_transaction(self._connection, commit)
        if removed:
            log.warning("metadata_fields.values_removed", organization_id=organization_id, values=removed)
        return rewritten, removed


def validate_names(types: FieldTypes) -> None:
    """Refuse names that filters cannot express.

    Raises:
        InvalidInputError: names them.
    """
    if len(types) > MOST_FIELDS:
        raise InvalidInputError.of_field("fields", f"At most {MOST_FIELDS} fields can be declared, not {len(types)}.")
    for name in types:
        is_text = not any("\ud800" <= character <= "\udfff" for character in name)
        if not is_text or not name or len(name) > LONGEST_NAME or any(character in name for character in ".$\0"):
            raise InvalidInputError.of_field(
                "fields",
                f"{name[:LONGEST_NAME].encode(errors='replace').decode()!r} is not a valid name. A name is a key"
                f" of the metadata, of 1 to {LONGEST_NAME} characters, without dots, $ and NUL.",
            )
