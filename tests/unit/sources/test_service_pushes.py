"""Webhooks of services: what they sign is read, and nothing else."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.pushes.protocol import PushAnswer, PushCredentials, PushRefusedError
from analytiq.ingestion.sources.pushes.registry import BUILT_IN_READERS, push_reader_of

SECRET = "a secret of the service"
NOW = datetime.fromtimestamp(1_800_000_000, UTC)
ISSUE = {"action": "edited", "issue": {"number": 7}, "repository": {"id": 42, "default_branch": "main"}}
PAGE = "0d8f3a52-6d5c-4f0e-9a3c-5a2e1b7c9d10"


def signed(kind: str, body: bytes, *, secret: str = SECRET, at: int = 1_800_000_000) -> dict[str, str]:
    """Return the headers by which a service signs."""
    prefix = f"v0:{at}:".encode() if kind == "slack" else b""
    digest = hmac.new(secret.encode(), prefix + body, hashlib.sha256).hexdigest()
    return {
        "slack": {"x-slack-request-timestamp": str(at), "x-slack-signature": f"v0={digest}"},
        "github": {"x-hub-signature-256": f"sha256={digest}", "x-github-event": "issues"},
        "notion": {"x-notion-signature": f"sha256={digest}"},
        "confluence": {"x-hub-signature": f"sha256={digest}"},
        "jira": {"x-hub-signature": f"sha256={digest}"},
    }[kind]


def read(kind: str, headers: Mapping[str, str], body: bytes, *, first: bool = False) -> PushAnswer:
    reader = push_reader_of(kind)
    assert reader is not None
    credentials = PushCredentials([SecretStr("another"), SecretStr(SECRET)], accepts_first=first)
    return reader(headers, body, credentials=credentials, now=NOW)


def read_event(kind: str, event: Any, **headers: str) -> PushAnswer:
    body = json.dumps(event).encode()
    return read(kind, {**signed(kind, body), **headers}, body)


@pytest.mark.parametrize("kind", BUILT_IN_READERS)
def test_forged_and_unsigned_requests_are_refused(kind: str) -> None:
    body = json.dumps(ISSUE).encode()
    good = signed(kind, body)
    read(kind, good, body)
    for headers, sent in (
        (signed(kind, body, secret="forged"), body),
        (good, body + b" "),
        ({}, body),
        ({name: value.upper() for name, value in good.items()}, body + b"x"),
        (dict.fromkeys(good, "sha1=00"), body),
        (dict.fromkeys(good, "ÿ"), body),
        (dict.fromkeys(good, ""), body),
    ):
        with pytest.raises(PushRefusedError):
            read(kind, headers, sent)
    for odd in (b"[]", b"\xff", b"", b"{"):
        with pytest.raises(InvalidInputError):
            read(kind, signed(kind, odd), odd)


def test_slack_refuses_old_requests_and_answers_the_challenge() -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"})
    for at in (1_800_000_000 - 301, 1_800_000_000 + 301):
        with pytest.raises(PushRefusedError):
            read("slack", signed("slack", body.encode(), at=at), body.encode())
    answer = read("slack", signed("slack", body.encode()), body.encode())
    assert answer.reply == {"challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}
    assert answer.external_ids == ()


def test_message_of_slack_names_its_thread_and_day() -> None:
    event = {"type": "message", "channel": "C1", "ts": "1700000100.000200", "thread_ts": "1699900000.000100"}
    answer = read_event("slack", {"type": "event_callback", "event_id": "Ev1", "event": event})
    assert answer.message_id == "Ev1"
    assert answer.external_ids == ("C1:2023-11-14", "C1:2023-11-13", "C1:1699900000.000100")
    deleted = {"type": "message", "subtype": "message_deleted", "channel": "C1", "deleted_ts": "1700000100.000200"}
    answer = read_event("slack", {"type": "event_callback", "event_id": "Ev2", "event": deleted})
    assert answer.external_ids == ("C1:2023-11-14",)
    odd = {"type": "message", "channel": "C1", "ts": "9" * 40, "thread_ts": {"a": 1}}
    assert read_event("slack", {"type": "event_callback", "event": odd}).external_ids == ()


def test_event_of_github_names_the_issue_and_commits_the_repository() -> None:
    assert read_event("github", ISSUE).external_ids == ("42:issue:7",)
    pushed = {"ref": "refs/heads/main", "repository": ISSUE["repository"]}
    assert read_event("github", pushed, **{"x-github-event": "push"}).is_whole
    other = {**pushed, "ref": "refs/heads/feature/main"}
    assert not read_event("github", other, **{"x-github-event": "push"}).is_whole
    ping = read_event("github", {"zen": "Keep it logically awesome.", **ISSUE}, **{"x-github-event": "ping"})
    assert (ping.external_ids, ping.is_whole) == ((), False)


def test_notion_tells_its_secret_once() -> None:
    told = json.dumps({"verification_token": "secret_abc"}).encode()
    learned = read("notion", {}, told, first=True).learned_secret
    assert learned is not None
    assert learned.get_secret_value() == "secret_abc"
    with pytest.raises(PushRefusedError):
        read("notion", {}, told, first=False)
    with pytest.raises(PushRefusedError):
        read("notion", {}, json.dumps({"verification_token": "x", "entity": {}}).encode(), first=True)


def test_events_of_notion_and_confluence_name_pages() -> None:
    event = {"id": "e1", "type": "page.deleted", "entity": {"id": PAGE, "type": "page"}}
    answer = read_event("notion", event)
    assert (answer.message_id, answer.external_ids) == ("e1", (PAGE,))
    assert read_event("notion", {"id": "e2", "entity": {"id": PAGE, "type": "database"}}).is_whole
    page = {"event": "page_updated", "page": {"id": 4711}, "attachments": [{"id": "att5"}, 7]}
    assert read_event("confluence", page).external_ids == ("4711", "att5")


def test_event_of_jira_names_the_issue_and_its_files() -> None:
    fields = {"attachment": [{"id": "7"}, {"id": 8}, "odd"], "summary": "A pump"}
    issue = {"id": "10001", "key": "OPS-1", "fields": fields}
    comment = {"webhookEvent": "comment_created", "comment": {"id": "5"}, "issue": {"id": "10001", "key": "OPS-1"}}
    assert read_event("jira", comment).external_ids == ("10001",)
    deleted = {"webhookEvent": "jira:issue_deleted", "issue": issue}
    assert read_event("jira", deleted).external_ids == ("10001", "10001-file-7", "10001-file-8")
    changes = [{"field": "Attachment", "from": None, "to": "9"}, {"field": "status", "from": "1", "to": "3"}, "odd"]
    updated = {"webhookEvent": "jira:issue_updated", "issue": issue, "changelog": {"items": changes}}
    assert read_event("jira", updated).external_ids == ("10001", "10001-file-9")
    linked = {"webhookEvent": "issuelink_created", "issueLink": {"sourceIssueId": 1, "destinationIssueId": 2}}
    assert read_event("jira", linked).external_ids == ("1", "2")
    many = {
        "webhookEvent": "jira:issue_created",
        "issue": {"id": "1", "fields": {"attachment": [{"id": n} for n in range(900)]}},
    }
    assert len(read_event("jira", many).external_ids) == 51
    # A run of changes would not miss its issues; the daily list of all does.
    gone = read_event("jira", {"webhookEvent": "project_deleted", "project": {"id": 3}})
    assert (gone.external_ids, gone.is_whole) == ((), False)
