"""Webhooks of GitHub: events name the issue, and commits the repository."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from analytiq.ingestion.sources.pushes.protocol import (
    PushAnswer,
    PushCredentials,
    PushRefusedError,
    body_hash,
    header,
    json_object,
    require_signature,
    text_at,
)

_OF_ISSUES = frozenset(
    {"issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"}
)
_OF_REPOSITORIES = frozenset({"push", "repository", "gollum", "delete", "member", "public"})


def read_push(headers: Mapping[str, str], body: bytes, *, credentials: PushCredentials, now: datetime) -> PushAnswer:
    """See PushReader. The webhook's content type must be application/json.

    Source: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries.
    """
    del now  # GitHub signs no time, and not its delivery's id: equal bodies are one message.
    scheme, _, given = header(headers, "x-hub-signature-256").partition("=")
    if scheme != "sha256":
        raise PushRefusedError("The header 'x-hub-signature-256' has another scheme than sha256.")
    require_signature(given, body, credentials.secrets)
    event, name = json_object(body), headers.get("x-github-event", "")
    repository = text_at(event, "repository", "id")
    number = text_at(event, "issue", "number") or text_at(event, "pull_request", "number")
    message_id = body_hash(body)
    if name in _OF_ISSUES and repository is not None and number is not None:
        return PushAnswer(message_id, external_ids=(f"{repository}:issue:{number}",))
    is_whole = name in _OF_REPOSITORIES and repository is not None and _is_on_default_branch(event)
    return PushAnswer(message_id, is_whole=is_whole)


def _is_on_default_branch(event: dict[str, JsonValue]) -> bool:
    """Return False for commits of another branch."""
    reference, branch = text_at(event, "ref"), text_at(event, "repository", "default_branch")
    return reference is None or "/" not in reference or reference == f"refs/heads/{branch}"
