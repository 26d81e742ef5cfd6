"""Repositories of GitHub as a source: issues, pull requests and files follow their changes."""

from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from analytiq.errors import NotFoundError, RateLimitedError
from analytiq.ingestion.sources.base import ItemAccess, ItemGoneError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from tests.fakes.github_server import TOKEN, FakeRepository, GitHubServer
from tests.fakes.source_runs import SourceRuns

NAME = "example/tool"


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer() as server:
        repository = server.add(7, NAME)
        repository.commit({"README.md": b"# Tool", "docs/guide.md": b"Guide", "main.py": b"print()", "link.md": b"to"})
        repository.links["link.md"] = "README.md"
        server.add_issue(NAME, 1, "It *fails* [sometimes]\u202e", "## Steps\r\n\r\n1. Run")
        server.add_note(NAME, 1, "Same here")
        server.add_issue(NAME, 2, "Mend it", "Closes #1", pull_request={"url": "x"})
        server.add_note(NAME, 2, "", kind="pulls/reviews", state="CHANGES_REQUESTED")
        server.add_note(NAME, 2, "Why?", kind="pulls/comments", path="main.py", diff_hunk="@@ -1 +1 @@\n+print()")
        yield server


def source_of(server: GitHubServer, **settings: JsonValue) -> SourceRuns:
    values: dict[str, JsonValue] = {"api_url": f"{server.url}/api/v3", "repositories": [NAME], **settings}
    return SourceRuns("github", values, {"token": TOKEN})


def tool_of(server: GitHubServer) -> FakeRepository:
    return server.repositories[NAME]


async def test_issues_pull_requests_and_files_are_documents(github: GitHubServer) -> None:
    ran = await source_of(github).run()
    assert ran.problems == []
    assert ran.fetched.keys() == {"7:issue:1", "7:issue:2", "7:file:README.md", "7:file:docs/guide.md"}
    assert ran.fetched["7:issue:1"] == (
        "# It *fails* \\[sometimes\\]\n\nIssue #1 of example/tool, open, by ada, 2023-11-14 22:13. Labels: bug.\n\n"
        "## Steps\n\n1. Run\n\n## bob, 2023-11-14 22:13\n\nSame here\n"
    )
    assert "## bob, 2023-11-14 22:13 (requested changes)\n" in ran.fetched["7:issue:2"]
    assert (
        "## bob on main.py, 2023-11-14 22:13\n\n```diff\n@@ -1 +1 @@\n+print()\n```\n\nWhy?\n"
        in ran.fetched["7:issue:2"]
    )
    assert ran.items["7:issue:1"].name == "example/tool/issues/1 It *fails* [sometimes].md"
    assert ran.items["7:file:docs/guide.md"].source_url == "https://github.example/example/tool/blob/main/docs/guide.md"
    assert ran.items["7:issue:1"].access == ItemAccess(is_public=True)


async def test_nothing_new_costs_one_small_answer_of_each_list(github: GitHubServer) -> None:
    source = source_of(github)
    await source.run()
    await source.run()  # which learns the ETag of the list since the last change
    github.calls.clear()
    github.statuses.clear()
    ran = await source.run()
    assert ran.is_delta
    assert not ran.items
    assert not ran.removed
    assert list(zip(github.calls, github.statuses, strict=True)) == [("repo", 200), ("commit", 200), ("issues", 304)]


async def test_changes_are_listed_alone(github: GitHubServer) -> None:
    source = source_of(github)
    await source.run()
    github.add_note(NAME, 1, "Solved")
    tool_of(github).commit({"docs/guide.md": None, "docs/manual.md": b"Manual", "README.md": b"# Tool 2"})
    ran = await source.run()
    assert ran.is_delta
    assert ran.fetched.keys() == {"7:issue:1", "7:file:docs/manual.md", "7:file:README.md"}
    assert ran.fetched["7:issue:1"].endswith("Solved\n")
    assert ran.removed == {"7:file:docs/guide.md"}


async def test_rewritten_history_and_left_repositories_are_listed_whole(github: GitHubServer) -> None:
    github.add(9, "example/other").commit({"a.md": b"A"})
    source = source_of(github, repositories=[], organizations=["example"])
    await source.run()
    tool_of(github).commit({"README.md": b"# Tool"}, is_forced=True)
    ran = await source.run()
    assert not ran.is_delta
    assert ran.removed == {"7:file:docs/guide.md"}
    github.repositories["example/other"].archived = True
    ran = await source.run()
    assert not ran.is_delta
    assert ran.removed == {"9:file:a.md"}


async def test_issue_that_changes_between_pages_hides_no_other(github: GitHubServer) -> None:
    for number in range(3, 40):
        github.add_issue(NAME, number, f"Issue {number}")
    github.page_size = 5

    def touch(call: str) -> None:
        """Move listed issues to the end of the list, so that all others move up."""
        if call == "issues" and github.calls.count("issues") in (2, 4, 5):
            for number in (3, 4, 5, 6):
                tool_of(github).issues[number]["updated_at"] = github.now()

    github.change = touch
    ran = await source_of(github, files=False).run()
    assert ran.items.keys() == {f"7:issue:{number}" for number in range(1, 40)}


