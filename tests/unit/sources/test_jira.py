"""Jira: documents of Atlassian as text, readers of issues, and listings of both deployments."""

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from pydantic import JsonValue

from analytiq.errors import InvalidInputError, RateLimitedError
from analytiq.ingestion.parsing.html import html_document
from analytiq.ingestion.sources.base import Connector, ItemAccess, ItemGoneError, ItemRefusedError, ListedItem
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.ingestion.sources.systems.wikis import jira_api
from analytiq.ingestion.sources.systems.wikis.adf import DEEPEST, adf_html
from analytiq.settings import SourceSettings
from tests.contract.made_sources import opening
from tests.fakes.jira_server import JiraServer, adf, node, paragraph, text

OPERATOR = SourceSettings(private_hosts=("127.0.0.1",))


@pytest.fixture
def jira(monkeypatch: pytest.MonkeyPatch) -> Iterator[JiraServer]:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(jira_api, "PAGE_SIZE", 20)
    with JiraServer() as server:
        yield server


def connecting(jira: JiraServer, deployment: str, *, since: str | None = None, **more: JsonValue) -> Connector:
    is_cloud = deployment == "cloud"
    url = jira.cloud_url if is_cloud else jira.server_url
    login: dict[str, JsonValue] = {"token": jira.token, **({"user": jira.user} if is_cloud else {})}
    made = opening("jira", {"url": url, "deployment": deployment, **more}, OPERATOR, "", login)()
    if since is not None:
        context: Any = made._context  # pyright: ignore[reportAttributeAccessIssue]
        object.__setattr__(context, "since", since)
    return made


@pytest.fixture(params=["cloud", "server"])
async def connector(request: pytest.FixtureRequest, jira: JiraServer) -> AsyncGenerator[Connector]:
    made = connecting(jira, request.param, attachments=True)
    yield made
    await made.close()


async def listed(connector: Connector) -> dict[str, ListedItem]:
    found = [item async for batch in connector.list_changes(None) for item in batch.items]
    assert len({item.external_id for item in found}) == len(found)
    return {item.name.rpartition("/")[2].partition(" ")[2] or item.name: item for item in found}


async def content_of(connector: Connector, item: ListedItem) -> bytes:
    return b"".join([part async for part in (await connector.fetch(item)).content])


async def text_of(connector: Connector, item: ListedItem) -> str:
    return html_document((await content_of(connector, item)).decode()).pages[0].text


def test_documents_of_atlassian_keep_their_structure() -> None:
    cells = [node("tableRow", *[node(kind, paragraph(words)) for words in row]) for kind, row in ROWS]
    document = adf(
        node("heading", text("Steps"), level=1),
        node("table", *cells),
        node("orderedList", node("listItem", paragraph("One"), node("bulletList", node("listItem", paragraph("Two"))))),
        node("taskList", node("taskItem", text("Ship"), state="DONE"), node("taskItem", text("Rest"), state="TODO")),
        node("codeBlock", text("if a < b:\n    pass"), language="python"),
        node("panel", paragraph("Hot."), panelType="warning"),
        node("expand", paragraph("Inside."), title="More"),
        node("paragraph", text("bold", {"type": "strong"}), text(" and "), node("mention", text="@Ada", id="u1")),
        node("paragraph", node("date", timestamp="1767225600000"), node("status", text="DONE")),
        node("mediaSingle", node("media", alt="beach.png", type="file")),
        node("paragraph", text("Click", {"type": "link", "attrs": {"href": "javascript:alert(1)"}})),
        node("of_the_future", paragraph("New words.")),
    )
    html = adf_html(document)
    found = html_document(f"<h1>T</h1>{html}").pages[0].text
    for words in (
        "### Steps",
        "Country: Peru; Days: 30",
        "1. One\n  - Two",
        "- [x] Ship\n- [ ] Rest",
        "```python\nif a < b:\n    pass\n```",
        "> Warning\n\n> Hot.",
        "More\n\nInside.",
        "bold and @Ada",
        "2026-01-01[DONE]",
        "Attachment: beach.png",
        "Click",
        "New words.",
    ):
        assert words in found
    assert "javascript" not in html


