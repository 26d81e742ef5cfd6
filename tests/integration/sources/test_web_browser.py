"""Pages made by JavaScript, in a real Chromium: read as a visitor sees them, and held to the checked addresses."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from analytiq.ingestion.sources.systems.web import browser as browser_module
from analytiq.ingestion.sources.systems.web.browser import NAMES, NoBrowserError
from tests.fakes.web_site import Served, WebSite
from tests.unit.sources.web_crawling import Crawler

pytestmark = pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="Chromium is not installed")


@pytest.fixture
def site() -> Iterator[WebSite]:
    with WebSite() as made:
        yield made


def shell(script: str) -> Served:
    """Return a page without text, as applications in the browser have."""
    return Served(f"<!doctype html><title>App</title><div id=app></div><script>{script}</script>".encode())


APPLICATION = """
fetch('/data.json' + location.pathname).then(answer => answer.json()).then(data => {
  document.title = data.title;
  document.getElementById('app').innerHTML =
    `<h1>${data.title}</h1><p>${data.words}</p>` + data.links.map(link => `<a href="${link}">More</a>`).join('');
});
"""


def data(title: str, words: str, *links: str) -> Served:
    quoted = ", ".join(f'"{link}"' for link in links)
    return Served(f'{{"title": "{title}", "words": "{words}", "links": [{quoted}]}}'.encode(), "application/json")


async def test_application_in_the_browser_is_read_and_followed_and_its_changes_are_seen(site: WebSite) -> None:
    site.files["/"] = site.files["/two"] = shell(APPLICATION)
    site.files["/data.json/"] = data("Pumps", "The pump runs at forty bar all day.", "/two", "/plain")
    site.files["/data.json/two"] = data("Valves", "The valve closes within two seconds of the signal.")
    site.page("/plain", "A page that needs no script at all.")
    crawler = Crawler(site)
    first = await crawler.crawl()
    assert sorted(first.paths(site)) == ["/", "/plain", "/two"]
    assert first.of(site, "/").fields["title"] == "Pumps"
    assert b"forty bar" in first.contents[f"{site.url}/"]
    assert b"two seconds" in first.contents[f"{site.url}/two"]
    assert (await crawler.crawl()).contents == {}
    site.files["/data.json/two"] = data("Valves", "The valve closes within three seconds of the signal.")
    assert list((await crawler.crawl()).contents) == [f"{site.url}/two"]


@pytest.mark.parametrize("mode", ["never", "when_needed"])
async def test_page_without_a_browser_is_skipped_with_the_reason(mode: str, site: WebSite, tmp_path: Path) -> None:
    site.files["/"] = shell(APPLICATION)
    site.files["/data.json/"] = data("Pumps", "The pump runs at forty bar all day.")
    crawled = await Crawler(site, {"javascript": mode}, browser=tmp_path / "none").crawl()
    reason = crawled.of(site, "/").skip_reason or ""
    assert ("JavaScript" if mode == "never" else "The browser of this server does not start") in reason
    assert all(not path.startswith("/data.json") for path in site.paths())


async def test_source_that_needs_a_browser_where_none_is_fails_its_check(
    site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/", "A page that needs no script at all.")
    monkeypatch.setattr(browser_module, "NAMES", ("no-such-browser",))
    connector = Crawler(site, {"javascript": "always"}).open()
    with pytest.raises(NoBrowserError, match="operator"):
        await connector.check()
    await connector.close()


async def test_page_reaches_no_host_that_may_not_be_read(site: WebSite) -> None:
    """Neither by a request, a frame, a socket, an image, a worker, a beacon, a redirect nor a form."""
    secret = f"http://localhost:{site.port}"
    site.redirect("/away", f"{secret}/by-redirect")
    site.files["/worker.js"] = Served(f"fetch('{secret}/by-worker').catch(() => 0)".encode(), "text/javascript")
    site.files["/"] = shell(
        f"""
        const told = [fetch('{secret}/by-fetch', {{mode: 'no-cors'}}), fetch('/away', {{mode: 'no-cors'}})];
        for (const [tag, name] of [['iframe', 'src'], ['img', 'src'], ['script', 'src'], ['embed', 'src']]) {{
          const element = document.createElement(tag);
          element[name] = '{secret}/by-' + tag;
          document.body.append(element);
        }}
        document.head.insertAdjacentHTML('beforeend', '<link rel=prefetch href="{secret}/by-prefetch">');
        document.head.insertAdjacentHTML('beforeend', '<link rel=preconnect href="{secret}">');
        navigator.sendBeacon('{secret}/by-beacon', 'x');
        new WebSocket('ws://localhost:{site.port}/by-socket');
        new Worker('/worker.js');
        new EventSource('{secret}/by-events');
        window.open('{secret}/by-window');
        const relay = {{urls: 'turn:localhost:{site.port}?transport=tcp', username: 'u', credential: 'c'}};
        new RTCPeerConnection({{iceServers: [relay]}}).createDataChannel('x');
        Promise.allSettled(told).then(all => {{
          document.getElementById('app').textContent = 'All that was asked for ended.';
        }});
        """
    )
    crawled = await Crawler(site).crawl()
    assert b"asked for ended." in crawled.contents[f"{site.url}/"]
    assert not any("/by-" in each.path for each in site.asked)
    assert {"/away", "/worker.js"} <= {each.path for each in site.asked}


async def test_secrets_go_to_the_start_address_only(site: WebSite) -> None:
    other = f"http://localhost:{site.port}"
    site.redirect("/away", f"{other}/by-redirect")
    site.files["/other"] = Served(b"{}", "application/json", headers={"Access-Control-Allow-Origin": "*"})
    site.files["/by-redirect"] = site.files["/other"]
    site.files["/data.json/"] = data("Pumps", "The pump runs at forty bar all day.")
    site.files["/"] = shell(f"fetch('{other}/other'); fetch('/away').catch(() => 0); {APPLICATION}")
    crawler = Crawler(site, credentials={"headers": {"X-Key": "a secret"}}, private_hosts=("127.0.0.1", "localhost"))
    crawled = await crawler.crawl()
    assert b"forty bar" in crawled.contents[f"{site.url}/"]
    keys = {each.path: each.headers.get("x-key") for each in site.asked}
    assert keys["/data.json/"] == "a secret"
    assert keys["/other"] is None
    assert "/by-redirect" not in keys


async def test_shadow_trees_and_frames_of_the_origin_are_read_in_their_places(site: WebSite) -> None:
    other = f"http://localhost:{site.port}"
    site.files["/frame/inner"] = Served(
        b"<p>The frame tells the torque.</p><a href=deeper>Deeper</a><p id=late></p>"
        b"<script>document.getElementById('late').textContent = 'Twelve newton metres.'</script>"
    )
    site.page("/frame/deeper", "The page that only the frame links to.")
    site.files["/"] = shell(
        f"""
        const make = (name, mode, html) => customElements.define(name, class extends HTMLElement {{
          constructor() {{ super(); this.attachShadow({{ mode }}).innerHTML = html; }}
        }});
        const style = '<style>p {{ color: red }}</style>';
        make('open-card', 'open', style + '<p>Before, <slot>nothing given</slot>, after.</p>');
        const inner = '<open-card>inner pump</open-card><a href="/linked">x</a>';
        make('closed-card', 'closed', '<h2>Closed heading</h2>' + inner);
        document.getElementById('app').innerHTML = '<open-card>a valve</open-card><open-card></open-card>'
          + '<closed-card></closed-card><iframe src="/frame/inner"></iframe><iframe src="{other}/foreign"></iframe>';
        """
    )
    site.page("/linked", "A page that only a shadow tree links to.")
    site.page("/foreign", "Words of another origin.")
    crawled = await Crawler(site).crawl()
    content = crawled.contents[f"{site.url}/"].decode()
    words = " ".join(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", content, flags=re.DOTALL).split())
    assert "Before, a valve, after." in words
    assert "Before, nothing given, after." in words
    assert "Closed heading Before, inner pump, after." in words
    assert "The frame tells the torque. Deeper Twelve newton metres." in words
    assert "another origin" not in words
    assert sorted(crawled.paths(site)) == ["/", "/frame/deeper", "/linked"]
    assert all("foreign" not in each.path for each in site.asked)


async def test_login_reaches_the_pages_of_its_host_through_redirects_beside_their_own_cookies(site: WebSite) -> None:
    site.redirect("/data.json/", "/moved")
    site.files["/moved"] = data("Pumps", "The pump runs at forty bar all day.")
    site.files["/"] = shell(f"document.cookie = 'own=1'; document.cookie = 'login=overwritten'; {APPLICATION}")
    crawler = Crawler(site, credentials={"cookie": "login=secret"})
    crawled = await crawler.crawl()
    assert b"forty bar" in crawled.contents[f"{site.url}/"]
    cookies = {each.path: each.headers.get("cookie") for each in site.asked}
    assert cookies["/moved"] == "login=secret; own=1"
    assert b"secret" not in crawled.contents[f"{site.url}/"]


async def test_pages_that_do_not_end_fail_alone(site: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_module, "PAGE_SECONDS", 8.0)
    monkeypatch.setattr(browser_module, "CLOSE_SECONDS", 1.0)
    monkeypatch.setattr("analytiq.ingestion.sources.systems.web.visiting.MOST_TRIES", 1)
    site.page("/", "A page with links to others.", ["/endless", "/good"])
    site.files["/endless"] = shell("while (true) {}")
    site.files["/good"] = shell(APPLICATION)
    site.files["/data.json/good"] = data("Pumps", "The pump runs at forty bar all day.")
    crawled = await Crawler(site).crawl()
    assert "did not finish" in (crawled.of(site, "/endless").failure or "")
    assert b"forty bar" in crawled.contents[f"{site.url}/good"]


async def test_page_that_loads_too_much_is_skipped(site: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_module, "MOST_PAGE_BYTES", 200_000)
    monkeypatch.setattr(browser_module, "TEXT_SECONDS", 1.0)
    site.files["/large.js"] = Served(b"/*" + b"x" * 1_000_000 + b"*/", "text/javascript")
    site.files["/"] = Served(b"<div></div><script src=/large.js></script><script src=/large.js?2></script>")
    crawled = await Crawler(site).crawl()
    assert crawled.paths(site) == []


async def test_scripts_that_lead_elsewhere_are_a_redirect(site: WebSite) -> None:
    site.files["/"] = shell("location.replace('/two')")
    site.page("/two", "A page that needs no script at all.")
    assert (await Crawler(site).crawl()).paths(site) == ["/two"]
