"""Web sources on hostile sites: nothing private is reached, and memory, time and requests are bounded."""

import asyncio
import gzip
import io
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from analytiq.errors import AnalytiqError, InvalidInputError
from analytiq.inference.providers import guarded_http
from analytiq.ingestion.sources.connections import outbound
from analytiq.ingestion.sources.connections.decoding import Inflater, UnreadableError, seconds_of
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError, requirement
from analytiq.ingestion.sources.kinds.web import WebConnector, WebCredentials, WebSettings
from analytiq.ingestion.sources.registry import validated
from analytiq.ingestion.sources.systems.web import visiting
from analytiq.ingestion.sources.systems.web.crawl import BATCH_SECONDS
from analytiq.ingestion.sources.systems.web.link_lists import NoLinkListError, link_list
from analytiq.ingestion.sources.systems.web.page import PageFacts, page_facts
from analytiq.ingestion.sources.systems.web.requests import Answer, WebClient
from analytiq.ingestion.sources.systems.web.robots import rules_of
from analytiq.settings import SourceSettings
from tests.fakes.web_site import Served, WebSite
from tests.unit.sources.web_crawling import Crawler

WORDS = "Words that are on this page only, with the number "


@pytest.fixture
def site() -> Iterator[WebSite]:
    with WebSite() as made:
        yield made
        assert made.faults == []


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.web.visiting.UNNAMED_WAIT_SECONDS", 0.0)


async def test_host_that_is_not_public_is_refused_unless_the_operator_names_it(site: WebSite) -> None:
    site.page("/", WORDS)
    for private_hosts in ((), ("localhost",), ("127.0.0.2",)):
        with pytest.raises(ForbiddenAddressError, match="ANALYTIQ_SOURCES__PRIVATE_HOSTS"):
            await Crawler(site, private_hosts=private_hosts).crawl()
    assert site.asked == []


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_links_and_redirects_and_lists_to_private_hosts_are_refused(site: WebSite, host: str) -> None:
    private = f"http://{host}:{site.port}"
    site.page("/", WORDS, [f"{private}/secret", "/moved"], head=f'<link rel="canonical" href="{private}/secret">')
    site.redirect("/moved", f"{private}/secret")
    site.files["/robots.txt"] = Served(f"Sitemap: {private}/secret".encode())
    site.page("/secret", "The secret words of the server itself")
    crawled = await Crawler(site, {"hosts": ("*",)}).crawl()
    assert crawled.paths(site) == ["/"]
    assert "/secret" not in site.paths()
    assert any("not on the public Internet" in note for note in crawled.notes)


async def test_robots_that_redirect_to_a_private_host_are_not_followed_there(site: WebSite) -> None:
    site.page("/", WORDS)
    site.redirect("/robots.txt", f"http://localhost:{site.port}/secret")
    with pytest.raises(ForbiddenAddressError):
        await Crawler(site).crawl()
    assert "/secret" not in site.paths()


async def test_name_that_changes_its_address_after_the_check_is_checked_again(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    asked: list[str] = []

    async def look_up(host: str, _: int) -> list[str]:
        asked.append(host)
        return answers[min(len(asked), 2) - 1]

    monkeypatch.setattr(guarded_http, "look_up", look_up)
    # The loopback stands for the Internet: at the first look-up the name is there.
    monkeypatch.setattr(outbound, "is_public", lambda address: str(address) == "127.0.0.1")
    site.files["/robots.txt"] = Served(b"", headers={"Connection": "close"})
    site.page("/", WORDS)
    with pytest.raises(ForbiddenAddressError):
        await Crawler(site, {"url": f"http://rebinding.example:{site.port}/"}, private_hosts=()).crawl()
    assert [each.path for each in site.asked] == ["/robots.txt"]


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "::ffff:169.254.169.254"])
def test_services_of_clouds_are_refused_even_if_named(address: str) -> None:
    require = requirement(SourceSettings(private_hosts=("metadata", address)))
    for host in ("metadata", address):
        with pytest.raises(ForbiddenAddressError, match="never called"):
            require(host, [address])
    require("metadata", ["10.0.0.1"])


async def test_bombs_and_large_files_are_skipped_in_bounded_memory(site: WebSite) -> None:
    bomb = gzip.compress(b"<p>word</p>" * 6_000_000)
    site.page("/", WORDS, ["/bomb", "/deflated", "/large", "/endless", "/cut", "/brotli"])
    site.files["/bomb"] = Served(bomb, headers={"Content-Encoding": "gzip"})
    site.files["/deflated"] = Served(zlib.compress(b"a" * 60_000_000), headers={"Content-Encoding": "deflate"})
    site.files["/large"] = Served(b"a" * 3_000_001)
    site.files["/cut"] = Served(gzip.compress(b"<p>cut off</p>" * 1000)[:-20], headers={"Content-Encoding": "gzip"})
    site.files["/brotli"] = Served(b"abc", headers={"Content-Encoding": "br"})
    tracemalloc.start()
    crawled = await Crawler(site).crawl()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert crawled.paths(site) == ["/"]
    for path in ("/bomb", "/deflated", "/large"):
        assert crawled.of(site, path).skip_reason == "Larger than 3,000,000 bytes."
    assert crawled.of(site, "/cut").failure is not None
    assert "'br'" in (crawled.of(site, "/brotli").failure or "")
    assert peak < 30_000_000