ROWS = (("tableHeader", ("Country", "Days")), ("tableCell", ("Peru", "30")))


def test_odd_and_deep_documents_are_read_as_far_as_they_go() -> None:
    deep = paragraph("Words.")
    for _ in range(DEEPEST + 5):
        deep = node("blockquote", deep)
    assert "Words." not in adf_html(adf(deep))
    assert adf_html(None) == adf_html({"type": 5, "content": "x"}) == ""
    assert adf_html("Plain\n<b>") == "<p>Plain<br>&lt;b&gt;</p>"


async def test_issue_with_comments_is_one_document(jira: JiraServer, connector: Connector) -> None:
    issue = jira.add_issue("OPS", "Printer burns", adf(paragraph("It smokes.")), rendered="<p>It smokes.</p>")
    is_cloud = "server" not in str(getattr(connector, "_url", "")) and "/jira" not in str(
        getattr(connector, "_url", "")
    )
    for number in range(25):
        words = f"Comment {number}."
        jira.comment(issue, adf(paragraph(words)) if is_cloud else f"<p>{words}</p>")
    secret = "Of some only."
    jira.comment(issue, adf(paragraph(secret)) if is_cloud else secret, visibility={"type": "role", "value": "Admins"})
    item = (await listed(connector))["Printer burns"]
    assert item.source_url is not None
    assert item.source_url.endswith(f"/browse/OPS-{issue}")
    fields = {"status": "Open", "type": "Bug", "priority": "High", "components": ["Core"], "reporter": "Grace Hopper"}
    assert item.fields.items() >= fields.items()
    shown = await text_of(connector, item)
    for words in (f"# OPS-{issue} Printer burns", "- Status: Open", "## Description\n\nIt smokes.", "Comment 24."):
        assert words in shown
    assert "### Ada Lovelace, 2026-01-05T09:00" in shown
    assert secret not in shown


async def test_files_are_items_of_their_own(jira: JiraServer, connector: Connector) -> None:
    issue = jira.add_issue("OPS", "Printer burns")
    jira.add_file(issue, "a/b log.txt", b"Smoke.")
    items = await listed(connector)
    (file,) = [item for item in items.values() if "-file-" in item.external_id]
    assert file.name.endswith("Printer burns/a-b log.txt")
    assert await content_of(connector, file) == b"Smoke."
    assert await connector.find(file.external_id) == file
    jira.delete(issue)
    assert await connector.find(file.external_id) is None
    assert await connector.find(issue) is None
    with pytest.raises(ItemGoneError):
        await content_of(connector, file)
    with pytest.raises(ItemGoneError):
        await content_of(connector, items["Printer burns"])


@pytest.mark.parametrize("deployment", ["cloud", "server"])
async def test_changes_since_the_last_run_are_told(deployment: str, jira: JiraServer) -> None:
    ids = [jira.add_issue("OPS", f"Issue {number}") for number in range(50)]
    jira.tick(600)
    whole = connecting(jira, deployment)
    batches = [batch async for batch in whole.list_changes(None)]
    assert not any(batch.is_delta for batch in batches)
    assert not any(batch.next_since for batch in batches[:-1])
    await whole.close()
    jira.tick(5)
    jira.edit(ids[7], summary="Edited")
    new = jira.add_issue("OPS", "New")
    jira.tick(30)
    delta = connecting(jira, deployment, since=batches[-1].next_since)
    changes = [batch async for batch in delta.list_changes(None)]
    assert all(batch.is_delta for batch in changes)
    assert {item.external_id for batch in changes for item in batch.items} == {ids[7], new}
    await delta.close()


async def test_clock_that_went_back_and_a_day_without_a_whole_list_list_all(jira: JiraServer) -> None:
    issue = jira.add_issue("OPS", "Issue")
    jira.tick(600)
    old, recent, future = "2026-01-01T00:00:00+00:00", jira.now.isoformat(), "2027-01-01T00:00:00+00:00"
    for since, is_delta in (([recent, recent], True), ([future, recent], False), ([recent, old], False)):
        jira.tick(5)
        connector = connecting(jira, "cloud", since=json.dumps(since))
        (batch,) = [batch async for batch in connector.list_changes(None)]
        assert (batch.is_delta, [item.external_id for item in batch.items]) == (is_delta, [] if is_delta else [issue])
        await connector.close()


