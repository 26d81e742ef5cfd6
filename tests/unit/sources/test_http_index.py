"""Directory listings of web servers, as real servers wrote them, and as no server should."""

import datetime
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from analytiq.errors import PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import Connector, ItemGoneError, KnownItem, ListedBatch, ListedItem, SourceContext
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.kinds.http_index import HttpIndexConnector, HttpIndexSettings
from analytiq.ingestion.sources.kinds.web import WebCredentials
from analytiq.ingestion.sources.systems.indexes import walk
from analytiq.ingestion.sources.systems.indexes.page import Entry, read_listing
from analytiq.settings import SourceSettings
from tests.fakes.file_listing import FileListing
from tests.fakes.moto_s3 import MotoS3
from tests.fakes.server_loop import AppServer

PAGES = Path(__file__).parents[2] / "data" / "directory_listings"
ADDRESS = "http://127.0.0.1/"
LOCAL = SourceSettings(private_hosts=("127.0.0.1",))
NAMES = {"a.txt", "big.bin", "loop/", "sub%20folder/", "%C3%BCn%C3%AF/"}
SPECIAL = {"b%20c+d%25.txt", "b%20c%2Bd%25.txt", "q%3Fx%23y%26%22%3Cz%3E.txt", "q%3Fx%23y&%22%3Cz%3E.txt"}


@pytest.mark.parametrize("server", ["nginx", "apache", "apache_table", "caddy", "python"])
def test_listings_of_servers_are_read(server: str) -> None:
    listing = read_listing((PAGES / f"{server}.html").read_bytes(), address=ADDRESS)
    names = [entry.name for entry in listing.entries]
    assert listing.is_listing
    assert names == sorted(names)
    assert len(names) == 7
    assert set(names) - SPECIAL == NAMES


@pytest.mark.parametrize(
    ("server", "told", "exact"),
    [
        ("nginx", "05-Mar-2024 06:07 123456", 123456),
        ("apache", "2024-03-05 06:07 121K", None),
        ("apache_table", "2024-03-05 06:07 121K", None),
        ("caddy", None, None),
        ("python", None, None),
    ],
)
def test_dates_and_sizes_are_read_where_their_form_is_known(server: str, told: str | None, exact: int | None) -> None:
    listing = read_listing((PAGES / f"{server}.html").read_bytes(), address=ADDRESS)
    (entry,) = [entry for entry in listing.entries if entry.name == "big.bin"]
    day = datetime.date(2024, 3, 5) if told else None
    assert entry == Entry("big.bin", told, day, exact)


def test_links_that_lead_elsewhere_are_no_entries() -> None:
    links = (
        *(
            "../",
            "/",
            "/files/",
            "",
            ".",
            "#a",
            "?C=N",
            "a.txt?C=N",
            "https://other.example/files/x",
            "//other.example/x",
        ),
        *(
            "javascript:alert(1)",
            "mailto:a@b.c",
            "/files/../etc/passwd",
            "%2e%2e/x",
            "a/b.txt",
            "/filesystem/x",
            "\\\\x\\y",
        ),
        *("http://user:secret@listing.example/files/x", "ftp://listing.example/files/x"),
    )
    content = "".join(f'<a href="{link}">x</a>' for link in links).encode()
    assert read_listing(content, address="http://listing.example/files/").entries == ()
    links = ("/files/a.txt", "./b.txt#x", "http://listing.example/files/c.txt", "d.txt")
    content = "".join(f'<a href="{link}">x</a>' for link in links).encode()
    entries = read_listing(content, address="http://listing.example/files/").entries
    assert [entry.name for entry in entries] == ["a.txt", "b.txt", "c.txt", "d.txt"]


def test_dates_that_people_write_are_not_trusted() -> None:
    content = b"<title>Index of /</title><a href=a.txt>a</a> since 2020-01-01 10:00 5 <a href=b.txt>b</a> 2020-01-01"
    assert [entry.told for entry in read_listing(content, address=ADDRESS).entries] == [None, None]


async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
    return {}


Known = dict[str, KnownItem]


def connected(url: str, known: Known | None = None, *, skips: tuple[str, ...] = (), headers: str = "") -> Connector:
    async def find_known(ids: Sequence[str]) -> Mapping[str, KnownItem]:
        return {external_id: known[external_id] for external_id in ids if known and external_id in known}

    context = SourceContext(
        organization_id="f" * 24, operator=LOCAL, find_known=find_known, accepts=lambda _: True, max_item_bytes=10_000
    )
    credentials = WebCredentials.model_validate({"headers": {"x-key": headers}} if headers else {})
    settings = HttpIndexSettings(url=url, skip_folders=skips)
    return HttpIndexConnector(settings=settings, credentials=credentials, context=context)


