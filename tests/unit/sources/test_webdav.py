"""WebDAV sources: logins, ids that survive a rename, shares, and hostile or failing servers."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import AnalytiqError, InvalidInputError, NotFoundError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import (
    Connector,
    ItemAccess,
    ItemGoneError,
    ItemRefusedError,
    KnownItem,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds.webdav import WebDavConnector, WebDavCredentials, WebDavSettings
from analytiq.ingestion.sources.registry import validated
from analytiq.ingestion.sources.systems.remote_files import walk
from analytiq.ingestion.sources.systems.webdav.multistatus import read_resources
from analytiq.settings import SourceSettings
from tests.fakes import nextcloud_server, webdav_server
from tests.fakes.nextcloud_server import NextcloudServer, Shared
from tests.fakes.webdav_server import WebDavServer

LOGIN: dict[str, JsonValue] = {"user": nextcloud_server.USER, "password": nextcloud_server.PASSWORD}
OWN_LOGIN: dict[str, JsonValue] = {"user": webdav_server.USER, "password": webdav_server.PASSWORD}


def connector_of(
    url: str, credentials: Mapping[str, JsonValue], known: Mapping[str, KnownItem] | None = None
) -> WebDavConnector:
    async def find_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
        return known or {}

    context = SourceContext(
        organization_id="a" * 24,
        operator=SourceSettings(private_hosts=("127.0.0.1",)),
        find_known=find_known,
        accepts=lambda _: True,
        max_item_bytes=1000,
    )
    secrets = validated(WebDavCredentials, credentials, field="credentials")
    return WebDavConnector(settings=WebDavSettings(url=url), credentials=secrets, context=context)


async def listed(connector: Connector) -> list[ListedBatch]:
    try:
        return [batch async for batch in connector.list_changes(None)]
    finally:
        await connector.close()


async def items_of(connector: Connector) -> dict[str, ListedItem]:
    return {item.name: item for batch in await listed(connector) for item in batch.items}


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)


@pytest.fixture
def cloud() -> Iterator[NextcloudServer]:
    made = NextcloudServer()
    made.files = {"a.txt": (11, b"A"), "Team/b c#?%.txt": (12, b"B"), "Team/deep/ü.txt": (13, b"C")}
    with made.server:
        yield made


@pytest.mark.parametrize("scheme", ["basic", "digest"])
async def test_password_is_sent_as_the_server_asks(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "a.txt").write_text("A")
    with WebDavServer(tmp_path, authentication=scheme) as server:
        assert (await items_of(connector_of(server.url, OWN_LOGIN))).keys() == {"a.txt"}
        sent = [header for _, _, header in server.requests if header is not None]
        assert sent
        assert all(header.lower().startswith(f"{scheme} ") for header in sent)
        with pytest.raises(CredentialsRefusedError):
            await listed(connector_of(server.url, {**OWN_LOGIN, "password": "wrong"}))
        with pytest.raises(CredentialsRefusedError):
            await listed(connector_of(server.url, {}))


async def test_address_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A")
    with WebDavServer(tmp_path) as server:
        for path, error in (("a.txt", AnalytiqError), ("none/", NotFoundError)):
            connector = connector_of(server.url + path, {})
            with pytest.raises(error):
                await connector.check()
            await connector.close()


async def test_file_with_an_id_stays_one_item_when_it_is_moved(cloud: NextcloudServer) -> None:
    before = await items_of(connector_of(cloud.url, LOGIN))
    assert {name: item.external_id for name, item in before.items()} == {
        "Team/b c#?%.txt": "fileid:12",
        "Team/deep/ü.txt": "fileid:13",
        "a.txt": "fileid:11",
    }
    assert before["a.txt"].source_url == f"{cloud.server.url}/index.php/f/11"
    cloud.files["Team/moved.txt"] = cloud.files.pop("a.txt")
    connector = connector_of(cloud.url, LOGIN, {"fileid:11": KnownItem(version=None, note=before["a.txt"].note)})
    found = await connector.find("fileid:11")
    assert found is not None
    assert (found.name, found.version) == ("Team/moved.txt", before["a.txt"].version)
    assert await connector.find("fileid:99") is None
    with pytest.raises(ItemGoneError):
        [block async for block in (await connector.fetch(before["a.txt"])).content]
    await connector.close()


async def test_file_is_found_at_its_known_path_without_a_walk(cloud: NextcloudServer) -> None:
    before = await items_of(connector_of(cloud.url, LOGIN))
    item = before["Team/b c#?%.txt"]
    cloud.asked.clear()
    connector = connector_of(cloud.url, LOGIN, {item.external_id: KnownItem(version=None, note=item.note)})
    assert await connector.find(item.external_id) == item
    assert ("PROPFIND", "Team/deep") not in cloud.asked
    await connector.close()


async def test_shares_of_a_folder_reach_the_files_below_it_only(cloud: NextcloudServer) -> None:
    cloud.shares = {"Team": Shared(people=("bob",), groups=("legal",)), "Team/deep": Shared(by_link=True)}
    items = await items_of(connector_of(cloud.url, LOGIN))
    assert items["a.txt"].access == ItemAccess(people=("ada",))
    assert items["Team/b c#?%.txt"].access == ItemAccess(people=("ada", "bob"), groups=("legal",))
    assert items["Team/deep/ü.txt"].access == ItemAccess(people=("ada", "bob"), groups=("legal",), is_public=True)


async def test_folder_that_fails_is_a_problem_and_the_others_are_listed(cloud: NextcloudServer) -> None:
    cloud.failing["Team/deep"] = (503, {})
    batches = await listed(connector_of(cloud.url, LOGIN))
    assert [item.name for batch in batches for item in batch.items] == ["Team/b c#?%.txt", "a.txt"]
    assert [problem.split(":")[0] for batch in batches for problem in batch.problems] == ["Team/deep"]


async def test_server_that_fails_altogether_ends_the_listing(
    cloud: NextcloudServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MOST_FAILURES", 0)
    cloud.failing["Team"] = (503, {})
    with pytest.raises(AnalytiqError, match="503"):
        await listed(connector_of(cloud.url, LOGIN))
    cloud.failing["Team"] = (429, {"Retry-After": "3600"})
    with pytest.raises(RateLimitedError):
        await listed(connector_of(cloud.url, LOGIN))


async def test_files_that_grew_and_empty_ones_are_not_taken(cloud: NextcloudServer) -> None:
    cloud.files["empty.txt"] = (14, b"")
    items = await items_of(connector_of(cloud.url, LOGIN))
    assert items["empty.txt"].skip_reason == "The file is empty."
    cloud.files["a.txt"] = (11, b"A" * 1001)
    connector = connector_of(cloud.url, LOGIN)
    with pytest.raises(ItemRefusedError):
        [block async for block in (await connector.fetch(items["a.txt"])).content]
    await connector.close()


def answer(*addresses: str) -> bytes:
    resources = "".join(
        f"<d:response><d:href>{address}</d:href><d:propstat><d:prop><d:getetag>&quot;1&quot;</d:getetag></d:prop>"
        "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
        for address in addresses
    )
    return f'<d:multistatus xmlns:d="DAV:">{resources}</d:multistatus>'.encode()


async def test_names_that_lead_elsewhere_are_no_files(cloud: NextcloudServer) -> None:
    own = nextcloud_server.ROOT
    cloud.answers["Team"] = answer(
        f"{own}/Team/", f"{own}/Team/%2e%2e", f"{own}/Team/..%2fx", "/etc/passwd", f"{own}/Team/a/b.txt",
        f"{own}/Team/%FF.txt", f"http://elsewhere.example{own}/Team/good.txt", "http://[::1", f"{own}/Team/a%00b",
    )  # fmt: skip
    items = await items_of(connector_of(cloud.url, LOGIN))
    assert items.keys() == {"Team/good.txt", "a.txt"}


@pytest.mark.parametrize(
    "content",
    [
        b"<html><body>Please log in</body></html>",
        b"{}",
        b"",
        b'<d:multistatus xmlns:d="DAV:">',
        b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 1000 + b'">]><d:multistatus xmlns:d="DAV:">&b;</d:multistatus>',
        b'<d:multistatus xmlns:d="DAV:">' + b"<a>" * 300 + b"</a>" * 300 + b"</d:multistatus>",
    ],
)
async def test_answers_of_other_servers_are_refused(content: bytes) -> None:
    async def blocks() -> AsyncIterator[bytes]:
        yield content

    with pytest.raises(PermanentError):
        await read_resources(blocks())


async def test_list_without_end_is_refused() -> None:
    async def blocks() -> AsyncIterator[bytes]:
        yield b'<d:multistatus xmlns:d="DAV:">'
        while True:
            yield b"<d:response><d:href>/a</d:href></d:response>" * 1000

    with pytest.raises(PermanentError, match="50,000"):
        await read_resources(blocks())


@pytest.mark.parametrize(
    "credentials",
    [{"user": "ada"}, {"user": "ada", "password": "x", "token": "y"}, {"user": "a:b", "password": "x"}, {"token": "ä"}],
)
def test_credentials_that_cannot_be_sent_are_refused(credentials: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidInputError):
        validated(WebDavCredentials, credentials, field="credentials")


@pytest.mark.parametrize(
    ("etag", "age_seconds", "version"),
    [('"1"', 0, '"1"'), ('W/"1"', 0, None), ('W/"1"', 60, '"1"'), ("", 0, None), ("", 60, "5:")],
)
async def test_time_or_weak_etag_of_a_file_that_was_just_written_is_no_version(
    cloud: NextcloudServer, etag: str, age_seconds: int, version: str | None
) -> None:
    written = format_datetime(clock.now() - timedelta(seconds=age_seconds), usegmt=True)
    properties = (
        f"<d:getetag>{etag}</d:getetag><d:getlastmodified>{written}</d:getlastmodified>"
        "<d:getcontentlength>5</d:getcontentlength>"
    )
    described = answer(f"{nextcloud_server.ROOT}/Team/", f"{nextcloud_server.ROOT}/Team/x.txt").decode()
    cloud.answers["Team"] = described.replace("<d:getetag>&quot;1&quot;</d:getetag>", properties).encode()
    found = (await items_of(connector_of(cloud.url, LOGIN)))["Team/x.txt"].version
    assert found == version if version is None else found is not None and found.startswith(version)