async def test_deletions_during_a_listing_hide_no_issue(jira: JiraServer, connector: Connector) -> None:
    ids = [jira.add_issue("OPS", f"Issue {number}") for number in range(70)]

    def delete_the_first(path: str) -> None:
        if "search" in path and "user" not in path and len(jira.asked) > 3 and ids[0] in jira.issues:
            for each in ids[:5]:
                jira.delete(each)

    jira.before_answer = delete_the_first
    found = await listed(connector)
    assert ids[0] not in jira.issues
    assert {item.external_id for item in found.values()} >= set(ids[5:])


async def test_expired_positions_begin_the_search_again(jira: JiraServer) -> None:
    ids = {jira.add_issue("OPS", f"Issue {number}") for number in range(50)}
    connector = connecting(jira, "cloud")
    batches = connector.list_changes(None)
    first = await anext(batches)
    await batches.aclose()
    jira.expire_positions()
    rest = [item.external_id async for batch in connector.list_changes(first.cursor) for item in batch.items]
    assert set(rest) == ids
    await connector.close()


async def test_moved_issues_keep_their_ids(jira: JiraServer, connector: Connector) -> None:
    issue = jira.add_issue("OPS", "Issue")
    jira.edit(issue, project="DEV", key="DEV-1")
    item = (await listed(connector))["Issue"]
    assert (item.external_id, item.name) == (issue, "DEV project/DEV-1 Issue")


async def test_readers_are_those_of_the_project_or_of_the_security_level(jira: JiraServer) -> None:
    readers = tuple(f"u{number}" for number in range(25))
    jira.readers["OPS"] = ("a user without the right", *readers)
    jira.add_issue("OPS", "Open")
    known = jira.add_issue("OPS", "Known", security={"id": "1", "name": "Staff"})
    jira.readers[f"OPS-{known}"] = ("u1",)
    jira.add_issue("OPS", "Unknown", security={"id": "2", "name": "Board"})
    jira.add_issue("DEV", "Elsewhere")
    connector = connecting(jira, "cloud")
    assert {name: item.access for name, item in (await listed(connector)).items()} == {
        "Open": ItemAccess(people=readers),
        "Known": ItemAccess(people=("u1",)),
        "Unknown": ItemAccess(),
        "Elsewhere": None,
    }
    await connector.close()


async def test_projects_and_queries_choose_issues(jira: JiraServer) -> None:
    jira.add_issue("OPS", "One", labels=("red",))
    jira.add_issue("OPS", "Two")
    other = jira.add_issue("DEV", "Three", labels=("red",))
    for deployment in ("cloud", "server"):
        connector = connecting(jira, deployment, projects=["OPS"], jql="labels = red")
        await connector.check()
        assert (await listed(connector)).keys() == {"One"}
        assert await connector.find(other) is None
        await connector.close()
        wrong = connecting(jira, deployment, jql="colour = red")
        with pytest.raises(InvalidInputError, match="refuses the query"):
            await wrong.check()
        await wrong.close()
    with pytest.raises(InvalidInputError, match="ORDER BY"):
        validated(
            load_kind("jira").settings_schema, {"url": jira.cloud_url, "jql": "a = b order  by c"}, field="settings"
        )


async def test_refusals_are_told(jira: JiraServer, connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = jira.add_issue("OPS", "Issue")
    for _ in range(45):
        jira.comment(issue, adf())
    item = (await listed(connector))["Issue"]
    monkeypatch.setattr(jira_api, "MOST_COMMENTS", 20)
    with pytest.raises(ItemRefusedError, match="comments"):
        await content_of(connector, item)
    jira.script = [(429, {"Retry-After": "90"})]
    with pytest.raises(RateLimitedError, match="Jira"):
        await listed(connector)
    jira.script = [(404, {})]
    with pytest.raises(InvalidInputError, match="deployment"):
        await connector.check()
    jira.token = "another"
    with pytest.raises(CredentialsRefusedError, match="Jira"):
        await connector.check()
