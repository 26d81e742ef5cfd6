"""Confluence: storage format as text, readers of pages, and listings of both deployments."""

from collections.abc import AsyncGenerator, Iterator

import pytest
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, InvalidInputError, PermanentError
from analytiq.ingestion.parsing.html import html_document
from analytiq.ingestion.sources.base import Connector, ItemAccess, ItemGoneError, ListedItem
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.wikis import confluence_api
from analytiq.ingestion.sources.systems.wikis.confluence_storage import DEEPEST, storage_html
from analytiq.settings import SourceSettings
from tests.contract.made_sources import opening
from tests.fakes.confluence_server import ConfluenceServer

OPERATOR = SourceSettings(private_hosts=("127.0.0.1",))
STORAGE = """
<h1>Set&uuml;p</h1>
<ac:layout><ac:layout-section ac:type="two_equal"><ac:layout-cell><p>Left.</p></ac:layout-cell>
<ac:layout-cell><p>Right &amp; <strong>bold</strong>.</p></ac:layout-cell></ac:layout-section></ac:layout>
<table><tbody><tr><th>Country</th><th>Days</th></tr><tr><td>Peru</td><td>30</td></tr></tbody></table>
<ul><li>One<ul><li>Two</li></ul></li></ul>
<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">python</ac:parameter>
<ac:plain-text-body><![CDATA[if a < b:
    pass]]></ac:plain-text-body></ac:structured-macro>
<ac:structured-macro ac:name="warning"><ac:rich-text-body><p>Hot.</p></ac:rich-text-body></ac:structured-macro>
<ac:structured-macro ac:name="expand"><ac:parameter ac:name="title">More</ac:parameter>
<ac:rich-text-body><p>Inside.</p></ac:rich-text-body></ac:structured-macro>
<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>complete</ac:task-status>
<ac:task-body>Ship</ac:task-body></ac:task><ac:task><ac:task-id>2</ac:task-id>
<ac:task-status>incomplete</ac:task-status><ac:task-body>Rest</ac:task-body></ac:task></ac:task-list>
<p>Ask <ac:link><ri:user ri:account-id="u1"/></ac:link>, see
<ac:link><ri:page ri:content-title="Rules"/></ac:link>
<ac:structured-macro ac:name="status"><ac:parameter ac:name="title">DONE</ac:parameter></ac:structured-macro></p>
<ac:structured-macro ac:name="include"><ac:parameter ac:name=""><ac:link><ri:page ri:content-title="Terms"/></ac:link>
</ac:parameter></ac:structured-macro>
<ac:image ac:alt="A beach"><ri:attachment ri:filename="beach.png"/></ac:image>
<ac:structured-macro ac:name="toc"/>
<p><a href="javascript:alert(1)">Click</a><script>evil()</script></p>
"""


@pytest.fixture
def confluence(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConfluenceServer]:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(confluence_api, "PAGE_SIZE", 20)
    with ConfluenceServer() as server:
        server.add_space("DEV", "Development", readers=("u1",), groups=("g1",))
        yield server


def connecting(confluence: ConfluenceServer, deployment: str, **more: JsonValue) -> Connector:
    is_cloud = deployment == "cloud"
    url = confluence.cloud_url if is_cloud else confluence.server_url
    login: dict[str, JsonValue] = {"token": confluence.token, **({"user": confluence.user} if is_cloud else {})}
    return opening("confluence", {"url": url, "deployment": deployment, **more}, OPERATOR, "", login)()


@pytest.fixture(params=["cloud", "server"])
async def connector(request: pytest.FixtureRequest, confluence: ConfluenceServer) -> AsyncGenerator[Connector]:
    made = connecting(confluence, request.param, attachments=True)
    yield made
    await made.close()


async def listed(connector: Connector) -> dict[str, ListedItem]:
    found = [item async for batch in connector.list_changes(None) for item in batch.items]
    assert len({item.external_id for item in found}) == len(found)
    return {item.name: item for item in found}


async def content_of(connector: Connector, item: ListedItem) -> bytes:
    return b"".join([part async for part in (await connector.fetch(item)).content])


