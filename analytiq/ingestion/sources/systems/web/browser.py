"""Pages made by JavaScript: opened in the system's Chromium, whose connections all go through a checked proxy.

One browser for a run of a source, one context with a proxy of its own for each page: cookies, storage and connections
end with the page. Playwright drives it; without the extra `browser`, or without a Chromium, there is no browser.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast
from urllib.parse import urljoin

import structlog

from analytiq.errors import PermanentError
from analytiq.ingestion.sources.connections.decoding import UnreadableError
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError, requirement
from analytiq.ingestion.sources.systems.web.addresses import normalized, origin_of
from analytiq.ingestion.sources.systems.web.checked_proxy import USER, CheckedProxy
from analytiq.ingestion.sources.systems.web.composed_page import COMPOSED, HAS_WORDS, OPENS_SHADOW_TREES
from analytiq.ingestion.sources.systems.web.page import MOST_HTML_BYTES
from analytiq.ingestion.sources.systems.web.requests import USER_AGENT, TooLargeError
from analytiq.settings import SourceSettings

if TYPE_CHECKING:
    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import BrowserContext, Page, Playwright, Request, Route

log = structlog.get_logger(__name__)

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
AT_ONCE = 2
"""Pages at the same time: one takes up to a core and some hundred megabytes."""
PAGE_SECONDS = 25.0
"""Longest time for a page from its request to its text."""
START_SECONDS = 30.0
TEXT_SECONDS = 8.0
"""Longest wait for the first words of a page."""
QUIET_SECONDS = 4.0
"""Longest wait for a page with words to request nothing more."""
CLOSE_SECONDS = 5.0
MOST_PAGE_BYTES = 64 * 1024 * 1024
"""Most bytes that a page and all that it loads may have."""
MOST_REDIRECTS = 5
"""Of a request with the secrets of its origin, within it."""
_UNNEEDED = frozenset({"image", "media", "font"})
_ARGUMENTS = (
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
    "--disable-domain-reliability", "--no-first-run", "--no-pings", "--disable-gpu", "--mute-audio",
    # Names are resolved by the proxy only, and UDP of WebRTC has none.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=512",
)  # fmt: skip
_NOWHERE = "http://127.0.0.1:9"
"""The proxy of what belongs to no page; RFC 863's port, where nothing listens."""