async def batches_of(connector: Connector, cursor: str | None = None) -> list[ListedBatch]:
    return [batch async for batch in connector.list_changes(cursor)]


async def listed(connector: Connector) -> list[ListedItem]:
    return [item for batch in await batches_of(connector) for item in batch.items]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[FileListing]:
    with FileListing(tmp_path) as server:
        yield server


async def test_odd_names_are_listed_and_read(files: FileListing) -> None:
    names = (
        "a b+c%20.txt",
        "ünï/日本 語.txt",
        'q?x#y&"<z>.txt',
        "back\\slash.txt",
        "..a/...",
        "nl\nx.txt",
        "long" * 50,
    )
    for name in names:
        files.write(name, name.encode())
    connector = connected(files.url)
    items = await listed(connector)
    for item in items:
        fetched = await connector.fetch(item)
        content = b"".join([block async for block in fetched.content])
        assert item.source_url == f"{files.url}{item.external_id}"
        assert await connector.find(item.external_id) == item
        assert content.decode() in names
    assert len({item.external_id for item in items}) == len(names)
    await connector.close()


async def test_empty_vanished_and_just_changed_files(files: FileListing) -> None:
    files.write("empty.txt", b"")
    files.write("gone.txt", b"x")
    files.write("new.txt", b"x", age_seconds=0)
    connector = connected(files.url)
    empty, gone, new = await listed(connector)
    assert empty.skip_reason == "The file is empty."
    assert new.version is None
    (files.folder / "gone.txt").unlink()
    with pytest.raises(ItemGoneError):
        await connector.fetch(gone)
    await connector.close()


async def test_skipped_folders_are_not_requested(files: FileListing) -> None:
    files.write("a/b c/x.txt", b"x")
    files.write("a/y.txt", b"x")
    connector = connected(files.url, skips=("a/b c",))
    assert [item.external_id for item in await listed(connector)] == ["a/y.txt"]
    assert await connector.find("a/b%20c/x.txt") is None
    await connector.close()


Answer = Callable[[web.Request], web.StreamResponse]


class Scripted:
    """A server whose answers a test writes; `asked` has the requests."""

    def __init__(self) -> None:
        self.answer: Answer = lambda _: web.Response(status=404)
        self.asked: list[tuple[str, str]] = []
        self.keys: set[str | None] = set()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.server = AppServer(app)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path))
        self.keys.add(request.headers.get("x-key"))
        return self.answer(request)

    def url(self, path: str = "/") -> str:
        return f"{self.server.url}{path}"


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)
    with (made := Scripted()).server:
        yield made


@pytest.fixture
async def opened() -> AsyncGenerator[list[Connector]]:
    connectors: list[Connector] = []
    yield connectors
    for connector in connectors:
        await connector.close()


def page(*names: str, title: str = "Index of /", behind: str = "") -> web.Response:
    links = "".join(f'<a href="{name}">x</a>{behind}' for name in names)
    return web.Response(text=f"<title>{title}</title><pre>{links}</pre>", content_type="text/html")


def by_path(pages: dict[str, Callable[[], web.Response]]) -> Answer:
    return lambda request: pages.get(request.path, lambda: web.Response(text="content"))()


async def test_dated_listing_saves_a_request_for_each_known_file_once_the_date_is_old(scripted: Scripted) -> None:
    scripted.answer = by_path({"/": lambda: page("a.txt", "b.txt", behind=" 05-Mar-2024 06:07 7 ")})
    connector = connected(scripted.url())
    items = await listed(connector)
    await connector.close()
    assert [request for request in scripted.asked if request[0] == "HEAD"] == [("HEAD", "/a.txt"), ("HEAD", "/b.txt")]

    versioned = [replace(item, version="1") for item in items]  # aiohttp's answers have none
    a, b = [KnownItem(version=item.version, note=item.note) for item in versioned]
    assert b.note is not None
    young = KnownItem(version="1", note=json.dumps({**json.loads(b.note), "on": "2024-03-06"}))
    for known, expected in (((a, b), []), ((a, young), ["/b.txt"]), ((a, KnownItem("1", "{damaged")), ["/b.txt"])):
        scripted.asked.clear()
        connector = connected(scripted.url(), {"a.txt": known[0], "b.txt": known[1]})
        again = await listed(connector)
        assert again[0] == versioned[0]
        assert [path for method, path in scripted.asked if method == "HEAD"] == expected
        await connector.close()

    scripted.asked.clear()
    scripted.answer = by_path({"/": lambda: page("a.txt", behind=" 05-Mar-2024 06:08 7 ")})
    connector = connected(scripted.url(), {"a.txt": a})
    await listed(connector)
    assert ("HEAD", "/a.txt") in scripted.asked
    await connector.close()