async def test_storage_format_keeps_its_structure(confluence: ConfluenceServer, connector: Connector) -> None:
    confluence.add_page("DEV", "Guide", STORAGE)
    item = (await listed(connector))["Development/Guide"]
    text = html_document((await content_of(connector, item)).decode()).pages[0].text
    for words in (
        "# Guide\n\n## Setüp",
        "Left.\n\nRight & bold.",
        "Country: Peru; Days: 30",
        "- One\n  - Two",
        "```python\nif a < b:\n    pass\n```",
        "> Warning\n\n> Hot.",
        "More\n\nInside.",
        "- [x] Ship\n- [ ] Rest",
        "Ask @Ada Lovelace, see Rules [DONE]",
        "Included page: Terms",
        "Image: beach.png, A beach",
        "Click",
    ):
        assert words in text
    assert "javascript" not in text
    assert "evil" not in text


def test_damaged_and_deep_texts_are_read_as_far_as_they_go() -> None:
    assert "Words" in storage_html("<p>Words <b>open <ac:link></p>", {})
    deep = "<div>" * (DEEPEST + 50) + "Words" + "</div>" * (DEEPEST + 50)
    assert "Words" in storage_html(deep, {})
    assert storage_html('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><p>&e;</p>', {}).count("root:") == 0


async def test_items_carry_their_place_labels_and_files(confluence: ConfluenceServer, connector: Connector) -> None:
    home = confluence.add_page("DEV", "Home", "<p>Home.</p>")
    below = confluence.add_page("DEV", "A/B", "<p>Below.</p>", parent=home)
    confluence.add_page("DEV", "News", "<p>News.</p>", kind="blogpost")
    file = confluence.add_file(below, "notes.txt", b"Words of a file.")
    confluence.contents[below]["labels"] = ("red", "blue")
    items = await listed(connector)
    assert items.keys() == {
        "Development/Home",
        "Development/Home/A-B",
        "Development/News",
        "Development/A-B/notes.txt",
    }
    page = items["Development/Home/A-B"]
    assert page.fields.items() >= {"labels": ["red", "blue"], "space": "DEV", "parent_id": home, "type": "page"}.items()
    assert await content_of(connector, items["Development/A-B/notes.txt"]) == b"Words of a file."
    assert await connector.find(file) == items["Development/A-B/notes.txt"]
    confluence.trash(below)
    assert await connector.find(below) is None
    with pytest.raises(ItemGoneError):
        await content_of(connector, page)


async def test_moved_and_renamed_pages_keep_their_ids(confluence: ConfluenceServer, connector: Connector) -> None:
    first, second = (confluence.add_page("DEV", name, "<p>Words.</p>") for name in ("First", "Second"))
    moved = confluence.add_page("DEV", "Page", "<p>Words.</p>", parent=first)
    before = (await listed(connector))["Development/First/Page"]
    confluence.move(moved, second)
    confluence.edit(second, title="Other")
    after = (await listed(connector))["Development/Other/Page"]
    assert (after.external_id, after.version) == (before.external_id, before.version) == (moved, before.version)


async def test_restrictions_of_a_page_and_of_those_above_hold(confluence: ConfluenceServer) -> None:
    home = confluence.add_page("DEV", "Home", "<p>Words.</p>")
    parent = confluence.add_page("DEV", "Parent", "<p>Words.</p>", parent=home)
    confluence.restrict(home, ("u1", "u2"), ("g1",))
    confluence.restrict(parent, ("u2", "u3"), ("g2",))
    child = confluence.add_page("DEV", "Child", "<p>Words.</p>", parent=parent)
    confluence.add_file(child, "file.txt", b"Words.")
    confluence.add_page("DEV", "Open", "<p>Words.</p>")
    connector = connecting(confluence, "cloud", attachments=True)
    access = {name.rpartition("/")[2]: item.access for name, item in (await listed(connector)).items()}
    assert access == {
        "Home": ItemAccess(people=("u1", "u2"), groups=("g1",)),
        "Parent": ItemAccess(people=("u2",)),
        "Child": ItemAccess(people=("u2",)),
        "file.txt": ItemAccess(people=("u2",)),
        "Open": ItemAccess(people=("u1",), groups=("g1",)),
    }
    await connector.close()


