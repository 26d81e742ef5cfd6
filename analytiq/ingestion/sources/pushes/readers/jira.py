"""Webhooks of Jira: events name issues, and the files that came to them or went."""

from collections.abc import Iterator, Mapping
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

MOST_FILES = 50
"""Most files of an event, as the source reads of an issue."""
_ISSUES = (("issue", "id"), ("worklog", "issueId"), ("issueLink", "sourceIssueId"), ("issueLink", "destinationIssueId"))
_WITH_ALL_FILES = frozenset({"jira:issue_created", "jira:issue_deleted"})


def read_push(headers: Mapping[str, str], body: bytes, *, credentials: PushCredentials, now: datetime) -> PushAnswer:
    """See PushReader.

    Source: https://developer.atlassian.com/cloud/jira/platform/webhooks/ (X-Hub-Signature).
    """
    del now  # Jira repeats a delivery with the time of the event: equal bodies are one message.
    scheme, _, given = header(headers, "x-hub-signature").partition("=")
    if scheme != "sha256":
        raise PushRefusedError("The header 'x-hub-signature' has another scheme than sha256.")
    require_signature(given, body, credentials.secrets)
    event = json_object(body)
    name, issue_id = text_at(event, "webhookEvent") or "", text_at(event, "issue", "id")
    found = [text_at(event, *place) for place in _ISSUES]
    if issue_id is not None:
        files = _all_files(event) if name in _WITH_ALL_FILES else _changed_files(event)
        found += [f"{issue_id}-file-{file_id}" for file_id in list(files)[:MOST_FILES]]
    return PushAnswer(body_hash(body), external_ids=tuple(dict.fromkeys(each for each in found if each is not None)))


def _all_files(event: Mapping[str, JsonValue]) -> Iterator[str]:
    issue = event.get("issue")
    fields = issue.get("fields") if isinstance(issue, dict) else None
    files = fields.get("attachment") if isinstance(fields, dict) else None
    for file in files if isinstance(files, list) else []:
        if (file_id := text_at(file, "id")) is not None:
            yield file_id


def _changed_files(event: Mapping[str, JsonValue]) -> Iterator[str]:
    changes = event.get("changelog")
    items = changes.get("items") if isinstance(changes, dict) else None
    for item in items if isinstance(items, list) else []:
        if text_at(item, "field") == "Attachment":
            for side in ("to", "from"):
                if (file_id := text_at(item, side)) is not None:
                    yield file_id