async def test_many_issues_of_the_same_second_are_listed_once(github: GitHubServer) -> None:
    for number in range(3, 40):
        github.add_issue(NAME, number, f"Issue {number}", updated_at="2024-01-01T00:00:00Z")
    github.page_size = 5
    source = source_of(github, files=False)
    ran = await source.run()
    assert ran.items.keys() == {f"7:issue:{number}" for number in range(1, 40)}
    for batches in range(1, 6):
        resumed = source_of(github, files=False)
        first = await resumed.run(batches=batches)
        rest = await resumed.run()
        assert first.items.keys() | rest.items.keys() == ran.items.keys()
        assert not first.items.keys() & rest.items.keys()


async def test_deleted_and_transferred_issues_are_gone(github: GitHubServer) -> None:
    github.add(9, "example/other")
    github.add_issue("example/other", 1, "It fails")
    source = source_of(github)
    ran = await source.run()
    tool_of(github).gone = {1: "/repos/example/other/issues/1", 2: None}
    tool_of(github).issues.clear()
    connector = source.connect()
    for external_id in ("7:issue:1", "7:issue:2", "9:issue:1", "7:file:link.md", "7:file:docs"):
        assert await connector.find(external_id) is None
    with pytest.raises(ItemGoneError):
        await connector.fetch(ran.items["7:issue:1"])
    await connector.close()
    source.since = None
    assert (await source.run()).removed == {"7:issue:1", "7:issue:2"}


@pytest.mark.parametrize(
    ("status", "headers", "message", "error", "words"),
    [
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}, "", RateLimitedError, "asks to wait"),
        (403, {}, "You have exceeded a secondary rate limit", RateLimitedError, "asks to wait"),
        (429, {"Retry-After": "60"}, "", RateLimitedError, "asks to wait"),
        (401, {}, "Bad credentials", CredentialsRefusedError, "refuses the credentials"),
        (403, {}, "Resource protected by organization SAML", CredentialsRefusedError, "refuses the credentials"),
    ],
)
async def test_refusals_are_told_in_words(
    status: int, headers: dict[str, str], message: str, error: type[Exception], words: str, github: GitHubServer
) -> None:
    github.refusals = [(status, headers, message)]
    ran = await source_of(github).run()
    assert isinstance(ran.error, error)
    assert words in ran.error.detail


async def test_run_goes_on_behind_a_rate_limit(github: GitHubServer) -> None:
    for number in range(3, 40):
        github.add_issue(NAME, number, f"Issue {number}")
    github.page_size = 10
    source = source_of(github)
    github.change = lambda call: (
        github.refusals.append((429, {"Retry-After": "60"}, "")) if github.calls.count("issues") == 3 else None
    )
    first = await source.run()
    assert isinstance(first.error, RateLimitedError)
    github.change = None
    github.refusals.clear()
    rest = await source.run()
    assert rest.error is None
    assert len(first.items) + len(rest.items) == 39 + 2
    assert not first.items.keys() & rest.items.keys()


async def test_large_repository_is_read_folder_by_folder(github: GitHubServer) -> None:
    tool_of(github).commit({f"docs/{folder}/{number}.md": b"x" for folder in "abc" for number in range(5)})
    whole = await source_of(github, issues=False, pull_requests=False).run()
    github.most_of_a_tree = 8
    cut = await source_of(github, issues=False, pull_requests=False).run()
    assert cut.items == whole.items
    assert len(whole.items) == 17
    assert github.calls.count("tree") > 5


async def test_repositories_that_cannot_be_read_are_told(github: GitHubServer) -> None:
    private = github.add(9, "example/private", private=True, people=["ada"])
    private.commit({"a.md": b"A"})
    github.add(10, "example/secret", private=True).commit({"a.md": b"A"})
    github.add(11, "example/empty")
    source = source_of(github, repositories=["example/none"], organizations=["example", "nobody"])
    ran = await source.run()
    assert ran.problems == [
        "example/none: there is no such repository, or the token may not see it.",
        "nobody: there is no such organization or person.",
    ]
    assert ran.items["9:file:a.md"].access == ItemAccess(people=("ada",), groups=("example/crew",))
    assert ran.items["10:file:a.md"].access is None
    connector = source_of(github, repositories=["example/none"]).connect()
    with pytest.raises(NotFoundError, match="no such repository"):
        await connector.check()
    await connector.close()
    branch = await source_of(github, branch="gone").run()
    assert branch.problems == ["example/tool: there is no branch 'gone'."]


async def test_patterns_choose_files(github: GitHubServer) -> None:
    source = source_of(github, issues=False, pull_requests=False, file_patterns=["*.py", "docs/*"])
    assert (await source.run()).items.keys() == {"7:file:main.py", "7:file:docs/guide.md"}
    connector = source.connect()
    assert await connector.find("7:file:README.md") is None
    await connector.close()
