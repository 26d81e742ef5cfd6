"""Drives of Microsoft Graph: what changes there, and what a service may answer."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, InvalidInputError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import (
    Connector,
    ItemGoneError,
    KnownItem,
    ListedBatch,
    ListedItem,
    PositionExpiredError,
    SourceContext,
)
from analytiq.ingestion.sources.connections.oauth import SignInNeededError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.settings import SourceSettings
from tests.fakes.graph_server import GraphServer

LOCAL = SourceSettings(private_hosts=("127.0.0.1",))


class Source:
    """A source on a fake; `kept` are the renewed credentials."""

    def __init__(self, graph: GraphServer) -> None:
        self.graph = graph
        self.credentials: dict[str, JsonValue] = dict(graph.credentials)
        self.settings: dict[str, JsonValue] = {**graph.settings, "user": "ada@example.com"}
        self.kept: dict[str, JsonValue] = {}

    def opened(self, since: str | None = None) -> Connector:
        kind = load_kind("onedrive")

        async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
            return {}

        async def keep(fields: Mapping[str, JsonValue]) -> None:
            self.kept.update(fields)

        context = SourceContext(
            organization_id="f" * 24,
            operator=LOCAL,
            find_known=nothing_known,
            accepts=lambda path: not path.startswith("Private/"),
            max_item_bytes=1000,
            since=since,
            keep_credentials=keep,
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
    with GraphServer() as graph:
        graph.write("Contracts/2026/a.txt", "A")
        graph.write("b.txt", "B")
        yield Source(graph)


def names(batches: Sequence[ListedBatch]) -> list[str]:
    return [item.name for batch in batches for item in batch.items]


def removed(batches: Sequence[ListedBatch]) -> list[str]:
    return [external_id for batch in batches for external_id in batch.removed]


async def test_second_run_lists_changes_only(source: Source) -> None:
    first = await source.listed()
    assert names(first) == ["Contracts/2026/a.txt", "b.txt"]
    second = await source.listed(first[-1].next_since)
    assert second[-1].is_delta
    assert not names(second)
    source.graph.write("Contracts/2026/a.txt", "Edited")
    source.graph.write("Contracts/2027/c.txt", "C")
    gone = source.graph.id_of("b.txt")
    source.graph.delete(gone)
    third = await source.listed(second[-1].next_since)
    assert third[-1].is_delta
    assert names(third) == ["Contracts/2026/a.txt", "Contracts/2027/c.txt"]
    assert removed(third) == [f"{source.graph.drive}/{gone}"]


async def test_moved_file_stays_one_item(source: Source) -> None:
    first = await source.listed()
    item = source.graph.id_of("b.txt")
    source.graph.rename(item, "renamed.txt", parent=source.graph.id_of("Contracts"))
    second = await source.listed(first[-1].next_since)
    assert [(entry.external_id, entry.name) for batch in second for entry in batch.items] == [
        (f"{source.graph.drive}/{item}", "Contracts/renamed.txt")
    ]


async def test_file_that_leaves_the_choice_is_removed(source: Source) -> None:
    source.graph.write("Private/secret.txt", "Nothing for others.")
    first = await source.listed()
    item = source.graph.id_of("b.txt")
    source.graph.rename(item, "b.txt", parent=source.graph.id_of("Private"))
    second = await source.listed(first[-1].next_since)
    assert not names(second)
    assert removed(second) == [f"{source.graph.drive}/{item}"]


@pytest.mark.parametrize("change", ["rename", "delete"])
async def test_change_of_a_folder_lists_everything(source: Source, change: str) -> None:
    first = await source.listed()
    folder = source.graph.id_of("2026")
    if change == "rename":
        source.graph.rename(folder, "Old")
    else:
        source.graph.delete(folder)
    with pytest.raises(PositionExpiredError):
        await source.listed(first[-1].next_since)
    assert names(await source.listed()) == (["Contracts/Old/a.txt", "b.txt"] if change == "rename" else ["b.txt"])


async def test_expired_position_is_told(source: Source) -> None:
    first = await source.listed()
    source.graph.write("c.txt", "C")
    source.graph.expire_positions()
    with pytest.raises(PositionExpiredError):
        await source.listed(first[-1].next_since)


async def test_folder_of_a_later_page_is_asked_for(source: Source) -> None:
    source.graph.page_items = 1
    connector = source.opened()
    batches = [batch async for batch in connector.list_changes(None)]
    await connector.close()
    cursor = next(batch.cursor for batch in batches if not batch.items and "2026" not in names(batches[:1]))
    connector = source.opened()
    assert "Contracts/2026/a.txt" in names([batch async for batch in connector.list_changes(cursor)])
    await connector.close()


async def test_token_is_renewed_after_a_refusal(source: Source) -> None:
    connector = source.opened()
    await connector.check()
    source.graph.expire_token()
    await connector.check()
    await connector.close()


async def test_sign_in_is_renewed_and_kept(source: Source) -> None:
    source.settings["user"] = None
    source.credentials |= {"refresh_token": "refresh-1", "access_token": "token-0", "expires_at": 1.0}
    assert names(await source.listed()) == ["Contracts/2026/a.txt", "b.txt"]
    assert source.kept["refresh_token"] == source.graph.sign_in.refresh_token
    assert source.kept["access_token"] == source.graph.token


async def test_revoked_sign_in_asks_a_person(source: Source) -> None:
    source.credentials |= {"refresh_token": "refresh-1"}
    source.graph.sign_in.is_revoked = True
    with pytest.raises(SignInNeededError, match="Sign in again"):
        await source.listed()


async def test_wrong_secret_is_told_without_it(source: Source) -> None:
    source.credentials["client_secret"] = "wrong-secret"
    with pytest.raises(CredentialsRefusedError) as refused:
        await source.listed()
    assert "wrong-secret" not in refused.value.detail


async def test_long_wait_is_left_to_the_run(source: Source) -> None:
    source.graph.script = [(429, {"Retry-After": "120"})]
    with pytest.raises(RateLimitedError) as limited:
        await source.listed()
    assert limited.value.retry_after == 120


async def test_short_wait_is_obeyed(source: Source) -> None:
    source.graph.script = [(429, {"Retry-After": "0"}), (503, {})]
    assert len(names(await source.listed())) == 2


async def test_who_may_read_is_told(source: Source) -> None:
    source.settings["read_access"] = True
    access = [item.access for batch in await source.listed() for item in batch.items]
    assert all(each is not None for each in access)
    assert {(tuple(each.people), tuple(each.groups)) for each in access if each} == {(("ada@example.com",), ("g-1",))}


async def test_vanished_and_large_files_are_told(source: Source) -> None:
    items = [item for batch in await source.listed() for item in batch.items]
    source.graph.delete(source.graph.id_of("b.txt"))
    with pytest.raises(ItemGoneError):
        await source.content(items[1])


async def test_unknown_user_is_told_by_the_field(source: Source) -> None:
    source.settings["user"] = "eve@example.com"
    with pytest.raises(InvalidInputError, match=r"settings\.user|no such user"):
        await source.listed()


async def test_page_at_another_address_is_refused(source: Source) -> None:
    first = await source.listed()
    since = first[-1].next_since
    assert since is not None
    with pytest.raises(PermanentError, match="another address"):
        await source.listed(since.replace(source.graph.url, "http://127.0.0.1:1"))


async def test_pages_without_end_are_refused(source: Source) -> None:
    source.graph.page_items = 0
    with pytest.raises(AnalytiqError, match="without end"):
        await source.listed()