async def test_compressed_pages_are_read(site: WebSite) -> None:
    page = b"<title>t</title><p>Compressed words of this page are here</p>"
    site.page("/", WORDS, ["/gzip", "/deflate"])
    site.files["/gzip"] = Served(
        gzip.compress(page) + gzip.compress(b"<p>more</p>"), headers={"Content-Encoding": "gzip"}
    )
    site.files["/deflate"] = Served(zlib.compress(page + b"!"), headers={"Content-Encoding": "deflate"})
    crawled = await Crawler(site).crawl()
    assert crawled.contents[f"{site.url}/gzip"] == page + b"<p>more</p>"
    assert crawled.contents[f"{site.url}/deflate"] == page + b"!"


async def test_addresses_that_a_crawl_remembers_are_bounded(site: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.web.crawl.SPARE_ADDRESSES", 20)
    site.page("/", WORDS, [f"/gone{number}" for number in range(500)])
    crawled = await Crawler(site, {"max_pages": 2}).crawl()
    assert len(site.paths()) <= 2 * 20 + 20
    assert any("more addresses" in problem.lower() for problem in crawled.problems)


async def test_headers_of_strangers_do_not_end_the_crawl(site: WebSite) -> None:
    site.page("/", WORDS, ["/etag", "/type", "/moved", "/length", "/new"])
    site.files["/etag"] = Served(
        b"<p>a page with a strange tag of its own</p>", headers={"ETag": '"\u00e9"'}, has_etag=False
    )
    site.files["/type"] = Served(b"<p>a page of no type at all</p>", content_type="text/html; charset=\u00e9" * 90)
    site.files["/moved"] = Served(status=302, headers={"Location": "http://[::1/\u00e9"}, has_etag=False)
    site.page("/new", WORDS + "new")
    crawler = Crawler(site)
    assert (await crawler.crawl()).paths(site) == ["/", "/etag", "/new"]
    again = await crawler.crawl()
    assert again.paths(site) == ["/", "/etag", "/new"]
    assert again.contents == {}


async def test_fault_in_reading_a_page_fails_this_page_alone(site: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    site.page("/", WORDS, ["/a", "/b"])
    site.page("/a", "RAISE")
    site.page("/b", WORDS + "b")

    def faulty(content: bytes, **named: Any) -> PageFacts:
        if b"RAISE" in content:
            raise ZeroDivisionError
        return page_facts(content, **named)

    monkeypatch.setattr(visiting, "page_facts", faulty)
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == ["/", "/b"]
    assert "ZeroDivisionError" in (crawled.of(site, "/a").failure or "")


async def test_slow_page_fails_alone(site: WebSite) -> None:
    site.page("/", WORDS, ["/slow", "/other"])
    site.files["/slow"] = Served(b"<p>slow</p>", seconds=30)
    site.page("/other", WORDS + "other")
    crawled = await Crawler(site, call_seconds=1.2).crawl()
    assert crawled.paths(site) == ["/", "/other"]
    assert "0.3 s" in (crawled.of(site, "/slow").failure or "")
    assert site.paths().count("/slow") == 2  # what takes so long is not asked for a third time


async def test_batch_with_its_longest_request_ends_before_its_source_passes_for_silent() -> None:
    for operator in (SourceSettings(), SourceSettings(probe_seconds=60), SourceSettings(probe_seconds=12)):
        client = WebClient(operator, {}, frozenset())
        assert client.longest_seconds + BATCH_SECONDS < operator.probe_seconds
        assert client.longest_seconds > 0
        await client.close()


async def test_server_that_cannot_be_reached_is_told_without_an_exception_of_the_library(site: WebSite) -> None:
    with pytest.raises(UnreadableError):
        await Crawler(site, {"url": "http://127.0.0.1:1/"}).crawl()


async def test_crawl_without_end_ends_by_its_requests(site: WebSite) -> None:
    def nothing(path: str) -> Served | None:
        number = path.removeprefix("/x")
        return Served(status=302, headers={"Location": f"/x{number}1"}, has_etag=False) if number != path else None

    site.rules.append(nothing)
    site.page("/", WORDS, [f"/x{number}" for number in range(1900)])
    crawled = await Crawler(site, {"max_pages": 2}).crawl()
    assert len(site.paths()) <= 2 * 4 + 200 + 5
    assert any("requests" in problem for problem in crawled.problems)


@pytest.mark.parametrize(
    "hostile",
    [
        b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>',
        b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]><urlset><url><loc>&a;</loc></url></urlset>',
        b"<urlset>" + b"<url>" * 5000,
        b"<urlset><url><loc>",
        b"\x1f\x8b damaged",
        b"\0\1\2",
        b"",
        gzip.compress(b"<urlset>" + b" " * 80_000_000),
    ],
)
def test_hostile_lists_are_refused_or_empty(hostile: bytes) -> None:
    try:
        found = link_list(io.BytesIO(hostile), address="https://example.com/sitemap.xml")
    except (NoLinkListError, UnreadableError):
        return
    assert not any("aaaa" in page or "hostname" in page for page in found.pages)


def test_robots_of_many_groups_and_wildcards_take_linear_work() -> None:
    agents = "".join(f"User-agent: robot{number}\n" for number in range(9000))
    rules = "".join(f"Disallow: /{'*a' * 20}{number}\n" for number in range(5000))
    text = f"User-agent: analytiq\n{agents}{rules}Crawl-delay: 1e9\n"
    answer = Answer("https://example.com/robots.txt", 200, httpx.Headers(), io.BytesIO(text.encode()))
    tracemalloc.start()
    found = rules_of(answer)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.allows("https://example.com/" + "a" * 1900)
    assert not found.allows("https://example.com/" + "a" * 30 + "7")
    assert found.delay_seconds == 30.0
    assert peak < 40_000_000  # a rule for each robot would be gigabytes


@pytest.mark.parametrize(
    "hostile",
    [
        b"<a href=" * 50_000,
        b"<a href='/x'>" * 60_000,
        b"<div>" * 60_000 + b"<a href=/deep>",
        b"<meta http-equiv=refresh content='0;url=" + b"x" * 500_000,
        b"<link rel=canonical href='" + b"/" * 500_000 + b"'>",
        b"\xff\xfe\x00" * 10_000,
        b"<base href='http://[bad'><a href='http://[::1'>x</a><a href='//'>y</a>",
        b"<title>" * 100_000,
        b"charset=" * 100_000,
    ],
)
def test_hostile_pages_are_read(hostile: bytes) -> None:
    facts = page_facts(hostile, address="https://example.com/", content_type="text/html; charset=no-such")
    assert len(facts.links) <= 2000
    assert len(facts.title) <= 500


@pytest.mark.parametrize(
    ("header", "is_unlisted"),
    [("noindex", True), ("googlebot: noindex, nofollow", False), ("googlebot: noindex, analytiq: none", True),
     ("unavailable_after: 25 Jun 2030", False), ("", False), ("all, noindex", True)],
)  # fmt: skip
def test_robots_header_counts_for_this_robot_and_for_all(header: str, *, is_unlisted: bool) -> None:
    facts = page_facts(b"<p>x", address="https://example.com/", content_type="text/html", robots_header=header)
    assert facts.is_unlisted == is_unlisted


def test_decompression_never_makes_more_than_a_block_at_once() -> None:
    packed = gzip.compress(b"\0" * 20_000_000)
    inflater = Inflater()
    sizes = [len(block) for block in inflater.blocks(packed)]
    assert max(sizes) <= 64 * 1024
    assert sum(sizes) == 20_000_000
    assert inflater.is_complete


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5.0), (" 120 ", 120.0), ("", None), ("soon", None), ("-5", None), ("9" * 500, None), ("1e9", None),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("Wed, 99 Oct 99999 07:28:00 GMT", None)],
)  # fmt: skip
def test_retry_after_is_read(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "credentials",
    [
        {"headers": {"X-A": "a\r\nX-B: b"}},
        {"headers": {"Host": "other"}},
        {"headers": {"a b": "c"}},
        {"cookie": "a=1\nb"},
        {"user": "ada"},
        {"password": "p"},
    ],
)
def test_credentials_that_cannot_be_sent_are_refused_without_a_value(credentials: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        validated(WebConnector.credentials_schema, credentials, field="credentials")  # pyright: ignore[reportArgumentType]
    assert "X-B" not in refused.value.detail


def test_credentials_are_not_shown() -> None:
    secrets = WebCredentials(headers={"X-Key": "hush"}, cookie="hush", user="a", password="hush")  # pyright: ignore[reportArgumentType]
    assert "hush" not in repr(secrets)


@pytest.mark.parametrize(
    "url", ["", "ftp://example.com", "example.com", "http://", "https://a:b@example.com/", "file:///etc"]
)
def test_address_that_is_not_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        WebSettings(url=url)


async def test_closing_in_the_middle_ends_all_requests(site: WebSite) -> None:
    site.page("/", WORDS, ["/slow1", "/slow2"])
    for path in ("/slow1", "/slow2"):
        site.files[path] = Served(b"<p>slow</p>", seconds=30)
    connector = Crawler(site).open()
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(anext(connector.list_changes(None)))
    async with asyncio.timeout(20):
        while len(site.paths()) < 3 and not task.done():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await connector.close()
    assert asyncio.all_tasks() <= before, "tasks of the crawl go on"


def test_error_of_a_refused_host_is_one_of_the_platform() -> None:
    assert issubclass(ForbiddenAddressError, AnalytiqError)
