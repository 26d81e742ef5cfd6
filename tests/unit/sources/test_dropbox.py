"""Dropbox against a strict server of its API."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import JsonValue

from analytiq.errors import InvalidInputError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import ItemGoneError, ListedBatch, PositionExpiredError, SourceContext
from analytiq.ingestion.sources.connections.oauth import SignInNeededError, sign_in_of
from analytiq.ingestion.sources.kinds.dropbox import DropboxConnector
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.settings import SourceSettings
from tests.contract.made_sources import nothing_known
from tests.fakes.dropbox_server import DropboxServer


@pytest.fixture
def server() -> Iterator[DropboxServer]:
    with DropboxServer() as running:
        running.write("/Team/one.txt", "One")
        running.write("/Team/deep/Two.txt", "Two")
        running.write("/other.txt", "Other")
        yield running


def opened(server: DropboxServer, *, since: str | None = None, **changed: Any) -> DropboxConnector:
    secrets = changed.pop("credentials", server.credentials)

    async def keep(_: Mapping[str, JsonValue]) -> None:
        pass

    context = SourceContext(
        organization_id="f" * 24,
        operator=SourceSettings(private_hosts=("127.0.0.1",)),
        find_known=nothing_known,
        accepts=lambda name: not name.endswith(".skip"),
        max_item_bytes=1000,
        since=since,
        keep_credentials=keep,
    )
    kind = DropboxConnector
    settings = validated(kind.settings_schema, {**server.settings, **changed}, field="settings")
    return kind(
        settings=settings,
        credentials=validated(kind.credentials_schema, secrets, field="credentials"),
        context=context,
    )


async def batches_of(connector: DropboxConnector, cursor: str | None = None) -> list[ListedBatch]:
    try:
        return [batch async for batch in connector.list_changes(cursor)]
    finally:
        await connector.close()


async def changes(server: DropboxServer, since: str | None, **changed: Any) -> tuple[list[str], list[str], str | None]:
    batches = await batches_of(opened(server, since=since, **changed))
    assert all(batch.is_delta == (since is not None) for batch in batches)
    names = [item.name for batch in batches for item in batch.items]
    removed = [each for batch in batches for each in batch.removed]
    return names, removed, batches[-1].next_since


async def text_of(connector: DropboxConnector, external_id: str) -> bytes:
    item = await connector.find(external_id)
    assert item is not None
    fetched = await connector.fetch(item)
    return b"".join([block async for block in fetched.content])


async def test_files_are_listed_then_changes_only(server: DropboxServer) -> None:
    names, _, since = await changes(server, None)
    assert names == ["Team/one.txt", "Team/deep/Two.txt", "other.txt"]
    assert await changes(server, since) == ([], [], since)
    server.write("/Team/one.txt", "One again")
    server.write("/new.skip", "Refused by a pattern")
    assert (await changes(server, since))[0] == ["Team/one.txt"]


async def test_deleted_and_moved_files_are_told_apart(server: DropboxServer) -> None:
    _, _, since = await changes(server, None)
    gone = server.entries["/team/one.txt"]["id"]
    server.delete("/Team/one.txt")
    server.move("/Team/deep/Two.txt", "/Second.txt")
    # The new place is on a later page than the old one.
    server.page_items = 1
    names, removed, since = await changes(server, since)
    assert set(names) == {"Second.txt"}
    assert removed == [gone]
    assert await changes(server, since) == ([], [], since)


async def test_file_that_leaves_the_folder_is_removed(server: DropboxServer) -> None:
    names, _, since = await changes(server, None, folder="/team")
    assert names == ["Team/one.txt", "Team/deep/Two.txt"]
    moved = server.entries["/team/one.txt"]["id"]
    server.move("/Team/one.txt", "/one.txt")
    assert (await changes(server, since, folder="/team"))[:2] == ([], [moved])


async def test_deleted_folder_makes_everything_be_listed(server: DropboxServer) -> None:
    _, _, since = await changes(server, None)
    server.delete("/Team/deep")
    with pytest.raises(PositionExpiredError):
        await changes(server, since)


async def test_folder_deleted_during_a_listing_leaves_no_position(server: DropboxServer) -> None:
    server.page_items = 2
    connector = opened(server)
    listing = connector.list_changes(None)
    await anext(listing)
    server.delete("/Team/deep")
    rest = [batch async for batch in listing]
    await connector.close()
    assert not any(batch.is_delta for batch in rest)
    assert rest[-1].next_since is None


async def test_file_deleted_during_a_listing_is_removed(server: DropboxServer) -> None:
    server.page_items = 2
    gone = server.entries["/team/one.txt"]["id"]
    connector = opened(server)
    listing = connector.list_changes(None)
    first = await anext(listing)
    assert [item.external_id for item in first.items] == [gone]
    server.delete("/Team/one.txt")
    rest = [batch async for batch in listing]
    await connector.close()
    assert [each for batch in rest for each in batch.removed] == [gone]
    assert rest[-1].next_since is not None


async def test_unknown_cursors_expire(server: DropboxServer) -> None:
    _, _, since = await changes(server, None)
    server.expire_cursors()
    for each in (since, "nonsense"):
        with pytest.raises(PositionExpiredError):
            await changes(server, each)


async def test_paper_documents_are_exported(server: DropboxServer) -> None:
    paper = server.write("/Plan.paper", "<h1>Plan</h1>", export_as="html")
    unknown = server.write("/Board.x", "")
    server.entries["/board.x"] |= {"is_downloadable": False}
    connector = opened(server)
    item = await connector.find(paper)
    assert item is not None
    assert (item.name, item.byte_size) == ("Plan.paper.html", None)
    assert (await connector.fetch(item)).content_type == "text/html"
    assert await text_of(connector, paper) == b"<h1>Plan</h1>"
    other = await connector.find(unknown)
    assert other is not None
    assert other.skip_reason == "Dropbox exports no text of such a file."
    await connector.close()


async def test_file_that_is_gone_meanwhile(server: DropboxServer) -> None:
    connector = opened(server)
    item = await connector.find(server.entries["/other.txt"]["id"])
    assert item is not None
    server.delete("/other.txt")
    with pytest.raises(ItemGoneError):
        [block async for block in (await connector.fetch(item)).content]
    assert await connector.find(item.external_id) is None
    await connector.close()


async def test_expired_token_is_renewed_and_a_revoked_sign_in_is_told(server: DropboxServer) -> None:
    connector = opened(server)
    await connector.check()
    server.expire_token()
    assert await text_of(connector, server.entries["/other.txt"]["id"]) == b"Other"
    await connector.close()
    connector = opened(server, credentials={**server.credentials, "refresh_token": "revoked"})
    with pytest.raises(SignInNeededError):
        await connector.check()
    await connector.close()


async def test_limits_endless_pages_and_wrong_folders(server: DropboxServer) -> None:
    connector = opened(server, folder="/none")
    with pytest.raises(InvalidInputError):
        await connector.check()
    await connector.close()
    server.is_endless = True
    with pytest.raises(PermanentError, match="without end"):
        await changes(server, None)
    server.is_endless = False
    connector = opened(server)
    server.script = [(429, {"retry-after": "300"})]
    with pytest.raises(RateLimitedError) as limited:
        await connector.check()
    assert limited.value.retry_after == 300
    await connector.close()


def test_person_signs_in_at_dropbox() -> None:
    kind = load_kind("dropbox")
    service = sign_in_of(kind, validated(kind.settings_schema, {}, field="settings"))
    assert service is not None
    assert service.authorization_url == "https://www.dropbox.com/oauth2/authorize"
    assert service.token_url == "https://api.dropboxapi.com/oauth2/token"
    assert service.parameters == {"token_access_type": "offline"}
