"""The required permission of each operation, and whether it is audited: the only place for both.

An operation missing here prevents the API from starting.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from starlette.types import Scope

from analytiq.models.account import Permission
from analytiq.models.organization import Countable

READ, WRITE, ADMIN, OWNER = Permission


@dataclass(frozen=True, slots=True)
class Rule:
    """The requirements of an operation. Audited operations are recorded with the actor and the affected ids.

    `makes` is the kind of object with a limit in each organization.
    """

    permission: Permission
    is_audited: bool = False
    makes: Countable | None = None


_READS = (
    "get_organization", "list_tags", "get_tag", "list_documents", "get_document", "get_document_status",
    "get_document_counts", "get_document_log", "download_document", "get_document_text", "locate_passage",
    "get_document_blocks", "get_metadata_fields", "list_knowledge_bases", "list_chunks",
    "get_knowledge_base", "list_knowledge_base_documents", "list_jobs", "get_job", "get_job_counts",
    "get_job_errors", "list_llm_providers", "list_models", "get_default_models", "get_daily_usage",
    "get_usage", "get_llm_usage", "get_quota", "get_retention", "list_members", "list_prompts", "get_prompt",
    "list_prompt_versions", "list_prompt_runs", "get_prompt_run", "list_prompt_results", "get_prompt_result",
    "list_reconcile_runs", "get_reconcile_run", "list_chat_threads", "get_chat_thread", "list_chat_messages",
    "get_chat_message", "follow_chat_message", "watch_organization", "get_organization_settings", "get_storage",
    "get_source_kinds", "list_sources", "get_source", "list_source_items", "list_source_runs", "get_source_run",
    "list_source_run_items", "list_tables", "get_table",
    "get_data_resource_status", "get_data_resource_logs", "get_embeddings_status",
)  # fmt: skip
_QUESTIONS = (
    "search_knowledge_base", "search_knowledge_bases", "explain_search", "forecast_knowledge_base",
    "preview_chunks",
    "create_chat_thread", "ask_chat_thread", "stop_chat_message", "search_documents_by_path", "get_document_progress",
    "continue_chat_message", "query_table", "search_data_resources",
)  # fmt: skip
"""Permission to read includes asking: questions change nothing but conversations."""
_WRITES = (
    "create_tag", "update_tag", "upload_documents", "update_document", "change_documents", "extract_document",
    "update_document_password",
    "retry_documents",
    "create_knowledge_base", "update_knowledge_base", "move_knowledge_base",
    "replay_jobs", "replay_job", "cancel_job", "cancel_jobs",
    "create_prompt", "create_embeddings",
    "test_source", "run_source", "cancel_source_run",
    "update_prompt", "run_prompt", "cancel_prompt_run", "update_prompt_result", "update_chat_thread",
)  # fmt: skip
_DELETES = ("delete_tag", "delete_document", "delete_knowledge_base", "delete_prompt", "delete_chat_thread")
_EXPORTS = ("download_prompt_results", "download_source")
_ADMINISTRATION_READ = (
    "list_access_tokens", "list_erasures", "get_erasure", "list_invitations", "list_audit_entries",
    "get_workers", "list_backups", "get_source_inbound",
    "list_webhooks", "get_webhook", "list_webhook_deliveries", "get_webhook_delivery",
)  # fmt: skip
_ADMINISTRATION = (
    "update_organization", "declare_metadata_fields", "create_access_token", "revoke_access_token",
    "take_over_access_token", "put_llm_provider",
    "delete_llm_provider", "test_llm_provider", "create_erasure", "update_retention", "create_invitation",
    "delete_invitation", "take_over_invitation", "update_member", "delete_member", "create_reconcile_run",
    "create_knowledge_base_reconcile_run", "update_organization_settings",
    "create_source", "test_new_source", "begin_source_sign_in", "update_source", "delete_source",
    "create_source_inbound", "delete_source_inbound",
    "create_data_resource", "delete_data_resource",
    "create_webhook", "update_webhook", "delete_webhook", "update_webhook_secret", "test_webhook",
    "replay_webhook_delivery", "replay_webhook_deliveries",
)  # fmt: skip
_OWNERSHIP = ("delete_organization",)

RULES: dict[str, Rule] = {
    **dict.fromkeys((*_READS, *_QUESTIONS), Rule(READ)),
    **dict.fromkeys(_EXPORTS, Rule(READ, is_audited=True)),
    **dict.fromkeys(_WRITES, Rule(WRITE)),
    **dict.fromkeys(_DELETES, Rule(WRITE, is_audited=True)),
    **dict.fromkeys(_ADMINISTRATION_READ, Rule(ADMIN)),
    **dict.fromkeys(_ADMINISTRATION, Rule(ADMIN, is_audited=True)),
    **dict.fromkeys(_OWNERSHIP, Rule(OWNER, is_audited=True)),
}

_MAKING = {
    "create_knowledge_base": Countable.KNOWLEDGE_BASES,
    "create_tag": Countable.TAGS,
    "create_prompt": Countable.PROMPTS,
    "create_source": Countable.SOURCES,
    "create_data_resource": Countable.SOURCES,
    "create_embeddings": Countable.KNOWLEDGE_BASES,
    "create_access_token": Countable.ACCESS_TOKENS,
    "create_invitation": Countable.INVITATIONS,
}
RULES.update({operation: replace(RULES[operation], makes=made) for operation, made in _MAKING.items()})


def rule_of(scope: Scope) -> Rule:
    """Return the rule of a routed request's operation."""
    return RULES[operation_of(scope)]


def operation_of(scope: Scope) -> str:
    """Return the operation's id in the schema."""
    return str(scope["route"].operation_id)


def check_complete(operation_ids: Iterable[str]) -> None:
    """Refuse to start with an operation without a rule."""
    missing = sorted(set(operation_ids) - RULES.keys())
    if missing:
        raise RuntimeError(f"api/permissions.py does not say what these operations need: {', '.join(missing)}")
