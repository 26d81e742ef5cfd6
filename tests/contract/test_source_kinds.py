"""The contract of `analytiq.ingestion.sources.base.Connector`, over every built-in kind.

For a kind of another package: make a `Made` of it, and give it to the same tests.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.base import Connector, ListedBatch, ListedItem
from analytiq.ingestion.sources.registry import BUILT_IN_KINDS, load_kind, validated
from analytiq.settings import SourceSettings
from tests.contract import file_servers
from tests.contract.made_buckets import BUCKETS
from tests.contract.made_databases import DATABASES
from tests.contract.made_drives import DRIVES
from tests.contract.made_records import RECORDS
from tests.contract.made_shares import SHARES
from tests.contract.made_sources import CONTENTS, Made, opening
from tests.contract.made_talk import TALK
from tests.contract.made_wikis import WIKIS
from tests.fakes.web_site import Served, WebSite, html


def made_folder(stack: ExitStack, folder: Path) -> Made:
    """Return a folder source."""
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    patch.setattr("analytiq.ingestion.sources.kinds.folder.SETTLED_SECONDS", -1e9)

    def write(name: str, content: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    operator = SourceSettings(folders=(folder,))
    return Made("folder", opening("folder", {"path": str(folder)}, operator), write)


def made_web(stack: ExitStack, _: Path) -> Made:
    """Return a web source; the page that links to the items is none."""
    site = stack.enter_context(WebSite())
    site.files["/"] = Served(html("All files", [f"/{name}" for name in CONTENTS]).encode())

    def write(name: str, content: str) -> None:
        site.files[f"/{name}"] = Served(content.encode(), "text/plain")

    operator = SourceSettings(private_hosts=("127.0.0.1",))
    settings = {"url": f"{site.url}/", "max_pages": 1000}
    return Made("web", opening("web", settings, operator, ".txt"), write, f"127.0.0.1:{site.port}/")


MAKERS = {
    "folder": made_folder,
    "web": made_web,
    **BUCKETS,
    **DATABASES,
    **DRIVES,
    **RECORDS,
    **SHARES,
    **TALK,
    **WIKIS,
    **file_servers.MAKERS,
}


LISTING_LITTLE = {"push", "openapi"}
"""Kinds that list nothing, or one item."""


@pytest.fixture(params=MAKERS)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Made]:
    with ExitStack() as stack:
        source = MAKERS[request.param](stack, tmp_path)
        for name, content in CONTENTS.items():
            source.change(name, content)
        yield source


async def batches_of(connector: Connector, cursor: str | None = None) -> list[ListedBatch]:
    return [batch async for batch in connector.list_changes(cursor)]


async def items_of(connector: Connector, cursor: str | None = None) -> list[ListedItem]:
    """List with a connection, and close it."""
    try:
        return [item for batch in await batches_of(connector, cursor) for item in batch.items]
    finally:
        await connector.close()


async def joined(content: AsyncIterator[bytes]) -> bytes:
    return b"".join([block async for block in content])


def test_every_built_in_kind_is_held_to_the_contract() -> None:
    assert {entry.name for entry in BUILT_IN_KINDS} - LISTING_LITTLE == MAKERS.keys()


async def test_each_item_is_listed_once_with_its_content(made: Made) -> None:
    connector = made.open()
    await connector.check()
    items = await items_of(made.open())
    assert sorted(map(made.name_of, items)) == sorted(CONTENTS)
    assert len({item.external_id for item in items}) == len(CONTENTS)
    for item in items[::40]:
        fetched = await connector.fetch(item)
        assert made.text_of(await joined(fetched.content)) == CONTENTS[made.name_of(item)].encode()
    await connector.close()


async def test_listing_goes_on_behind_every_cursor_in_another_connection(made: Made) -> None:
    connector = made.open()
    batches = await batches_of(connector)
    await connector.close()
    assert len(batches) > 1
    for index, batch in enumerate(batches):
        rest = [item for later in batches[index + 1 :] for item in later.items]
        assert await items_of(made.open(), batch.cursor) == rest


async def test_version_is_equal_for_equal_content_only(made: Made) -> None:
    before = {made.name_of(item): item.version for item in await items_of(made.open())}
    assert None not in before.values()
    assert {made.name_of(item): item.version for item in await items_of(made.open())} == before
    made.change("a/003.txt", "Another text.")
    after = {made.name_of(item): item.version for item in await items_of(made.open())}
    assert {name for name in before if before[name] != after[name]} == {"a/003.txt"}


async def test_single_item_is_found_as_it_is_listed(made: Made) -> None:
    connector = made.open()
    for item in (await items_of(made.open()))[::50]:
        assert await connector.find(item.external_id) == item
    for unknown in ("none.txt", "../none.txt", "/etc/passwd", "", ".", "a\0b", "a//003.txt"):
        assert await connector.find(unknown) is None
    await connector.close()


def test_settings_with_unknown_fields_are_refused_and_no_value_is_told(made: Made) -> None:
    kind = load_kind(made.kind)
    for schema, field in ((kind.settings_schema, "settings"), (kind.credentials_schema, "credentials")):
        with pytest.raises(InvalidInputError) as refused:
            validated(schema, {"no_such_field": "a secret of somebody"}, field=field)
        assert f"{field}.no_such_field" in {problem.field for problem in refused.value.errors}
        assert "a secret" not in refused.value.detail
