"""Sources of wikis and issue trackers for the contract's tests: a page, or an issue, for each item."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from analytiq.ingestion.sources.base import ListedItem
from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening
from tests.fakes.confluence_server import ConfluenceServer
from tests.fakes.jira_server import JiraServer, adf
from tests.fakes.jira_server import paragraph as words_of
from tests.fakes.notion_server import NotionServer, paragraph

OPERATOR = SourceSettings(private_hosts=("127.0.0.1",))
_WORDS = re.compile(rb"<p>(.*?)</p>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MadeWiki(Made):
    """A source whose titles are the names of the items, with `|` for a slash."""

    def name_of(self, item: ListedItem) -> str:
        """Return the name of an item among the contents."""
        return item.name.rpartition("/")[2].removesuffix(".html").replace("|", "/")

    def text_of(self, content: bytes) -> bytes:
        """Return the words of the only paragraph."""
        (words,) = _WORDS.findall(content)
        return words


class MadeIssues(MadeWiki):
    """A source whose titles have a key before the name."""

    def name_of(self, item: ListedItem) -> str:
        """Return the name of an item among the contents."""
        return MadeWiki.name_of(self, item).partition(" ")[2]


def made_notion(stack: ExitStack, _: Path) -> Made:
    """Return a workspace with pages, and a database with the others as its rows."""
    server = stack.enter_context(NotionServer())
    source_id = server.add_database("Files")
    ids: dict[str, str] = {}

    def write(name: str, content: str) -> None:
        server.tick(10)
        title = name.replace("/", "|")
        if title in ids:
            server.edit(ids[title], paragraph(content))
        else:
            ids[title] = server.add_page(title, paragraph(content), parent=source_id if "b/" in name else None)
        server.tick(10)

    settings = {"api_url": server.url, "requests_per_second": 100}
    return MadeWiki("notion", opening("notion", settings, OPERATOR, "", {"token": server.token}), write)


def made_confluence(stack: ExitStack, _: Path) -> Made:
    """Return a space of the cloud with pages and blog posts."""
    server = stack.enter_context(ConfluenceServer())
    space = server.add_space("DEV", "Development")
    ids: dict[str, str] = {}

    def write(name: str, content: str) -> None:
        title = name.replace("/", "|")
        if title in ids:
            server.edit(ids[title], f"<p>{content}</p>")
        else:
            kind = "blogpost" if "b/" in name else "page"
            ids[title] = server.add_page(space, title, f"<p>{content}</p>", kind=kind)

    settings = {"url": server.cloud_url}
    login = {"user": server.user, "token": server.token}
    return MadeWiki("confluence", opening("confluence", settings, OPERATOR, "", login), write)


def made_jira(stack: ExitStack, _: Path) -> Made:
    """Return projects of the cloud; a summary is the name of an item, behind the key."""
    server = stack.enter_context(JiraServer())
    ids: dict[str, str] = {}

    def write(name: str, content: str) -> None:
        server.tick()
        title = name.replace("/", "|")
        if title in ids:
            server.edit(ids[title], description=adf(words_of(content)))
        else:
            ids[title] = server.add_issue("DEV" if "b/" in name else "OPS", title, adf(words_of(content)))

    login = {"user": server.user, "token": server.token}
    return MadeIssues("jira", opening("jira", {"url": server.cloud_url}, OPERATOR, "", login), write)


WIKIS: dict[str, Callable[[ExitStack, Path], Made]] = {
    "confluence": made_confluence,
    "jira": made_jira,
    "notion": made_notion,
}
