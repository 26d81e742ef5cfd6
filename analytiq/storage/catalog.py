"""Declaration of every collection: the owner of its rows, the ids they contain, and the archives that include them.

Backup, restore and erasure rely on this list alone. If a collection is missing here, a test fails, an archive names
it in its warnings, and an erasure still deletes its rows by `organization_id`.
"""

from dataclasses import dataclass
from enum import Enum

VECTORS_PREFIX = "kb_vectors_"


class Taken(Enum):
    """The kinds of archives that contain a collection."""

    ALWAYS = "always"
    WHOLE = "whole"
    """Included only in archives of everything: secrets, and rows of the installation."""
    NEVER = "never"
    """Work in progress, data that is rebuilt, and what belongs to an installation: its people, audit log and limits."""


class Keeping(Enum):
    """The treatment of a collection's rows when their organization is erased."""

    ERASED = "erased"
    BY_CHOICE = "by choice"
    """The ledger and the cache: see `analytiq.models.erasure.ErasureOptions`."""
    KEPT = "kept"
    """Rows that record the erasure itself."""


@dataclass(frozen=True, slots=True)
class Collection:
    """The declaration of one collection.

    Attributes:
        name: of the collection; VECTORS_PREFIX stands for all names that begin with it.
        owner: path of the field with the organization's id; None if `parent` finds it, or the rows have no owner.
        parent: (field, collection whose `_id` it contains, as text or as an ObjectId) for rows without `owner`.
        ids: paths of all ids that a restore under fresh ids replaces; `[]` stands for each item.
    """

    name: str
    owner: str | None
    taken: Taken
    ids: tuple[str, ...] = ()
    parent: tuple[str, str] | None = None
    keeping: Keeping = Keeping.ERASED


_OWN = "organization_id"

