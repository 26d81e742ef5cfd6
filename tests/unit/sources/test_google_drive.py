"""Google Drive: what changes there, exports, and what a service may answer."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, InvalidInputError
from analytiq.ingestion.sources.base import (
    Connector,
    ItemAccess,
    ItemRefusedError,
    KnownItem,
    ListedBatch,
    ListedItem,
    PositionExpiredError,
    SourceContext,
)
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.settings import SourceSettings
from tests.fakes.google_drive_server import DOCUMENT, GoogleDriveServer

LOCAL = SourceSettings(private_hosts=("127.0.0.1",))


class Source:
    """A source on a fake."""

    def __init__(self, server: GoogleDriveServer) -> None:
        self.server = server
        self.credentials: dict[str, JsonValue] = dict(server.credentials)
        self.settings: dict[str, JsonValue] = dict(server.settings)

    def opened(self, since: str | None = None) -> Connector:
        kind = load_kind("google-drive")

        async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
            return {}

        context = SourceContext(
            organization_id="f" * 24,
            operator=LOCAL,
            find_known=nothing_known,
            accepts=lambda path: not path.startswith("Private/"),
            max_item_bytes=1000,
            since=since,
        )
        return kind(
            settings=validated(kind.settings_schema, self.settings, field="settings"),
            credentials=validated(kind.credentials_schema, self.credentials, field="credentials"),
            context=context,
        )

    async def listed(self, since: str | None = None) -> list[ListedBatch]:
        connector = self.opened(since)
        try:
            return [batch async for batch in connector.list_changes(None)]
        finally:
            await connector.close()

    async def content(self, item: ListedItem) -> bytes:
        connector = self.opened()
        try:
            return b"".join([block async for block in (await connector.fetch(item)).content])
        finally:
            await connector.close()


@pytest.fixture
def source() -> Iterator[Source]:
    with GoogleDriveServer() as server:
        server.write("Contracts/2026/a.txt", "A")
        server.write("b.txt", "B")
        yield Source(server)


def items(batches: Sequence[ListedBatch]) -> list[ListedItem]:
    return [item for batch in batches for item in batch.items]


def names(batches: Sequence[ListedBatch]) -> list[str]:
    return [item.name for item in items(batches)]


def removed(batches: Sequence[ListedBatch]) -> list[str]:
    return [external_id for batch in batches for external_id in batch.removed]


async def test_second_run_lists_changes_only(source: Source) -> None:
    first = await source.listed()
    assert names(first) == ["Contracts/2026/a.txt", "b.txt"]
    second = await source.listed(first[-1].next_since)
    assert second[-1].is_delta
    assert not names(second)
    moved = source.server.id_of("b.txt")
    source.server.change(moved, name="c.txt", parents=[source.server.id_of("Contracts")])
    trashed = source.server.id_of("a.txt")
    source.server.change(trashed, trashed=True)
    source.server.write("New/d.txt", "D")
    third = await source.listed(second[-1].next_since)
    assert [(item.external_id == moved, item.name) for item in items(third)] == [
        (True, "Contracts/c.txt"),
        (False, "New/d.txt"),
    ]
    assert trashed in removed(third)


@pytest.mark.parametrize("change", [{"name": "Old"}, {"trashed": True}, {"parents": ["root-folder"]}])
async def test_change_of_a_folder_lists_everything(source: Source, change: dict[str, JsonValue]) -> None:
    first = await source.listed()
    source.server.change(source.server.id_of("2026"), **change)
    with pytest.raises(PositionExpiredError):
        await source.listed(first[-1].next_since)


async def test_expired_position_is_told(source: Source) -> None:
    first = await source.listed()
    source.server.expire_positions()
    with pytest.raises(PositionExpiredError):
        await source.listed(first[-1].next_since)


async def test_change_during_the_listing_is_among_the_next_changes(source: Source) -> None:
    connector = source.opened()
    batches: list[ListedBatch] = []
    async for batch in connector.list_changes(None):
        if not batches:
            source.server.write("b.txt", "Changed meanwhile")
        batches.append(batch)
    await connector.close()
    assert names(await source.listed(batches[-1].next_since)) == ["b.txt"]


async def test_documents_of_the_editors_are_exported(source: Source) -> None:
    source.server.write("Plan", "Text.", mime_type=DOCUMENT)
    source.server.write("Form", "?", mime_type="application/vnd.google-apps.form")
    source.server.write("Link", "?", mime_type="application/vnd.google-apps.shortcut")
    found = {item.name: item for item in items(await source.listed())}
    assert (await source.content(found["Plan.docx"])).startswith(b"application/vnd.openxmlformats")
    assert found["Form"].skip_reason == "Google exports no text of such a file."
    assert found["Link"].skip_reason == "A shortcut. Its target is read where it is."
    source.settings["documents_as"] = "html"
    html = {item.name: item for item in items(await source.listed())}
    assert await source.content(html["Plan.html"]) == b"text/html: Text."
    assert html["Plan.html"].version != found["Plan.docx"].version
    source.server.refuses_exports = True
    with pytest.raises(ItemRefusedError, match="does not export"):
        await source.content(html["Plan.html"])


async def test_who_may_read_is_kept(source: Source) -> None:
    permissions = [
        {"type": "user", "emailAddress": "ada@example.com"},
        {"type": "group", "emailAddress": "legal@example.com"},
        {"type": "user", "emailAddress": "left@example.com", "deleted": True},
    ]
    source.server.change(source.server.id_of("b.txt"), permissions=permissions)
    found = {item.name: item.access for item in items(await source.listed())}
    assert found["b.txt"] == ItemAccess(people=("ada@example.com",), groups=("legal@example.com",))
    assert found["Contracts/2026/a.txt"] is None


async def test_folder_by_its_address(source: Source) -> None:
    source.settings["folder"] = f"https://drive.google.com/drive/folders/{source.server.id_of('Contracts')}?usp=sharing"
    assert names(await source.listed()) == ["Contracts/2026/a.txt"]


async def test_token_is_signed_for_the_user_and_renewed(source: Source) -> None:
    source.settings["user"] = "ada@example.com"
    connector = source.opened()
    await connector.check()
    source.server.expire_token()
    await connector.check()
    await connector.close()
    assert source.server.subjects == ["ada@example.com"] * 2


@pytest.mark.parametrize(
    "key",
    ["no JSON", "[]", "{}", '{"client_email": "a", "private_key": "b", "token_uri": "https://evil.example.com/token"}'],
)
async def test_wrong_service_account_is_told(source: Source, key: str) -> None:
    source.credentials["service_account"] = key
    with pytest.raises(InvalidInputError) as wrong:
        await source.listed()
    assert wrong.value.errors[0].field == "credentials.service_account"


async def test_cycle_of_folders_ends(source: Source) -> None:
    inner, outer = source.server.id_of("2026"), source.server.id_of("Contracts")
    source.server.files[outer]["parents"] = [inner]
    assert names(await source.listed()) == ["a.txt", "b.txt"]


async def test_pages_without_end_are_refused(source: Source) -> None:
    source.server.page_items = 0
    with pytest.raises(AnalytiqError, match="without end"):
        await source.listed()