async def test_accounts_without_the_search_list_without_places(confluence: ConfluenceServer) -> None:
    home = confluence.add_page("DEV", "Home", "<p>Words.</p>")
    confluence.add_page("DEV", "Below", "<p>Words.</p>", parent=home)
    confluence.refused_paths = ("/wiki/rest/api",)
    connector = connecting(confluence, "cloud")
    items = await listed(connector)
    assert {name: item.access for name, item in items.items()} == {"Development/Home": None, "Development/Below": None}
    await connector.close()


async def test_answers_with_fewer_results_than_asked_for_lack_nothing(confluence: ConfluenceServer) -> None:
    home = confluence.add_page("DEV", "Home", "<p>Words.</p>")
    for number in range(12):
        confluence.add_page("DEV", f"Page {number}", "<p>Words.</p>", parent=home)
        confluence.add_file(home, f"{number}.txt", b"Words.")
    confluence.most_results = 5
    connector = connecting(confluence, "cloud", attachments=True)
    items = await listed(connector)
    assert len(items) == 25
    assert not any(item.failure for item in items.values())
    assert "Development/Home/Page 11" in items
    await connector.close()


async def test_pages_that_the_search_lacks_fail_and_leak_nothing(confluence: ConfluenceServer) -> None:
    home = confluence.add_page("DEV", "Home", "<p>Words.</p>")
    confluence.add_page("DEV", "Below", "<p>Words.</p>", parent=home)
    confluence.restrict(home, ("u2",))
    confluence.not_searched.add(home)
    connector = connecting(confluence, "cloud")
    items = await listed(connector)
    assert "does not know it yet" in (items["Development/Home"].failure or "")
    below = items["Development/Home/Below"]
    assert (below.failure, below.access) == (None, None)
    await connector.close()


async def test_deletions_during_a_listing_hide_no_page(confluence: ConfluenceServer, connector: Connector) -> None:
    ids = [confluence.add_page("DEV", f"Page {number}", "<p>Words.</p>") for number in range(70)]

    def trash_the_first(_: str) -> None:
        if len(confluence.asked) > 4 and confluence.contents[ids[0]]["status"] == "current":
            for each in ids[:5]:
                confluence.trash(each)

    confluence.before_answer = trash_the_first
    found = await listed(connector)
    assert {item.external_id for item in found.values()} >= set(ids[5:])


async def test_expired_positions_begin_the_space_again(confluence: ConfluenceServer) -> None:
    ids = {confluence.add_page("DEV", f"Page {number}", "<p>Words.</p>") for number in range(50)}
    connector = connecting(confluence, "cloud")
    batches = connector.list_changes(None)
    first = await anext(batches)
    await batches.aclose()
    confluence.expire_positions()
    rest = [item.external_id async for batch in connector.list_changes(first.cursor) for item in batch.items]
    assert set(rest) == ids
    await connector.close()


async def test_only_the_named_spaces_are_listed(confluence: ConfluenceServer, connector: Connector) -> None:
    del connector
    confluence.add_space("OPS", "Operations")
    for space in ("DEV", "OPS"):
        confluence.add_page(space, "Home", "<p>Words.</p>")
    for deployment in ("cloud", "server"):
        one = connecting(confluence, deployment, spaces=["OPS"])
        await one.check()
        assert (await listed(one)).keys() == {"Operations/Home"}
        await one.close()
        other = connecting(confluence, deployment, spaces=["OPS", "NONE"])
        with pytest.raises(AnalytiqError, match="NONE"):
            await other.check()
        assert (await anext(other.list_changes(None))).problems
        await other.close()


async def test_refusals_are_told(confluence: ConfluenceServer, connector: Connector) -> None:
    confluence.script = [(404, {})]
    with pytest.raises(InvalidInputError, match="deployment"):
        await connector.check()
    confluence.token = "another"
    with pytest.raises(CredentialsRefusedError, match="Confluence"):
        await connector.check()
    confluence.script = [(400, {})]
    with pytest.raises(PermanentError):
        await connector.check()
