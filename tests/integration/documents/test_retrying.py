"""Failed documents are told by their outcome, listed by their error, and retried by one call."""

from analytiq.ingestion.documents.retrying import RetryQuery
from analytiq.models.document import DocumentState
from analytiq.models.job import JobKind
from analytiq.models.job_history import AttemptOutcome
from analytiq.models.upload import DuplicatePolicy
from analytiq.storage.repositories.documents import DocumentQuery
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import Tenant, new_tenant, prose

DAMAGED = b"%PDF-1.7\nno page follows"


async def names(tenant: Tenant, query: DocumentQuery) -> list[str]:
    found, total = await tenant.services.ingestion.documents.page(tenant.id, query, skip=0, limit=100)
    assert total == len(found)
    return sorted(document.document_name for document in found)


async def test_history_tells_that_the_document_failed_and_why(tenant: Tenant) -> None:
    document = (await tenant.upload("damaged.pdf", DAMAGED)).document
    await tenant.drain()
    log = await tenant.services.jobs.operations.log_of_document(tenant.id, document.id, skip=0, limit=10)
    (attempt,) = [item for item in log.attempts if item.kind is JobKind.EXTRACT]
    now = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    assert now.error is not None
    assert attempt.error is not None
    assert (attempt.outcome, attempt.error.code, attempt.error.detail) == (
        AttemptOutcome.FAILED, "corrupt_file", now.error.detail,
    )  # fmt: skip


async def test_documents_are_listed_by_error_and_by_knowledge_base(tenant: Tenant) -> None:
    other_tag = await tenant.new_tag("other")
    await tenant.upload("damaged.pdf", DAMAGED)
    await tenant.upload("elsewhere.pdf", DAMAGED + b"2", tags=[other_tag.id])
    await tenant.upload("nothing.txt", b"")
    await tenant.document("good.txt", prose("whales", 2))
    failed = (DocumentState.FAILED,)
    assert await names(tenant, DocumentQuery(states=failed)) == ["damaged.pdf", "elsewhere.pdf", "nothing.txt"]
    assert await names(tenant, DocumentQuery(error_codes=("corrupt_file",))) == ["damaged.pdf", "elsewhere.pdf"]
    assert await names(tenant, DocumentQuery(states=failed, any_tag_ids=(tenant.tag.id,))) == [
        "damaged.pdf", "nothing.txt",
    ]  # fmt: skip
    assert await names(tenant, DocumentQuery(states=failed, any_tag_ids=())) == []


async def test_retry_reads_again_what_failed_for_one_reason_and_nothing_else(tenant: Tenant) -> None:
    await tenant.upload("damaged.pdf", DAMAGED)
    await tenant.upload("nothing.txt", b"")
    good = await tenant.document("good.txt", prose("whales", 2))
    retrying = tenant.services.ingestion.retrying
    assert await retrying.retry(tenant.id, RetryQuery(error_code="corrupt_file")) == 1
    waiting = DocumentQuery(states=(DocumentState.UPLOADED,))
    assert await names(tenant, waiting) == ["damaged.pdf"]
    await tenant.drain()
    assert await names(tenant, DocumentQuery(states=(DocumentState.FAILED,))) == ["damaged.pdf", "nothing.txt"]
    assert (await tenant.services.ingestion.documents.get(tenant.id, good.id)).rev == good.rev


async def test_retry_replays_what_could_not_be_indexed_in_the_knowledge_base(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.script(Failure.UNAUTHORIZED)
    document = await tenant.document("refused.txt", prose("whales", 2))
    assert await tenant.found(kb.id, "whales") == []
    assert await tenant.services.ingestion.retrying.retry(tenant.id, RetryQuery(kb_id=kb.id)) == 1
    await tenant.drain()
    assert await tenant.found(kb.id, "whales") == [document.id]


async def test_retry_leaves_other_organizations_alone(tenant: Tenant) -> None:
    other = await new_tenant(tenant.services)
    await other.upload("damaged.pdf", DAMAGED, tags=[other.tag.id], policy=DuplicatePolicy.CREATE)
    await tenant.drain()
    assert await tenant.services.ingestion.retrying.retry(tenant.id, RetryQuery()) == 0
    assert await names(other, DocumentQuery(states=(DocumentState.FAILED,))) == ["damaged.pdf"]
