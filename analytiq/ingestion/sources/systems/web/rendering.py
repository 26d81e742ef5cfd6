"""The decision which pages are opened in a browser, and their content after that."""

import hashlib
import io
from typing import Literal

import httpx

from analytiq.ingestion.sources.systems.web.browser import Browser
from analytiq.ingestion.sources.systems.web.page import PageFacts
from analytiq.ingestion.sources.systems.web.requests import Answer

FEWEST_WORDS = 5
"""A page with scripts and fewer words is made by them."""

Mode = Literal["when_needed", "always", "never"]


class PageRendering:
    """Opens pages in a browser, if the source wants it."""

    def __init__(self, browser: Browser, mode: Mode) -> None:
        self._browser = browser
        self._mode = mode

    def is_wanted(self, facts: PageFacts) -> bool:
        """Return True if a page is to be opened in the browser."""
        return self._mode == "always" or (self._mode == "when_needed" and needs_scripts(facts))

    async def render(self, answer: Answer) -> Answer:
        """Return a page as it is after its scripts ran. Its validators are gone: they are those of the page before.

        Raises:
            AnalytiqError: see `Browser.render`.
        """
        page = await self._browser.render(answer.address)
        return Answer(
            address=page.address,
            status=answer.status,
            headers=httpx.Headers(
                {"content-type": "text/html; charset=utf-8", "x-robots-tag": answer.header("x-robots-tag")}
            ),
            content=io.BytesIO(page.content),
            sha256=hashlib.sha256(page.content).hexdigest(),
            byte_size=len(page.content),
        )


def needs_scripts(facts: PageFacts) -> bool:
    """Return True for a page that has no text without its scripts."""
    return facts.word_count < FEWEST_WORDS and facts.has_scripts
