"""Every repository method on tenants' rows takes the organization, or what holds it; the others are named, with why."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import analytiq.models
import analytiq.storage.repositories as repositories
from analytiq.models.stored import Stored

ENDINGS = (
    "Repository", "Rows", "Survey", "Source", "Leases", "Lanes", "Batches", "Recovery",
    "Extraction", "Holds", "Members",
)  # fmt: skip

WHOLE_CLASSES = {
    "ArchiveSource": "reads for an archive of everything; its other methods take the organization",
    "EmbeddingCacheRepository": "its keys are hashes that hold the scope: whose texts they may be shared with",
    "EmbeddingClaimRepository": "the same keys",
    "EpochRepository": "of a knowledge base that its caller has found by organization",
    "VectorRepository": "the collection of a knowledge base that its caller has found by organization",
    "VectorSurvey": "the same, for the reconciler",
    "JobLanes": "a worker serves all organizations",
    "JobLeases": "a worker serves all organizations; a lease is fenced by its token",
    "LeaseRepository": "of processes",
    "WebhookDeliveryRepository": "a worker delivers for all organizations; what people read takes the organization",
    "WorkerRepository": "of processes",
    "RuntimeSettingRepository": "of the installation",
    "RestoreRepository": "an operator restores",
    "UserRepository": "people belong to no organization; `members` says where they are",
    "SessionRepository": "by a secret's hash, or of one person",
    "OneTimeLinkRepository": "by a secret's hash, or of one person",
}
METHODS = {
    "by a secret's hash": {
        "AccessTokenRepository.opened", "InboundRepository.with_address",
        "AccessTokenRepository.note_use", "InvitationRepository.with_hash",
        "InvitationRepository.accept",
    },
    "of one person, in all organizations": {"MemberRepository.of_user", "InvitationRepository.open_for"},
    "for periodic tasks and for operators, over all organizations": {
        "AuditLogRepository.forget_before", "BackupHoldRepository.is_anything_held", "BooksRepository.read",
        "DocumentSurvey.files_named_among", "DocumentSurvey.pointers",
        "ErasureRepository.get", "ErasureRepository.take", "ErasureRepository.open_again",
        "ErasureRepository.watched_since", "ErasureRepository.left_behind",
        "DocumentExtraction.page_with_passwords",
        "IdempotencyRepository.page_of_encrypted", "JobRepository.count_work", "JobRecovery.organizations_stopped_by",
        "KnowledgeBaseRepository.counts_by_store",
        "KnowledgeBaseRepository.set_names_apart",
        "OrganizationRepository.first", "OrganizationRepository.all", "OrganizationRepository.existing",
        "ProviderRepository.of_platform", "ProviderRepository.page_of_all", "QuotaRepository.open_accounts",
        "ReconcileReportRepository.unfinished_over_everything",
        "InboundRepository.page_of_all", "SourceRepository.pending",
        "SourceRepository.being_deleted", "SourceRepository.due", "SourceRunRepository.all_open",
        "SourceRepository.page_with_credentials",
        "WebhookEndpointRepository.lease",
        "WebhookEndpointRepository.page_of_all", "WebhookEndpointRepository.raise_version",
        "WebhookEndpointRepository.with_ids",
        "StorageAccountRepository.organization_ids",
        "TenantTaskRepository.seconds_since",
        "TenantRows.collections", "TenantRows.delete_cache", "TenantRows.count_cache", "TextRepository.served_after",
        "TextRepository.segmented_after", "TextRepository.heads_among", "TextRepository.whole_among",
        "TextRepository.count", "DocumentSurvey.count_all",
        "UploadRepository.file_ids_among",
    },
    "of a knowledge base that its caller has found by organization": {
        "IndexEntryRepository.statistics", "IndexEntryRepository.delete_of_kb",
        "GenerationRepository.chunks_not_current", "GenerationRepository.known", "GenerationRepository.delete_of_kb",
    },
    "which of these ids there are, and nothing of them": {
        "IndexContentRepository.existing", "JobRepository.existing", "JobRepository.unfinished_among",
        "JobRepository.dead_among", "JobRepository.cancel_wanted_among",
        "KnowledgeBaseRepository.existing", "KnowledgeBaseRepository.shown",
    },
    "of the organizations that somebody watches, each row with its own": {
        "DocumentRepository.of_organizations", "JobRepository.of_organizations",
        "KnowledgeBaseRepository.of_organizations",
    },
    "ids of what changes, without their content; who is told is decided by reading the rows": {
        "ChangeStreamRepository.now", "ChangeStreamRepository.watch",
    },
    "the caller compares the organization of what it gets": {"JobRepository.get"},
    "of a reservation, whose id is random and never leaves the process": {"LedgerRepository.has"},
    "the organization itself": {"OrganizationRepository.insert"},
    "a text that the same transaction has staged": {"TextRepository.serve"},
}  # fmt: skip


def owned_shapes() -> set[str]:
    """Names of stored shapes that say whose they are."""
    for module in pkgutil.iter_modules(analytiq.models.__path__):
        importlib.import_module(f"analytiq.models.{module.name}")
    return {shape.__name__ for shape in Stored.__subclasses__() if "organization_id" in shape.model_fields}


def methods() -> Iterator[tuple[str, str, inspect.Signature]]:
    """Class, name and signature of each public method of a repository."""
    for module in pkgutil.iter_modules(repositories.__path__):
        found = importlib.import_module(f"analytiq.storage.repositories.{module.name}")
        for name, value in vars(found).items():
            if inspect.isclass(value) and value.__module__ == found.__name__ and name.endswith(ENDINGS):
                for method, function in vars(value).items():
                    if not method.startswith("_") and inspect.isfunction(function):
                        yield name, method, inspect.signature(function)


def test_every_query_on_tenants_rows_takes_the_organization() -> None:
    shapes = owned_shapes()
    assert {"Document", "KnowledgeBase", "Job"} <= shapes
    allowed = {name for names in METHODS.values() for name in names}
    unowned: set[str] = set()
    total = 0
    for owner, method, signature in methods():
        total += 1
        if "organization_id" in signature.parameters or owner in WHOLE_CLASSES:
            continue
        if any(shape in str(parameter.annotation) for parameter in signature.parameters.values() for shape in shapes):
            continue
        unowned.add(f"{owner}.{method}")
    assert total > 250
    assert unowned - allowed == set(), "take the organization's id, or say here why not"
    # What is no longer there, or takes the organization by now, has to go from the list.
    assert {name for name in allowed if name not in unowned} == set()
