"""Archives for tests: made, restored, and compared by what people see before and after."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analytiq.composition import Services
from analytiq.models.erasure import ErasureOptions, LedgerFate
from analytiq.operations.backup.making import Backup, Made
from analytiq.operations.backup.restoring import Restore, Restored, RestoreOptions, verified
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.storage.repositories.tenant_rows import TenantRows
from tests.integration.tenant import Tenant


async def archive_of(connection: MongoConnection, organization_ids: Sequence[str] | None) -> tuple[bytes, Made]:
    """An archive, as bytes."""
    stream = io.BytesIO()
    made = await Backup(connection).make(stream, organization_ids)
    return stream.getvalue(), made


async def restore_from(connection: MongoConnection, archive: bytes, **options: Any) -> list[Restored]:
    """Verify and restore."""
    stream = io.BytesIO(archive)
    contents = await verified(stream)
    return await Restore(connection).restore(stream, contents, RestoreOptions(**options))


async def lose(connection: MongoConnection, organization_id: str) -> None:
    """As if it had never been there: not even the charges are left."""
    tenants = TenantRows(connection)
    kb_ids = await tenants.kb_ids(organization_id)
    for name in await tenants.collections():
        options = ErasureOptions(ledger=LedgerFate.DELETE)
        await tenants.erase(organization_id, name, kb_ids=kb_ids, options=options)


@dataclass(frozen=True, slots=True)
class Seen:
    """Return the visible state of an organization without ids, so that it can be compared with a copy."""

    documents: list[dict[str, Any]]
    originals: dict[str, str]
    texts: dict[str, str]
    knowledge_bases: list[dict[str, Any]]
    answers: dict[str, list[tuple[str, str, float]]]
    usage: list[tuple[str, str, int]]


async def seen_of(services: Services, organization_id: str, questions: Sequence[str] = ()) -> Seen:
    """Look at everything."""
    organization = await services.tenancy.organizations.get(organization_id)
    page, _ = await services.ingestion.documents.page(organization_id, DocumentQuery(), skip=0, limit=100)
    kbs, _ = await services.ingestion.knowledge_bases.page(organization_id, skip=0, limit=100, name_search=None)
    kbs.sort(key=lambda kb: kb.name)
    tenant = Tenant(services, organization, (await tags_of(services, organization_id))[0])
    answers: dict[str, list[tuple[str, str, float]]] = {}
    for kb in kbs:
        for question in questions:
            answer = await tenant.search(kb.id, question, top_k=10)
            answers[f"{kb.name}: {question}"] = [
                (item.source, item.content, round(item.relevance, 6)) for item in answer.results
            ]
    return Seen(
        documents=sorted(
            (item.model_dump(exclude={"id", "organization_id", "file_id", "text_id", "tag_ids"}) for item in page),
            key=lambda row: str(row["document_name"]),
        ),
        originals={item.document_name: await original_of(services, organization_id, item.id) for item in page},
        texts={item.document_name: await text_of(services, organization_id, item.id) for item in page if item.text_id},
        knowledge_bases=[kb.model_dump(exclude={"id", "organization_id", "tag_ids", "vectors_uuid"}) for kb in kbs],
        answers=answers,
        usage=sorted(
            (total.operation.value, total.embedding_model, total.spus)
            for total in await services.tenancy.metering.totals(organization_id, since=None, until=None)
            if total.spus  # what the cache saved is in no archive, and looking saves something
        ),
    )


async def tags_of(services: Services, organization_id: str) -> Any:
    tags, _ = await services.ingestion.tags.page(organization_id, skip=0, limit=100, name_search=None, descending=False)
    return tags


async def original_of(services: Services, organization_id: str, document_id: str) -> str:
    _, blocks = await services.ingestion.documents.original(organization_id, document_id)
    digest = hashlib.sha256()
    async for block in blocks:
        digest.update(block)
    return digest.hexdigest()


async def text_of(services: Services, organization_id: str, document_id: str) -> str:
    _, pages, _ = await services.ingestion.documents.text_pages(
        organization_id, document_id, first_page=1, page_count=1000
    )
    return "".join(page.text for page in pages)