async def test_folders_that_cannot_be_listed_are_problems(scripted: Scripted, opened: list[Connector]) -> None:
    scripted.answer = by_path({
        "/": lambda: page("closed/", "gone/", "page/", "away/", "out/", "a.txt"),
        "/closed/": lambda: web.Response(status=403),
        "/gone/": lambda: web.Response(status=404),
        "/page/": lambda: page(title="Welcome"),
        "/away/": lambda: web.Response(status=302, headers={"location": "/closed/"}),
        "/out/": lambda: web.Response(status=302, headers={"location": "http://169.254.169.254/"}),
    })  # fmt: skip
    opened.append(connected(scripted.url()))
    batches = await batches_of(opened[0])
    problems = [problem for batch in batches for problem in batch.problems]
    assert [problem.partition("/")[0] for problem in problems] == ["away", "closed", "out", "page"]
    assert [item.external_id for batch in batches for item in batch.items] == ["a.txt"]


async def test_links_in_a_circle_end(
    scripted: Scripted, opened: list[Connector], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.answer = lambda request: page("again/") if request.path.endswith("/") else web.Response(text="x")
    opened.append(connected(scripted.url()))
    problems = [problem for batch in await batches_of(opened[0]) for problem in batch.problems]
    assert len(problems) == 1
    assert len(scripted.asked) == walk.DEEPEST + 2

    monkeypatch.setattr(walk, "MOST_FOLDERS", 100)
    scripted.asked.clear()
    scripted.answer = lambda _: page("one/", "two/")
    opened.append(connected(scripted.url()))
    batches = await batches_of(opened[1])
    assert any("More than 100 folders" in problem for batch in batches for problem in batch.problems)
    assert len(scripted.asked) == 101
    # A run that continues counts on.
    scripted.asked.clear()
    opened.append(connected(scripted.url()))
    await batches_of(opened[2], batches[1].cursor)
    assert len(scripted.asked) < 101


async def test_page_in_place_of_a_list_is_refused(scripted: Scripted, opened: list[Connector]) -> None:
    scripted.answer = lambda _: page(title="Welcome")
    opened.append(connected(scripted.url()))
    with pytest.raises(PermanentError, match="kind `web`"):
        await opened[0].check()
    with pytest.raises(PermanentError, match="kind `web`"):
        await batches_of(opened[0])


async def test_failed_files_keep_their_documents_and_a_wait_is_obeyed(
    scripted: Scripted, opened: list[Connector]
) -> None:
    status, headers = 500, dict[str, str]()

    def answer(request: web.Request) -> web.Response:
        if request.path == "/":
            return page("a.txt", "b.txt")
        return web.Response(status=status, headers=headers) if request.path == "/a.txt" else web.Response(text="x")

    scripted.answer = answer
    opened.append(connected(scripted.url()))
    failed, fine = await listed(opened[0])
    assert (failed.external_id, fine.failure) == ("a.txt", None)
    assert failed.failure is not None
    assert "500" in failed.failure

    status, headers = 429, {"retry-after": "600"}
    with pytest.raises(RateLimitedError) as limited:
        await listed(opened[0])
    assert limited.value.retry_after == 600


async def test_credentials_stay_with_the_server(scripted: Scripted, opened: list[Connector]) -> None:
    other = Scripted()
    with other.server:
        other.answer = lambda _: web.Response(text="from a mirror")
        scripted.answer = lambda request: (
            page("a.txt")
            if request.path == "/"
            else web.Response(status=302, headers={"location": f"http://127.0.0.1:{other.server.port}/a"})
        )
        opened.append(connected(scripted.url(), headers="secret"))
        (item,) = await listed(opened[0])
        fetched = await opened[0].fetch(item)
        assert b"".join([block async for block in fetched.content]) == b"from a mirror"
    assert scripted.keys == {"secret"}
    assert other.keys == {None}


async def test_private_addresses_are_refused(scripted: Scripted) -> None:
    connector = connected(scripted.url().replace("127.0.0.1", "127.0.0.2"))
    with pytest.raises(ForbiddenAddressError):
        await connector.check()
    await connector.close()


async def test_public_bucket_is_read_by_its_own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with MotoS3() as store:
        monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", float("inf"))
        names = [f"a//{number:04} +%.txt" for number in range(1203)]
        for name in names:
            store.write(name, name.encode(), is_public=True)
        connector = connected(f"{store.url}/{store.bucket}")
        await connector.check()
        batches = await batches_of(connector)
        items = [item for batch in batches for item in batch.items]
        assert [item.external_id for item in items] == names
        fetched = await connector.fetch(items[-1])
        assert b"".join([block async for block in fetched.content]) == names[-1].encode()
        rest = await batches_of(connector, batches[2].cursor)
        assert [item.external_id for batch in rest for item in batch.items] == names[600:]
        assert await connector.find(names[5]) == items[5]
        assert await connector.find("none.txt") is None
        await connector.close()