class NoBrowserError(PermanentError):
    """Pages cannot be opened in a browser here; the detail says what the operator may do."""

    code = "no_browser"


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page after its scripts ran: its HTML, and its address, which a script may have changed."""

    content: bytes
    address: str


def find_browser(operator: SourceSettings) -> str:
    """Return the path of the browser.

    Raises:
        NoBrowserError: there is no Chromium, or Playwright is not installed.
    """
    path = str(operator.browser) if operator.browser else next(filter(None, map(shutil.which, NAMES)), None)
    if path is None or find_spec("playwright") is None:
        raise NoBrowserError(
            "This server has no browser for pages made by JavaScript. The operator installs Chromium and the extra"
            " `browser` of Analytiq on the workers."
        )
    return path


class Browser:
    """A browser that starts with its first page.

    The secrets are headers for these origins; a request to another origin never has them, nor does a redirect.
    """

    def __init__(self, operator: SourceSettings, secrets: Mapping[str, str], origins: frozenset[str]) -> None:
        self._operator = operator
        self._secrets = secrets
        self._origins = origins
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._starting = asyncio.Lock()
        self._driver: Playwright | None = None
        self._browser: PlaywrightBrowser | None = None
        self._home: tempfile.TemporaryDirectory[str] | None = None

    async def render(self, address: str) -> RenderedPage:
        """Open a page, let its scripts run, and return it.

        Raises:
            NoBrowserError: there is no browser, or it does not start.
            ForbiddenAddressError: the page's host may not be connected to.
            TooLargeError: the page has too many bytes.
            UnreadableError: it cannot be opened, or does not end in time.
        """
        from playwright.async_api import Error

        async with self._slots:
            browser = await self._started()
            async with CheckedProxy(requirement(self._operator), most_bytes=MOST_PAGE_BYTES) as proxy:
                try:
                    async with asyncio.timeout(PAGE_SECONDS), self._context(browser, proxy) as context:
                        return await self._rendered(context, address)
                except TimeoutError:
                    raise UnreadableError(f"The browser did not finish the page within {PAGE_SECONDS:g} s.") from None
                except Error as error:
                    if proxy.is_exhausted:
                        raise TooLargeError(f"The page loads more than {MOST_PAGE_BYTES:,} bytes.") from None
                    if proxy.refused:
                        raise ForbiddenAddressError(
                            f"The page needs hosts that may not be read: {', '.join(sorted(proxy.refused))[:300]}."
                        ) from None
                    # Its text may quote headers.
                    raise UnreadableError(f"The browser could not open the page ({_code_of(error)}).") from None

    async def close(self) -> None:
        """End the browser."""
        browser, driver, home = self._browser, self._driver, self._home
        self._browser = self._driver = self._home = None
        for part in (browser.close if browser else None, driver.stop if driver else None):
            if part is not None:
                with suppress(Exception):  # it may have died
                    async with asyncio.timeout(CLOSE_SECONDS):
                        await part()
        if home is not None:
            with suppress(OSError):
                home.cleanup()

    async def _started(self) -> "PlaywrightBrowser":
        from playwright.async_api import Error, async_playwright

        async with self._starting:
            if self._browser is not None and self._browser.is_connected():
                return self._browser
            await self.close()
            path = find_browser(self._operator)
            self._home = tempfile.TemporaryDirectory(prefix="analytiq-browser-", ignore_cleanup_errors=True)
            try:
                async with asyncio.timeout(START_SECONDS):
                    self._driver = await async_playwright().start()
                    self._browser = await self._driver.chromium.launch(
                        executable_path=path,
                        args=list(_ARGUMENTS),
                        chromium_sandbox=self._operator.browser_sandbox,
                        proxy={"server": _NOWHERE},
                        # Nothing of the worker's environment, which holds the secrets of the installation.
                        env={"HOME": self._home.name, "PATH": os.defpath, "LANG": "C.UTF-8"},
                    )
            except (Error, OSError, TimeoutError) as error:
                log.warning("sources.browser_does_not_start", error=str(error)[:2000])
                await self.close()
                raise NoBrowserError(
                    "The browser of this server does not start. As root it starts only with"
                    " ANALYTIQ_SOURCES__BROWSER_SANDBOX=false; the log of the worker has its message."
                ) from None
            return self._browser

    @asynccontextmanager
    async def _context(self, browser: "PlaywrightBrowser", proxy: CheckedProxy) -> "AsyncGenerator[BrowserContext]":
        context = await browser.new_context(
            proxy={"server": proxy.url, "username": USER, "password": proxy.password},
            user_agent=USER_AGENT,
            service_workers="block",
            accept_downloads=False,
            viewport={"width": 1280, "height": 2000},
        )
        try:
            yield context
        finally:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await context.close()
            except Exception:  # noqa: BLE001  # whatever the driver says
                # A page that never yields: only the end of its browser ends it.
                log.warning("sources.browser_killed")
                await self.close()

    async def _rendered(self, context: "BrowserContext", address: str) -> RenderedPage:
        from playwright.async_api import TimeoutError as Late

        await context.add_init_script(OPENS_SHADOW_TREES)
        await context.route("**/*", self._request)
        page = await context.new_page()
        context.on("page", _close_popup)
        await page.goto(address, wait_until="domcontentloaded", timeout=PAGE_SECONDS * 1000)
        with suppress(Late):
            await page.wait_for_function(HAS_WORDS, timeout=TEXT_SECONDS * 1000)
            await page.wait_for_load_state("networkidle", timeout=QUIET_SECONDS * 1000)
        size = cast("int", await page.evaluate("() => document.documentElement.outerHTML.length"))
        if size > MOST_HTML_BYTES * 2:
            raise TooLargeError(f"The page has {size:,} characters after its scripts ran.")
        html = cast("str | None", await page.evaluate(COMPOSED)) or await page.content()
        if len(html) > MOST_HTML_BYTES * 2:
            raise TooLargeError(f"The page has {len(html):,} characters with its frames.")
        return RenderedPage(html.encode("utf-8", "replace"), normalized(page.url) or address)

    async def _request(self, route: "Route") -> None:
        from playwright.async_api import Error

        request = route.request
        with suppress(Error):  # the page has gone
            if request.resource_type in _UNNEEDED:
                await route.abort()
                return
            address = normalized(request.url)
            if not self._secrets or address is None or origin_of(address) not in self._origins:
                await route.continue_()
                return
            await self._answer_with_secrets(route)

    async def _answer_with_secrets(self, route: "Route") -> None:
        """Answer a request to an origin of the secrets. Headers of `continue_` would follow redirects to others."""
        request = route.request
        address: str | None = None
        for _ in range(MOST_REDIRECTS + 1):
            headers = await self._headers(request, address or request.url)
            answer = await route.fetch(url=address, headers=headers, max_redirects=0)
            if not 300 <= answer.status < 400 or "location" not in answer.headers:
                await route.fulfill(response=answer)
                return
            address = normalized(urljoin(answer.url, answer.headers["location"]))
            if address is None or origin_of(address) not in self._origins or request.method not in {"GET", "HEAD"}:
                break
        await route.abort()

    async def _headers(self, request: "Request", address: str) -> dict[str, str]:
        """Return the headers of a request with the secrets, beside cookies that the site set in the browser."""
        headers = {**request.headers, **{name.lower(): value for name, value in self._secrets.items()}}
        if "cookie" in headers:
            given = {pair.partition("=")[0].strip() for pair in headers["cookie"].split(";")}
            for cookie in await request.frame.page.context.cookies(address):
                name, value = cookie.get("name", ""), cookie.get("value", "")
                if name not in given:
                    headers["cookie"] += f"; {name}={value}"
        return headers


async def _close_popup(page: "Page") -> None:
    with suppress(Exception):
        await page.close()


def _code_of(error: Exception) -> str:
    """Return the network error's name of a message of Playwright; "failed" if it has none."""
    words = str(error).split()
    return next((word for word in words if word.startswith("net::ERR_") and word.replace("_", "").isascii()), "failed")