COLLECTIONS: tuple[Collection, ...] = (
    Collection("organizations", "_id", Taken.ALWAYS, ("_id",)),
    Collection("access_tokens", _OWN, Taken.WHOLE, ("_id", _OWN)),
    Collection("members", _OWN, Taken.NEVER),
    Collection("invitations", _OWN, Taken.NEVER),
    Collection("audit_log", _OWN, Taken.NEVER),
    # People belong to no organization; a person without any other organization is deleted with the last.
    Collection("users", None, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("user_sessions", None, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("one_time_links", None, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("tags", _OWN, Taken.ALWAYS, ("_id", _OWN)),
    Collection(
        "docs",
        _OWN,
        Taken.ALWAYS,
        ("_id", _OWN, "file_id", "text_id", "tag_ids[]", "part_of.parent_id", "part_of.container_ids[]"),
    ),
    Collection(
        "fs.files",
        "metadata.organization_id",
        Taken.ALWAYS,
        ("_id", "metadata.organization_id", "metadata.document_id"),
    ),
    Collection("fs.chunks", None, Taken.ALWAYS, ("_id", "files_id"), parent=("files_id", "fs.files")),
    Collection("document_texts", _OWN, Taken.ALWAYS, ("_id", _OWN, "document_id")),
    Collection("document_text_segments", _OWN, Taken.ALWAYS, ("_id", _OWN, "document_id", "text_id")),
    Collection("knowledge_bases", _OWN, Taken.ALWAYS, ("_id", _OWN, "tag_ids[]")),
    Collection("kb_epochs", None, Taken.ALWAYS, ("_id",), parent=("_id", "knowledge_bases")),
    # The history of an epoch: a restored knowledge base starts its own.
    Collection("kb_changes", None, Taken.NEVER, parent=("kb_id", "knowledge_bases")),
    Collection("document_index", _OWN, Taken.ALWAYS, ("_id", _OWN, "kb_id", "document_id", "generation_id")),
    Collection("generations", _OWN, Taken.ALWAYS, ("_id", _OWN, "kb_id", "document_id")),
    Collection(
        VECTORS_PREFIX,
        _OWN,
        Taken.ALWAYS,
        ("_id", _OWN, "document_id", "generation_id", "metadata_snapshot.tag_ids[]", "projection.tag_ids[]"),
    ),
    Collection("embedding_cache", "payer_organization_id", Taken.ALWAYS, keeping=Keeping.BY_CHOICE),
    # Hashes and tokens of calls in progress, of no organization; they expire.
    Collection("embedding_claims", None, Taken.NEVER, keeping=Keeping.KEPT),
    # Explains removed cache rows: a restored organization has charges without rows.
    Collection("embedding_cache_removed", _OWN, Taken.NEVER),
    Collection("spu_ledger", _OWN, Taken.ALWAYS, ("_id", _OWN, "kb_id"), keeping=Keeping.BY_CHOICE),
    # A restored organization's account is rebuilt from its ledger.
    Collection("spu_accounts", _OWN, Taken.NEVER),
    # An operator's decision for this installation, and a count of its documents.
    Collection("storage_accounts", _OWN, Taken.NEVER),
    Collection("spu_savings", _OWN, Taken.NEVER),
    Collection("llm_usage", _OWN, Taken.ALWAYS, ("_id", _OWN, "kb_id", "run_id"), keeping=Keeping.BY_CHOICE),
    # Asked again of the model by the next extraction.
    Collection("picture_readings", _OWN, Taken.NEVER),
    Collection("prompts", _OWN, Taken.ALWAYS, ("_id", _OWN, "configuration.tag_ids[]", "configuration.kb_id")),
    Collection(
        "prompt_versions",
        _OWN,
        Taken.ALWAYS,
        ("_id", _OWN, "prompt_id", "configuration.tag_ids[]", "configuration.kb_id"),
    ),
    Collection(
        "prompt_runs",
        _OWN,
        Taken.ALWAYS,
        (
            "_id",
            _OWN,
            "prompt_id",
            "document_id",
            "steps[].passages[].document_id",
            "steps[].passages[].kb_id",
        ),
    ),
    Collection(
        "prompt_results",
        _OWN,
        Taken.ALWAYS,
        ("_id", _OWN, "prompt_id", "document_id", "run_id", "earlier[].run_id"),
    ),
    Collection("chat_threads", _OWN, Taken.ALWAYS, ("_id", _OWN, "kb_ids[]", "running_message_id")),
    Collection(
        "chat_messages",
        _OWN,
        Taken.ALWAYS,
        (
            *("_id", _OWN, "thread_id", "document_ids[]"),
            *("passages[].kb_id", "passages[].document_id", "citations[].kb_id", "citations[].document_id"),
        ),
    ),
    Collection("llm_providers", _OWN, Taken.WHOLE, ("_id", _OWN)),
    Collection("sources", _OWN, Taken.ALWAYS, ("_id", _OWN, "tag_ids[]", "vanished_tag_id")),
    Collection("source_items", _OWN, Taken.ALWAYS, ("_id", _OWN, "source_id", "document_id", "given_tag_ids[]")),
    # Work in progress, and its history: a restored source begins with its next run.
    Collection("source_runs", _OWN, Taken.NEVER),
    Collection("source_run_entries", _OWN, Taken.NEVER),
    # Secrets, and addresses that are unique among all installations.
    Collection("source_addresses", _OWN, Taken.WHOLE, ("_id", _OWN, "source_id")),
    Collection("source_messages", _OWN, Taken.NEVER),
    Collection("webhook_endpoints", _OWN, Taken.WHOLE, ("_id", _OWN)),
    # Work in progress, and its history.
    Collection("webhook_deliveries", _OWN, Taken.NEVER),
    Collection("uploads", _OWN, Taken.NEVER),
    Collection("jobs", _OWN, Taken.NEVER),
    Collection("job_history", _OWN, Taken.NEVER),
    Collection("idempotency_keys", _OWN, Taken.NEVER),
    Collection("rate_limits", _OWN, Taken.NEVER),
    Collection("reconcile_reports", _OWN, Taken.NEVER),
    Collection("tenant_tasks", _OWN, Taken.NEVER),
    Collection("backup_holds", _OWN, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("restores", _OWN, Taken.NEVER),
    # Of this installation: an archive does not contain others.
    Collection("backup_records", _OWN, Taken.NEVER),
    Collection("erasures", _OWN, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("leases", None, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("workers", None, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("runtime_settings", None, Taken.NEVER, keeping=Keeping.KEPT),
    Collection("schema_migrations", None, Taken.NEVER, keeping=Keeping.KEPT),
)

_BY_NAME = {collection.name: collection for collection in COLLECTIONS}


def find(name: str) -> Collection | None:
    """Return the declaration of a collection by its name in the database."""
    return _BY_NAME.get(VECTORS_PREFIX if name.startswith(VECTORS_PREFIX) else name)


def describe(name: str) -> Collection:
    """Return the declaration of a collection that is known to exist."""
    return _BY_NAME[VECTORS_PREFIX if name.startswith(VECTORS_PREFIX) else name]
