"""Web sources: the pages that a crawl finds, in which order, and what a repetition costs."""

import asyncio
import gzip
from collections.abc import Iterator
from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.errors import (
    AccessDeniedError,
    AnalytiqError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
    RateLimitedError,
)
from analytiq.ingestion.sources.patterns import accepting
from analytiq.ingestion.sources.systems.web.page import PageFacts
from analytiq.models.source import ItemFilters
from tests.fakes.web_site import Served, WebSite, html
from tests.unit.sources.web_crawling import Crawler

WORDS = "Words that are on this page only, with the number "


@pytest.fixture
def site() -> Iterator[WebSite]:
    with WebSite() as made:
        yield made
        assert made.faults == []


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a failing server again at once."""
    monkeypatch.setattr("analytiq.ingestion.sources.systems.web.visiting.UNNAMED_WAIT_SECONDS", 0.0)


def pages(site: WebSite, links: dict[str, list[str]]) -> None:
    """Serve pages with words of their own."""
    for path, targets in links.items():
        site.page(path, WORDS + path, targets)


async def test_pages_are_taken_breadth_first_and_each_once(site: WebSite) -> None:
    pages(site, {"/": ["/a", "b/", "/a#part", "/", "mailto:x@example.com", "javascript:void(0)", "http://[", "/gone"]})
    pages(site, {"/a": ["/a/1", "/b/"], "/b/": ["1?y=2&x=1", "1?x=1&y=2"], "/a/1": ["/deep"], "/deep": []})
    pages(site, {"/b/1?y=2&x=1": ["../a/1"]})
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == ["/", "/a", "/b/", "/a/1", "/b/1?y=2&x=1", "/deep"]
    assert sorted(site.paths()) == sorted([*crawled.paths(site), "/gone"])
    assert crawled.contents[f"{site.url}/a"] == site.files["/a"].body
    assert crawled.of(site, "/b/").name == f"127.0.0.1:{site.port}/b/index.html"
    assert crawled.of(site, "/").fields["title"] == (WORDS + "/")[:40].strip()
    assert crawled.problems == []
    assert any("do not exist" in note and " 1," in note for note in crawled.notes)


async def test_unchanged_page_costs_one_conditional_request_and_its_links_are_followed(site: WebSite) -> None:
    pages(site, {"/": ["/a", "/file.txt"], "/a": ["/b"], "/b": []})
    site.files["/file.txt"] = Served(b"A plain text.", "text/plain")
    crawler = Crawler(site)
    first = await crawler.crawl()
    site.asked.clear()
    site.page("/b", "Other words.")
    second = await crawler.crawl()
    assert [(item.external_id, item.version == old.version) for item, old in zip(second.items, first.items, strict=True)
            ] == [(f"{site.url}{path}", path != "/b") for path in ("/", "/a", "/file.txt", "/b")]  # fmt: skip
    assert list(second.contents) == [f"{site.url}/b"]
    paths = site.paths()
    assert sorted(paths) == ["/", "/a", "/b", "/file.txt"]
    statuses = {each.path: each.status for each in site.asked}
    assert [statuses[path] for path in ("/", "/a", "/file.txt", "/b")] == [304, 304, 304, 200]
    assert [item.fields for item in second.items[:3]] == [item.fields for item in first.items[:3]]


async def test_version_stays_while_only_scripts_and_hidden_fields_change(site: WebSite) -> None:
    def served(token: str, words: str) -> Served:
        scripts = f"<script>var token = '{token}'</script><input type=hidden value={token}><style>.{token} {{}}</style>"
        return Served((html(words) + scripts).encode(), has_etag=False)

    site.files["/"] = served("a1", WORDS)
    crawler = Crawler(site)
    (first,) = (await crawler.crawl()).items
    site.files["/"] = served("b2", WORDS)
    assert (await crawler.crawl()).items[0].version == first.version
    site.files["/"] = served("b2", f"{WORDS} more")
    assert (await crawler.crawl()).items[0].version != first.version


async def test_document_that_is_missing_is_requested_again_after_a_304(site: WebSite) -> None:
    pages(site, {"/": []})
    crawler = Crawler(site)
    await crawler.crawl()
    connector = crawler.open()
    (batch,) = [batch async for batch in connector.list_changes(None)]
    fetched = await connector.fetch(batch.items[0])
    assert b"".join([block async for block in fetched.content]) == site.files["/"].body
    assert [each.status for each in site.asked if each.path == "/"] == [200, 304, 200]
    await connector.close()


async def test_limits_of_pages_and_depth_end_the_crawl(site: WebSite) -> None:
    def calendar(path: str) -> Served | None:
        if not path.startswith("/calendar?month="):
            return None
        month = int(path.partition("=")[2])
        return Served(html(f"{WORDS} {month}", [f"?month={month + 1}"]).encode())

    site.rules.append(calendar)
    pages(site, {"/": ["/calendar?month=1"]})
    deep = await Crawler(site, {"max_depth": 3}).crawl()
    assert deep.paths(site) == ["/", *(f"/calendar?month={month}" for month in (1, 2, 3))]
    many = await Crawler(site, {"max_depth": 100, "max_pages": 30}).crawl()
    assert len(many.items) == 30
    assert many.problems == []
    assert any("max_pages" in note for note in many.notes)


async def test_loops_of_relative_links_sessions_and_copies_end(site: WebSite) -> None:
    def loops(path: str) -> Served | None:
        if path.startswith("/loop/"):  # relative to the wrong folder
            return Served(html(WORDS + path, ["loop/x/"]).encode(), has_etag=False)
        if path.startswith("/s/"):  # a session in the path: always the same words
            session = len(site.asked)
            links = "".join(f"<a href=/s/{session}/{end}>on</a>" for end in "ab")
            return Served((html("many " * 60) + links).encode(), has_etag=False)
        return None

    site.rules.append(loops)
    site.page("/", WORDS, ["/loop/", "/s/1/a", "/p?PHPSESSID=1", "/p?id=1&utm_source=x", "/p;jsessionid=A1?id=1"])
    pages(site, {"/p": [], "/p?id=1": []})
    crawled = await Crawler(site, {"max_depth": 90, "max_pages": 1000}).crawl()
    assert crawled.paths(site) == ["/", "/loop/", "/s/1/a", "/p", "/p?id=1", "/loop/loop/x/", "/loop/loop/x/loop/x/"]
    assert len(site.paths()) < 15


async def test_redirects_lead_to_one_document_and_loops_of_them_end(site: WebSite) -> None:
    pages(site, {"/": ["/old", "/older", "/new", "/round", "/far", "/out"], "/new": []})
    site.redirect("/old", "/new", 301)
    site.redirect("/older", "old", 308)
    site.redirect("/round", "/round2")
    site.redirect("/round2", "/round")
    site.redirect("/out", "http://192.0.2.1/")
    for number in range(20):
        site.redirect(f"/far{number or ''}", f"/far{number + 1}")
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == ["/", "/new"]
    assert crawled.problems == []
    assert site.paths().count("/new") == 1
    assert "/far9" not in site.paths()


async def test_canonical_address_stands_for_its_copies(site: WebSite) -> None:
    site.page("/", WORDS, ["/print/a", "/a?sort=1", "/one", "/lost"])
    site.page("/a", WORDS + "a", head='<link rel="canonical" href="/a">')
    for path in ("/print/a", "/a?sort=1"):
        site.page(path, WORDS + path, head='<link rel="canonical" href="/a">')
    site.page("/one", WORDS + "one", head='<link rel="canonical" href="/two">')
    site.page("/two", WORDS + "two", head='<link rel="canonical" href="/one">')
    site.page("/lost", WORDS + "lost", head='<link rel="canonical" href="/">')  # a template's mistake
    assert (await Crawler(site).crawl()).paths(site) == ["/", "/lost", "/a", "/two"]


async def test_page_stays_if_the_address_that_it_names_as_its_own_is_none(site: WebSite) -> None:
    pages(site, {"/": ["/a", "/b", "/c", "/nothing", "/d"]})
    site.redirect("/b/", "/b")
    for path, own in (("/a", "/no-such"), ("/b", "/b/"), ("/c", "https://elsewhere.example/c"), ("/d", "/nothing")):
        site.page(path, WORDS + path, head=f'<link rel="canonical" href="{own}">')
    assert sorted((await Crawler(site).crawl()).paths(site)) == ["/", "/a", "/b", "/c", "/d"]


async def test_robots_rules_are_obeyed_unless_the_owner_says_otherwise(site: WebSite) -> None:
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: analytiq\nDisallow: /private/\nDisallow: /*.txt$\n"
    rules += "Allow: /private/open"
    site.files["/robots.txt"] = Served(rules.encode(), "text/plain")
    pages(site, {"/": ["/private/x", "/private/open", "/notes.txt", "/quiet", "/end"], "/private/x": [],
                 "/private/open": []})  # fmt: skip
    site.files["/notes.txt"] = Served(b"Some notes.", "text/plain")
    site.page("/quiet", WORDS, ["/from-quiet"], head='<meta name="robots" content="noindex, follow">')
    site.page("/from-quiet", WORDS + "from")
    site.page("/end", WORDS + "end", ["/hidden"], head='<meta name="robots" content="nofollow">')
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == ["/", "/private/open", "/end", "/from-quiet"]
    assert not {"/private/x", "/notes.txt"} & set(site.paths())
    assert "/private/x" in (await Crawler(site, {"ignore_robots": True}).crawl()).paths(site)


async def test_site_whose_robots_rules_cannot_be_read_is_not_visited(site: WebSite) -> None:
    pages(site, {"/": []})
    site.files["/robots.txt"] = Served(status=503)
    with pytest.raises(AnalytiqError, match="robots"):
        await Crawler(site).crawl()
    assert site.paths() == []


async def test_start_that_robots_forbid_is_told(site: WebSite) -> None:
    pages(site, {"/": []})
    site.files["/robots.txt"] = Served(b"User-agent: *\nDisallow: /", "text/plain")
    connector = Crawler(site).open()
    with pytest.raises(AccessDeniedError, match="ignore_robots"):
        await connector.check()
    await connector.close()


async def test_sitemaps_nested_gzipped_and_named_by_robots_are_read(site: WebSite) -> None:
    def urlset(*paths: str) -> bytes:
        entries = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in paths)
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()

    site.files["/robots.txt"] = Served(f"Sitemap: {site.url}/maps/index.xml\nSitemap: /maps/list.txt".encode())
    nested = f"<sitemapindex><sitemap><loc>{site.url}/maps/1.xml.gz</loc></sitemap>"
    nested += "<sitemap><loc>/maps/index.xml</loc></sitemap></sitemapindex>"
    site.files["/maps/index.xml"] = Served(nested.encode(), "application/xml")
    site.files["/maps/1.xml.gz"] = Served(gzip.compress(urlset("/one", "/elsewhere")), "application/gzip")
    site.files["/maps/list.txt"] = Served(f"{site.url}/two\nhttp://192.0.2.1/other".encode(), "text/plain")
    site.files["/sitemap.xml"] = Served(urlset("/three"), "text/xml")
    pages(site, {"/": [], "/one": [], "/two": [], "/three": []})
    crawled = await Crawler(site, {"max_depth": 0}).crawl()
    assert sorted(crawled.paths(site)) == ["/", "/one", "/three", "/two"]
    without = await Crawler(site, {"use_sitemaps": False}).crawl()
    assert without.paths(site) == ["/"]


async def test_feeds_lead_to_their_entries(site: WebSite) -> None:
    rss = (
        "<rss><channel><link>/</link><item><link>/post/1</link></item><item><link>/post/2</link></item></channel></rss>"
    )
    links = '<link rel="self" href="/x"/><link href="/post/3"/>'
    atom = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry>{links}</entry></feed>'
    site.files["/rss"] = Served(rss.encode(), "application/rss+xml")
    site.files["/atom.xml"] = Served(atom.encode(), "application/xml")
    site.page("/", WORDS, ["/atom.xml"], head='<link rel="alternate" type="application/rss+xml" href="/rss">')
    pages(site, {"/post/1": [], "/post/2": [], "/post/3": []})
    assert sorted((await Crawler(site).crawl()).paths(site)) == ["/", "/post/1", "/post/2", "/post/3"]
    assert (await Crawler(site, {"url": f"{site.url}/rss"}).crawl()).paths(site) == ["/post/1", "/post/2"]


async def test_linked_files_become_documents_and_parts_of_pages_do_not(site: WebSite) -> None:
    site.page("/", WORDS, ["/a.pdf", "/download?id=3", "/style.css", "/photo.jpg", "/movie", "/data.zip", "/x.docx"])
    site.files["/a.pdf"] = Served(b"%PDF-1.7 a", "application/pdf")
    site.files["/download?id=3"] = Served(b"%PDF-1.7 b", "application/pdf")
    site.files["/movie"] = Served(b"film", "video/mp4")
    site.files["/x.docx"] = Served(b"PK\3\4", "application/octet-stream")
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == ["/", "/a.pdf", "/download?id=3", "/x.docx"]
    assert crawled.of(site, "/download?id=3").name.endswith("/download?id=3.pdf")
    assert not {"/style.css", "/photo.jpg", "/data.zip"} & set(site.paths())


async def test_pages_for_missing_addresses_that_answer_with_success_are_noted(site: WebSite) -> None:
    site.missing = Served(
        html("Sorry, this shop has no such page, look at our offers instead").encode(), has_etag=False
    )
    site.page("/", WORDS, ["/gone", "/sold", "/real"])
    site.page("/sold", "This is sold.", title="404 – page not found")
    menu = "Sorry, this shop has no such page, look at our offers instead"
    site.page("/real", f"{menu} or buy", title="A chair")  # mostly menus, like all pages of a site
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == ["/", "/real"]
    assert "does not exist" in (crawled.of(site, "/sold").skip_reason or "")
    assert any("page for what does not exist" in note for note in crawled.notes)


async def test_page_for_missing_addresses_that_names_the_address_is_noted(site: WebSite) -> None:
    site.rules.append(lambda path: Served(html(f"Sorry, there is no {path} here.", title="Oops").encode()))
    site.page("/", WORDS, ["/old/papers", "/old/books"])
    crawled = await Crawler(site, {"use_sitemaps": False}).crawl()
    assert crawled.paths(site) == ["/"]
    assert any("page for what does not exist" in note and " 2," in note for note in crawled.notes)


@pytest.mark.parametrize(
    ("title", "looks_missing"),
    [
        ("404", True),
        ("404 | Shop", True),
        ("Error 404", True),
        ("Error 404 (Not Found)!!1", True),
        ("Shop - 404", True),
        ("Number 404", False),
        ("404 ways to cook", False),
        ("Peugeot 404 of 1960", False),
    ],
)
def test_number_in_a_title_is_no_missing_page(title: str, looks_missing: bool) -> None:
    assert PageFacts(title=title, word_count=20).looks_missing is looks_missing


async def test_page_too_large_for_a_document_leads_on_nevertheless(site: WebSite) -> None:
    site.page("/", f"{WORDS} {'long ' * 1000}", ["/a"])
    site.page("/a", WORDS + "a")
    crawled = await Crawler(site, max_item_bytes=1000).crawl()
    assert (crawled.of(site, "/").byte_size or 0) > 1000  # the engine skips it
    assert crawled.of(site, "/a").skip_reason is None


async def test_page_without_text_but_with_scripts_is_skipped_with_the_reason(site: WebSite) -> None:
    site.page("/", WORDS, ["/app"])
    site.files["/app"] = Served(b"<title>App</title><div id=root></div><script src=app.js></script>")
    item = (await Crawler(site, {"javascript": "never"}).crawl()).of(site, "/app")
    assert "JavaScript" in (item.skip_reason or "")


async def test_patterns_choose_pages_and_others_are_visited_for_links_if_told(site: WebSite) -> None:
    pages(site, {"/": ["/docs/a", "/blog/", "/docs/draft"], "/docs/a": [], "/blog/": ["/docs/b"], "/docs/b": [],
                 "/docs/draft": []})  # fmt: skip
    accepts = accepting(ItemFilters(include=("*/docs/*",), exclude=("*draft*",)))
    assert (await Crawler(site, accepts=accepts).crawl()).paths(site) == ["/docs/a"]
    assert "/blog/" not in site.paths()
    followed = await Crawler(site, {"follow": ("*/blog/*",)}, accepts=accepts).crawl()
    assert followed.paths(site) == ["/docs/a", "/docs/b"]


async def test_failed_page_keeps_what_is_known_and_leads_on_by_its_last_links(site: WebSite) -> None:
    pages(site, {"/": ["/a", "/denied"], "/a": ["/b"], "/b": []})
    site.files["/denied"] = Served(status=403)
    crawler = Crawler(site)
    (problem,) = (await crawler.crawl()).problems
    assert problem.startswith(f"{site.url}/denied: HTTP 403: the site denies the access.")
    del site.files["/denied"]
    site.files["/a"] = Served(status=500)
    crawled = await crawler.crawl()
    assert [(item.external_id, item.failure is None) for item in crawled.items] == [
        (f"{site.url}/", True), (f"{site.url}/a", False), (f"{site.url}/b", True)
    ]  # fmt: skip
    assert crawled.problems == []
    assert site.paths().count("/a") == 1 + 3


async def test_failed_page_without_known_links_lets_nothing_be_removed(site: WebSite) -> None:
    pages(site, {"/": ["/a"]})
    site.files["/a"] = Served(status=500)
    crawled = await Crawler(site).crawl()
    assert len(crawled.problems) == 1
    assert "/a: The server answered with HTTP 500" in crawled.problems[0]


async def test_retry_after_of_seconds_is_waited_for(site: WebSite) -> None:
    pages(site, {"/": ["/a"]})
    answers = [Served(status=429, headers={"Retry-After": "1"}), Served(html(WORDS + "a").encode())]
    site.rules.append(lambda path: answers.pop(0) if path == "/a" and answers else None)
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == ["/", "/a"]
    first, second = [each.at for each in site.asked if each.path == "/a"]
    assert second - first >= 0.9


async def test_failures_in_between_change_nothing_of_the_order(site: WebSite) -> None:
    links = [f"/{letter}" for letter in "abcdefgh"]
    pages(site, {"/": links, **{link: [f"{link}/1"] for link in links}, **{f"{link}/1": [] for link in links}})
    undisturbed = (await Crawler(site).crawl()).paths(site)
    failing = {"/a", "/d", "/e/1"}

    def fail_once(path: str) -> Served | None:
        if path not in failing:
            return None
        failing.remove(path)
        return Served(status=503, headers={"Retry-After": "0"})

    served, site.files = site.files, {}
    site.rules += [fail_once, served.get]
    assert (await Crawler(site).crawl()).paths(site) == undisturbed
    assert not failing


async def test_delay_of_robots_rules_lies_between_two_requests(site: WebSite) -> None:
    site.files["/robots.txt"] = Served(b"User-agent: *\nCrawl-delay: 0.1\n", "text/plain")
    pages(site, {"/": ["/a", "/b"], "/a": [], "/b": []})
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await Crawler(site).crawl()
    assert len(site.asked) == 6
    assert loop.time() - begin >= 0.1 * 4  # none before the second request, which follows the rules at once


async def test_long_retry_after_gives_the_slot_back_and_the_run_goes_on_behind(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages(site, {"/": ["/a", "/b"], "/b": []})
    site.files["/a"] = Served(status=503, headers={"Retry-After": "200"})
    connector = (crawler := Crawler(site)).open()
    batches = connector.list_changes(None)
    first = await anext(batches)
    assert [item.external_id for item in first.items] == [f"{site.url}/"]
    with pytest.raises(RateLimitedError) as waiting:
        await anext(batches)
    assert 190 < (waiting.value.retry_after or 0) <= 200
    await connector.close()
    pages(site, {"/a": []})
    asked = len(site.asked)
    with pytest.raises(RateLimitedError):  # another worker does not ask earlier
        await crawler.crawl(first.cursor)
    assert len(site.asked) == asked
    later = clock.now() + timedelta(seconds=201)
    monkeypatch.setattr(clock, "now", lambda: later)
    rest = await crawler.crawl(first.cursor)
    assert rest.paths(site) == ["/a", "/b"]


async def test_site_that_always_asks_to_wait_ends_the_run(site: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.web.crawl.MOST_LONG_WAITS", 2)
    pages(site, {"/": [f"/{number}" for number in range(9)]})
    busy = Served(status=429, headers={"Retry-After": "200"})
    site.rules.append(lambda path: busy if path[1:].isdigit() else None)
    crawler, cursor, moment = Crawler(site), None, clock.now()
    for turn in range(3):
        connector = crawler.open()
        batches = connector.list_changes(cursor)
        cursor = (await anext(batches)).cursor
        with pytest.raises(RateLimitedError if turn < 2 else PermanentError):
            await anext(batches)
        await connector.close()
        later = moment + timedelta(seconds=201 * (turn + 1))
        monkeypatch.setattr(clock, "now", lambda later=later: later)


async def test_crawl_goes_on_behind_every_cursor_as_if_it_had_not_been_interrupted(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.web.crawl.BATCH", 3)
    pages(site, {"/": ["/r", "/a", "/b", "/c", "/gone"], "/a": ["/d", "/e"], "/b": ["/r2", "/f"], "/c": ["/a"]})
    pages(site, {"/d": [], "/e": ["/g"], "/f": [], "/g": []})
    site.redirect("/r", "/z")
    site.redirect("/r2", "/d")
    site.page("/z", WORDS + "z", ["/y"], head='<link rel="canonical" href="/z2">')
    pages(site, {"/z2": [], "/y": []})
    connector = (crawler := Crawler(site, {"max_pages": 9})).open()
    batches = [batch async for batch in connector.list_changes(None)]
    await connector.close()
    assert len(batches) > 2
    for index, batch in enumerate(batches):
        rest = [item.external_id for later in batches[index + 1 :] for item in later.items]
        assert [item.external_id for item in (await crawler.crawl(batch.cursor)).items] == rest


async def test_single_page_is_found_with_one_request_and_its_failure_is_an_item(site: WebSite) -> None:
    pages(site, {"/a": [], "/b": []})
    site.files["/bad"] = Served(status=500)
    site.files["/busy"] = Served(status=429, headers={"Retry-After": "100"})
    connector = Crawler(site).open()
    items = [await connector.find(f"{site.url}{path}") for path in ("/a", "/b")]
    for item in items:
        assert item is not None
        assert b"".join([block async for block in (await connector.fetch(item)).content])
    assert site.paths() == ["/a", "/b"]
    for path, reason in (("/bad", "HTTP 500"), ("/busy", "HTTP 429")):
        item = await connector.find(f"{site.url}{path}")
        assert item is not None
        assert reason in (item.failure or "")
    assert await connector.find(f"{site.url}/gone") is None
    await connector.close()


async def test_credentials_reach_the_sites_of_the_start_addresses_only(site: WebSite) -> None:
    credentials = {"headers": {"X-Key": "secret-1"}, "cookie": "s=secret-2", "user": "ada", "password": "secret-3"}
    with WebSite() as other:
        site.page("/", WORDS, [f"{other.url}/page", "/moved"])
        site.redirect("/moved", f"{other.url}/landed")
        pages(other, {"/page": [], "/landed": []})
        crawled = await Crawler(site, credentials=credentials).crawl()
        assert len(crawled.items) == 3
        own = next(each.headers for each in site.asked if each.path == "/")
        assert (own["x-key"], own["cookie"]) == ("secret-1", "s=secret-2")
        assert own["authorization"].startswith("Basic ")
        assert not any({"x-key", "cookie", "authorization"} & each.headers.keys() for each in other.asked)
        assert "secret" not in repr(crawled.items)


@pytest.mark.parametrize(
    ("served", "error", "match"),
    [
        (Served(status=404), NotFoundError, "do not exist"),
        (Served(status=401), AnalytiqError, "credentials"),
        (
            Served(status=301, headers={"Location": "https://elsewhere.example/"}),
            InvalidInputError,
            "elsewhere.example",
        ),
        (Served(status=500), AnalytiqError, "HTTP 500"),
        (Served(b"film", "video/mp4"), NotFoundError, "type"),
    ],
)
async def test_start_that_leads_nowhere_is_told(
    site: WebSite, served: Served, error: type[AnalytiqError], match: str
) -> None:
    site.files["/"] = served
    connector = Crawler(site).open()
    with pytest.raises(error, match=match):
        await connector.check()
    await connector.close()


async def test_hundreds_of_pages_are_listed_within_bounded_cursors(site: WebSite) -> None:
    def numbered(path: str) -> Served | None:
        number = int(path[3:]) if path.startswith("/n/") else 0
        links = [f"/n/{other}" for other in range(number * 10 + 1, number * 10 + 11) if other < 300]
        return Served(html(f"{WORDS} {number}", links).encode()) if path == "/" or number else None

    site.rules.append(numbered)
    crawler = Crawler(site, {"max_pages": 400})
    crawled = await crawler.crawl()
    assert len(crawled.items) == 300
    assert len(crawled.cursor) < 20_000
    site.asked.clear()
    again = await crawler.crawl()
    assert [item.version for item in again.items] == [item.version for item in crawled.items]
    assert again.contents == {}
    assert len(site.paths()) == 300
