"""Notion: blocks and properties as text, and a listing that survives what the service does."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

import pytest
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, PermanentError, RateLimitedError
from analytiq.ingestion.parsing.html import html_document
from analytiq.ingestion.sources.base import Connector, ItemGoneError, ItemRefusedError, KnownItem, ListedItem
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds import notion as kind_module
from analytiq.ingestion.sources.systems.wikis import notion_api
from analytiq.ingestion.sources.systems.wikis.notion_api import NotionApi
from analytiq.ingestion.sources.systems.wikis.notion_places import Places
from analytiq.settings import SourceSettings
from tests.contract.made_sources import opening
from tests.fakes.notion_server import NotionServer, block, paragraph, rich

OPERATOR = SourceSettings(private_hosts=("127.0.0.1",))
CELLS = (("Country", "Days"), ("Peru", "30"))
TABLE_ROWS = [block("table_row", cells=[rich(left), rich(right)]) for left, right in CELLS]


@pytest.fixture
def notion(monkeypatch: pytest.MonkeyPatch) -> Iterator[NotionServer]:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)
    with NotionServer() as server:
        yield server


@pytest.fixture
async def connector(notion: NotionServer) -> AsyncGenerator[Connector]:
    made = connecting(notion)
    yield made
    await made.close()


def connecting(notion: NotionServer, *roots: str) -> Connector:
    settings: dict[str, JsonValue] = {"api_url": notion.url, "requests_per_second": 100, "roots": list(roots)}
    return opening("notion", settings, OPERATOR, "", {"token": notion.token})()


async def listed(connector: Connector) -> dict[str, ListedItem]:
    return {item.name: item async for batch in connector.list_changes(None) for item in batch.items}


async def text_of(connector: Connector, item: ListedItem) -> str:
    content = b"".join([part async for part in (await connector.fetch(item)).content])
    return html_document(content.decode()).pages[0].text


async def test_blocks_keep_their_structure(notion: NotionServer, connector: Connector) -> None:
    at_once = block("to_do", "at once", checked=True)
    columns = [block("column", None, paragraph(words)) for words in ("Left.", "Right.")]
    notion.add_page(
        "Leave",
        block("heading_1", "Overview"),
        block("table", None, *TABLE_ROWS, has_column_header=True),
        block("numbered_list_item", "Ask", block("bulleted_list_item", "by mail", at_once)),
        block("toggle", "More", paragraph("Inside.")),
        block("column_list", None, *columns),
        block("callout", "Careful.", icon={"type": "emoji", "emoji": "!"}),
        block("code", "if a < b:\n    pass", language="python"),
        block("equation", expression="a < b"),
        block("child_page", title="Below"),
        block("file", name="plan.pdf", type="file", file={"url": "https://s3.example.com/x/plan.pdf?signature=1"}),
        block("of_the_future", "New words."),
        block("bookmark", url="javascript:alert(1)"),
    )  # fmt: skip
    notion.tick(10)
    items = await listed(connector)
    text = await text_of(connector, items["Leave"])
    for words in (
        "# Leave\n\n## Overview",
        "Country: Peru; Days: 30",
        "1. Ask\n  - by mail\n    - [x] at once",
        "More\n\nInside.",
        "Left.\n\nRight.",
        "> ! Careful.",
        "```python\nif a < b:\n    pass\n```",
        "$$a < b$$",
        "Below",
        "File: plan.pdf",
        "New words.",
    ):
        assert words in text
    assert "signature" not in text


async def test_rows_carry_their_properties(notion: NotionServer, connector: Connector) -> None:
    source = notion.add_database("Tasks", notion.add_page("Home"))
    notion.add_page(
        "Ship it",
        parent=source,
        Status={"type": "status", "status": {"name": "Open"}},
        Tags={"type": "multi_select", "multi_select": [{"name": "a"}, {"name": "b"}]},
        Due={"type": "date", "date": {"start": "2026-03-01", "end": "2026-03-05"}},
        Sum={"type": "formula", "formula": {"type": "number", "number": 4.5}},
        Total={"type": "rollup", "rollup": {"type": "array", "array": [{"type": "number", "number": 1}]}},
        Done={"type": "checkbox", "checkbox": False},
        Key={"type": "unique_id", "unique_id": {"prefix": "T", "number": 7}},
        Empty={"type": "url", "url": None},
        Odd={"type": "people", "people": "nobody"},
    )
    notion.tick(10)
    item = (await listed(connector))["Home/Tasks/Ship it"]
    properties = {"Status": "Open", "Tags": ["a", "b"], "Due": "2026-03-01/2026-03-05", "Sum": 4.5, "Total": ["1"]}
    assert item.fields.items() >= {**properties, "Done": False, "Key": "T-7", "database": "Tasks"}.items()
    assert not item.fields.keys() & {"Empty", "Odd"}
    assert "- Tags: a, b\n- Due: 2026-03-01/2026-03-05" in await text_of(connector, item)


async def test_moved_and_renamed_pages_keep_their_ids_and_trashed_ones_go(
    notion: NotionServer, connector: Connector
) -> None:
    first, second = notion.add_page("First"), notion.add_page("Second")
    moved, trashed = notion.add_page("Page", parent=first), notion.add_page("Old")
    notion.tick(10)
    assert (await listed(connector))["First/Page"].external_id == moved
    notion.move(moved, second)
    notion.edit(second, title="Two/B\n")
    notion.trash(trashed)
    notion.tick(10)
    items = await listed(connector)
    assert {name: item.external_id for name, item in items.items()} == {
        "First": first,
        "Two-B": second,
        "Two-B/Page": moved,
    }
    assert await connector.find(trashed) is None


async def test_edits_within_a_minute_are_told_apart(notion: NotionServer, connector: Connector) -> None:
    page = notion.add_page("Page", paragraph("One."))
    before = (await listed(connector))["Page"].version
    notion.tick(0.1)
    notion.edit(page, paragraph("Two."))
    assert (await listed(connector))["Page"].version != before
    notion.tick(10)
    settled = (await listed(connector))["Page"].version
    notion.tick(10)
    assert (await listed(connector))["Page"].version == settled


async def test_pages_edited_while_they_are_listed_hide_none(notion: NotionServer, connector: Connector) -> None:
    ids = [notion.add_page(f"Page {number}") for number in range(30)]
    notion.most_results = 5
    notion.tick(10)
    edited: list[str] = []

    def edit_the_next(path: str) -> None:
        # Notion's position is the page that comes next: once edited, it is at the end.
        if path == "/v1/search" and len(notion.asked) == 3 and not edited:
            in_order = sorted(notion.pages.values(), key=lambda each: (each["last_edited_time"], each["id"]))
            edited.append(in_order[5]["id"])
            notion.edit(edited[0], paragraph("New."))

    notion.before_answer = edit_the_next
    found = await listed(connector)
    assert edited
    assert {item.external_id for item in found.values()} == set(ids)


async def test_expired_positions_begin_the_listing_again(notion: NotionServer) -> None:
    for number in range(110):
        notion.add_page(f"Page {number:02}")
    notion.tick(10)
    first = connecting(notion)
    batches = first.list_changes(None)
    cursor = (await anext(batches)).cursor
    await batches.aclose()
    await first.close()
    for page in list(notion.pages.values()):
        notion.trash(page["id"])
    new = notion.add_page("New")
    notion.tick(10)
    second = connecting(notion)
    assert {item.external_id async for batch in second.list_changes(cursor) for item in batch.items} == {new}
    await second.close()


async def test_partial_answers_and_short_waits_cost_nothing(notion: NotionServer, connector: Connector) -> None:
    partial = notion.add_page("Page")
    notion.pages[partial] |= {"properties": {}}
    notion.add_page("Other", parent=notion.new_id())
    notion.tick(10)
    notion.script = [(429, {"Retry-After": "0"}), (503, {})]
    items = await listed(connector)
    assert items.keys() == {"Untitled", "Other"}


@pytest.mark.parametrize(
    ("status", "headers", "error"),
    [(401, {}, CredentialsRefusedError), (429, {"Retry-After": "90"}, RateLimitedError), (400, {}, PermanentError)],
    ids=str,
)
async def test_refusals_end_the_listing_with_a_reason(
    status: int, headers: dict[str, str], error: type[AnalytiqError], notion: NotionServer, connector: Connector
) -> None:
    notion.script = [(status, headers)] * 10
    with pytest.raises(error, match="Notion"):
        await listed(connector)


async def test_a_listing_without_end_ends(notion: NotionServer, connector: Connector) -> None:
    notion.add_page("One")
    notion.add_page("Two")
    notion.tick(10)
    notion.most_results = 0
    with pytest.raises(PermanentError, match="repeats"):
        await listed(connector)


async def test_deep_long_and_gone_pages_are_told(
    notion: NotionServer, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = paragraph("Words.")
    for _ in range(notion_api.DEEPEST + 2):
        nested = block("toggle", "In", nested)
    notion.add_page("Deep", nested)
    notion.add_page("Wide", *[block("toggle", "In", paragraph("Words.")) for _ in range(20)])
    gone = notion.add_page("Gone")
    notion.tick(10)
    items = await listed(connector)
    monkeypatch.setattr(notion_api, "MOST_CALLS", 15)
    with pytest.raises(ItemRefusedError, match="calls"):
        await connector.fetch(items["Wide"])
    monkeypatch.setattr(notion_api, "MOST_CALLS", 300)
    monkeypatch.setattr(notion_api, "MOST_BYTES", 1000)
    with pytest.raises(ItemRefusedError, match="bytes"):
        await connector.fetch(items["Wide"])
    monkeypatch.setattr(notion_api, "MOST_BYTES", 1_000_000)
    with pytest.raises(ItemRefusedError, match="deeper"):
        await connector.fetch(items["Deep"])
    del notion.pages[gone], notion._blocks[gone]
    with pytest.raises(ItemGoneError):
        await connector.fetch(items["Gone"])


async def test_places_in_columns_cost_calls_once(notion: NotionServer, connector: Connector) -> None:
    home = notion.add_page("Home", block("column_list", None, block("column", None, paragraph("Words."))))
    (outer,) = notion.block_ids(home)
    (inner,) = notion.block_ids(outer)
    page = notion.add_page("Inside", parent=inner)
    notion.tick(10)
    items = await listed(connector)
    assert items.keys() == {"Home", "Home/Inside"}
    notes = {item.external_id: KnownItem(item.version, item.note) for item in items.values()}

    async def find_known(ids: Sequence[str]) -> Mapping[str, KnownItem]:
        return {each: notes[each] for each in ids if each in notes}

    api = NotionApi(OPERATOR, notion.url, notion.token, per_second=100)
    places = Places(api, find_known)
    notion.asked.clear()
    await places.recall([notion.pages[page]])
    above = await places.above(notion.pages[page])
    assert (above.folders, notion.asked) == (("Home",), [])
    notion.move(page, None)
    await places.recall([notion.pages[page]])
    assert (await places.above(notion.pages[page])).folders == ()
    await api.close()


async def test_answers_that_take_long_are_handed_on_in_parts(
    notion: NotionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind_module, "SLOW_SECONDS", -1.0)
    source = notion.add_database("Tasks")
    ids = [notion.add_page(f"Page {number}", parent=(None, source)[number % 2]) for number in range(8)]
    notion.tick(10)
    connector = connecting(notion)
    batches = [batch async for batch in connector.list_changes(None)]
    assert len(batches) > 6
    assert sorted(item.external_id for batch in batches for item in batch.items) == sorted(ids)
    for index, batch in enumerate(batches):
        rest = [item for later in batches[index + 1 :] for item in later.items]
        assert [item async for later in connector.list_changes(batch.cursor) for item in later.items] == rest
    await connector.close()


async def test_only_the_named_pages_and_those_below_are_listed(notion: NotionServer) -> None:
    root = notion.add_page("Root")
    notion.add_page("In a list", parent=root)
    source = notion.add_database("Tasks", root)
    notion.add_page("Row", parent=source)
    notion.add_page("Elsewhere")
    notion.tick(10)
    connector = connecting(notion, f"https://www.notion.so/Root-{root.replace('-', '')}?pvs=4")
    await connector.check()
    assert (await listed(connector)).keys() == {"Root", "Root/In a list", "Root/Tasks/Row"}
    await connector.close()
    missing = connecting(notion, notion.new_id())
    with pytest.raises(AnalytiqError, match="sees no page"):
        await missing.check()
    await missing.close()
