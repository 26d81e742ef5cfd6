"""Sources of conversations for the contract's tests: a thread, an issue or a ticket for each item."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from analytiq.ingestion.sources.base import ListedItem
from analytiq.ingestion.sources.systems.slack.wire import day_of
from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening
from tests.fakes.github_server import TOKEN as GITHUB_TOKEN
from tests.fakes.github_server import GitHubServer
from tests.fakes.gitlab_server import TOKEN as GITLAB_TOKEN
from tests.fakes.gitlab_server import GitLabServer
from tests.fakes.slack_server import TOKEN, SlackServer
from tests.fakes.zendesk_server import EMAIL, ZendeskServer
from tests.fakes.zendesk_server import TOKEN as ZENDESK_TOKEN

OPERATOR = SourceSettings(private_hosts=("127.0.0.1",))
_WORDS = re.compile(rb"words: (.*?) end")


@dataclass(frozen=True, slots=True)
class MadeTalk(Made):
    """A source whose conversations are the items, by their ids."""

    names: dict[str, str] = field(default_factory=dict[str, str])

    def name_of(self, item: ListedItem) -> str:
        """Return the name of an item among the contents."""
        return self.names[item.external_id]

    def text_of(self, content: bytes) -> bytes:
        """Return the words of the only answer."""
        (words,) = _WORDS.findall(content)
        return words


def said(content: str) -> str:
    """Return an answer with these words."""
    return f"words: {content} end"


def made_slack(stack: ExitStack, _: Path) -> Made:
    """Return a workspace with four channels: in one a thread for each item, in the others a day."""
    server = stack.enter_context(SlackServer())
    server.add_user("U0ADA", "Ada Lovelace")
    names: dict[str, str] = {}
    places: dict[str, tuple[str, str, str | None]] = {}

    def write(name: str, content: str) -> None:
        if name in places:
            channel_id, ts, thread_ts = places[name]
            return server.edit(channel_id, ts, said(content), thread_ts=thread_ts)
        channel_id = f"C{name.count('/')}{name[0].upper()}"
        if channel_id not in server.channels:
            server.add_channel(channel_id, f"channel-{channel_id.lower()}")
        seconds = 1_700_000_000 + len(names) * 86_400
        ts = f"{seconds}.000000"
        if name.startswith("z/"):
            server.post(channel_id, ts, f"About {name}")
            places[name] = channel_id, f"{seconds + 5}.000000", ts
            names[f"{channel_id}:{ts}"] = name
        else:
            places[name] = channel_id, ts, None
            names[f"{channel_id}:{day_of(ts)}"] = name
        server.post(channel_id, places[name][1], said(content), **({"thread_ts": ts} if places[name][2] else {}))
        return None

    settings = {"api_url": f"{server.url}/api", "files_url": f"{server.url}/files"}
    return MadeTalk("slack", opening("slack", settings, OPERATOR, "", {"token": TOKEN}), write, names=names)


def made_github(stack: ExitStack, _: Path) -> Made:
    """Return two repositories: in one an issue for each item, with a comment, in the other a file."""
    server = stack.enter_context(GitHubServer())
    server.page_size = 25
    server.add(7, "example/issues")
    files = server.add(8, "example/files", private=True, people=["ada"])
    names: dict[str, str] = {}
    numbers: dict[str, int] = {}

    def write(name: str, content: str) -> None:
        if not name.startswith("z/"):
            files.commit({name: said(content).encode()})
            names[f"8:file:{name}"] = name
        elif name in numbers:
            server.repositories["example/issues"].notes[("issues/comments", numbers[name])][0]["body"] = said(content)
            server.repositories["example/issues"].issues[numbers[name]]["updated_at"] = server.now()
        else:
            numbers[name] = len(numbers) + 1
            server.add_issue("example/issues", numbers[name], name)
            server.add_note("example/issues", numbers[name], said(content))
            names[f"7:issue:{numbers[name]}"] = name

    settings: dict[str, JsonValue] = {"api_url": f"{server.url}/api/v3", "organizations": ["example"]}
    return MadeTalk("github", opening("github", settings, OPERATOR, "", {"token": GITHUB_TOKEN}), write, names=names)


def made_zendesk(stack: ExitStack, _: Path) -> Made:
    """Return a help center with an article for each item, and some as tickets."""
    server = stack.enter_context(ZendeskServer())
    server.page_size = 40
    names: dict[str, str] = {}
    numbers: dict[str, int] = {}

    def write(name: str, content: str) -> None:
        number = numbers.setdefault(name, len(numbers) + 1)
        if name.startswith("z/"):
            names[f"ticket:{number}"] = name
            if number not in server.tickets:
                server.add_ticket(number, name)
            server.comments[number] = []
            server.add_comment(number, said(content))
        else:
            names[f"article:{number}:en-us"] = name
            server.add_article(number, name, said(content))

    settings: dict[str, JsonValue] = {"url": server.url, "tickets": True}
    secrets: dict[str, JsonValue] = {"email": EMAIL, "api_token": ZENDESK_TOKEN}
    return MadeTalk("zendesk", opening("zendesk", settings, OPERATOR, "", secrets), write, names=names)


def made_gitlab(stack: ExitStack, _: Path) -> Made:
    """Return a project with an issue, a page of the wiki or a file for each item."""
    server = stack.enter_context(GitLabServer())
    server.page_size = 25
    project = server.add(7, "example/tool")
    names: dict[str, str] = {}
    numbers: dict[str, int] = {}

    def write(name: str, content: str) -> None:
        if name.startswith("z/"):
            number = numbers.setdefault(name, len(numbers) + 1)
            names[f"7:issues:{number}"] = name
            server.add_issue(7, number, name)
            project.notes[("issues", number)] = []
            server.add_note(7, number, said(content))
        elif name.startswith("a/b/"):
            names[f"7:wiki:{name}"] = name
            project.wiki[name] = {"slug": name, "title": name, "format": "markdown", "content": said(content)}
        else:
            names[f"7:file:{name}"] = name
            project.commit({name: said(content).encode()})

    settings: dict[str, JsonValue] = {"api_url": f"{server.url}/api/v4", "projects": ["example/tool"]}
    return MadeTalk("gitlab", opening("gitlab", settings, OPERATOR, "", {"token": GITLAB_TOKEN}), write, names=names)


TALK: dict[str, Callable[[ExitStack, Path], Made]] = {
    "github": made_github,
    "gitlab": made_gitlab,
    "slack": made_slack,
    "zendesk": made_zendesk,
}
