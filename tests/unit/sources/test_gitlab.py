"""Projects of a GitLab as a source: issues, merge requests, wikis and files follow their changes."""

from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from analytiq.errors import NotFoundError, RateLimitedError
from analytiq.ingestion.sources.base import ItemAccess, ItemGoneError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from tests.fakes.gitlab_server import TOKEN, GitLabServer
from tests.fakes.source_runs import SourceRuns

NAME = "example/deep/tool"
MERGE_REQUESTS = "merge_requests"


@pytest.fixture
def gitlab() -> Iterator[GitLabServer]:
    with GitLabServer() as server:
        project = server.add(7, NAME)
        project.commit({"README.md": b"# Tool", "docs/guide.md": b"Guide", "main.py": b"print()"})
        project.wiki["home"] = {"slug": "home", "title": "Home", "format": "markdown", "content": "Welcome"}
        project.wiki["a/b"] = {"slug": "a/b", "title": "B", "format": "asciidoc", "content": "= B"}
        server.add_issue(7, 1, "It *fails*")
        server.add_note(7, 1, "Same here")
        server.add_note(7, 1, "changed the description", system=True)
        server.add_note(7, 1, "Do not tell them", internal=True)
        server.add_issue(7, 2, "Secret hole", confidential=True)
        server.add_issue(7, 1, "Mend it", part=MERGE_REQUESTS)
        server.add_note(7, 1, "Why?", part=MERGE_REQUESTS, position={"new_path": "main.py"})
        yield server


def source_of(server: GitLabServer, **settings: JsonValue) -> SourceRuns:
    values: dict[str, JsonValue] = {"api_url": f"{server.url}/api/v4", "projects": [NAME], **settings}
    return SourceRuns("gitlab", values, {"token": TOKEN})


ALL = {
    "7:issues:1",
    "7:merge_requests:1",
    "7:wiki:home",
    "7:wiki:a/b",
    "7:file:README.md",
    "7:file:docs/guide.md",
}


async def test_all_parts_of_a_project_are_documents(gitlab: GitLabServer) -> None:
    ran = await source_of(gitlab).run()
    assert ran.fetched.keys() == ALL
    assert ran.fetched["7:issues:1"] == (
        "# It *fails*\n\nIssue #1 of example/deep/tool, opened, by ada, 2023-11-14 22:13. Labels: bug.\n\n"
        "What happens\n\n## bob, 2023-11-14 22:13\n\nSame here\n"
    )
    assert "## bob on main.py, 2023-11-14 22:13\n\nWhy?\n" in ran.fetched["7:merge_requests:1"]
    assert ran.fetched["7:wiki:home"] == "# Home\n\nWelcome"
    assert ran.items["7:wiki:a/b"].name == "example/deep/tool/wiki/a/b.adoc"
    assert ran.items["7:issues:1"].access == ItemAccess(is_public=True)
    confidential = await source_of(gitlab, confidential=True, wiki=False, files=False, merge_requests=False).run()
    assert confidential.items["7:issues:2"].access is None


async def test_changes_are_listed_alone(gitlab: GitLabServer) -> None:
    source = source_of(gitlab)
    await source.run()
    gitlab.add_issue(7, 3, "Another")
    await source.run()
    project = gitlab.projects[7]
    gitlab.add_note(7, 1, "Solved")
    project.issues[("issues", 3)].update(confidential=True, updated_at=gitlab.now())
    project.commit({"docs/guide.md": None, "README.md": b"# Tool 2"})
    project.wiki["home"]["content"] = "Hello"
    ran = await source.run()
    assert ran.is_delta
    assert ran.fetched.keys() == {"7:issues:1", "7:file:README.md", "7:wiki:home"}
    assert ran.removed >= {"7:issues:3", "7:file:docs/guide.md"}
    assert not ran.removed & ran.items.keys()
    gitlab.calls.clear()
    assert not (await source.run()).fetched
    assert gitlab.calls == ["project", "branch", "issues", "issues", "wikis"]


async def test_changes_that_are_not_told_whole_list_everything(gitlab: GitLabServer) -> None:
    source = source_of(gitlab)
    await source.run()
    del gitlab.projects[7].issues[("issues", 1)]
    gitlab.projects[7].commit({"README.md": b"x", "docs/guide.md": b"y"})
    gitlab.most_diffs = 1
    ran = await source.run()
    assert not ran.is_delta
    assert ran.removed == {"7:issues:1"}


async def test_issue_that_changes_between_pages_hides_no_other(gitlab: GitLabServer) -> None:
    for iid in range(3, 40):
        gitlab.add_issue(7, iid, f"Issue {iid}")
    gitlab.page_size = 5

    def touch(call: str) -> None:
        """Move listed issues to the end of the list, so that all others move up."""
        if call == "issues" and gitlab.calls.count("issues") in (2, 4, 5):
            for iid in (3, 4, 5, 6):
                gitlab.projects[7].issues[("issues", iid)]["updated_at"] = gitlab.now()

    gitlab.change = touch
    ran = await source_of(gitlab, files=False, wiki=False, merge_requests=False).run()
    assert ran.items.keys() == {f"7:issues:{iid}" for iid in range(1, 40) if iid != 2}


async def test_run_goes_on_behind_every_batch_and_a_rate_limit(gitlab: GitLabServer) -> None:
    for iid in range(3, 30):
        gitlab.add_issue(7, iid, f"Issue {iid}", updated_at="2024-01-01T00:00:00.000Z")
    gitlab.page_size = 10
    whole = await source_of(gitlab).run()
    for batches in (1, 3, 4, 6):
        source = source_of(gitlab)
        first = await source.run(batches=batches)
        gitlab.refusals = [(429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "4102444800"})]
        limited = await source.run()
        assert isinstance(limited.error, RateLimitedError)
        rest = await source.run()
        assert first.items | rest.items == whole.items
        assert not first.items.keys() & rest.items.keys()


async def test_what_is_switched_off_or_missing_is_told(gitlab: GitLabServer) -> None:
    gitlab.projects[7].levels["issues_access_level"] = "disabled"
    gitlab.add(8, "example/empty")
    private = gitlab.add(9, "example/private", visibility="private", members=["bob", "ada", "bob"])
    private.commit({"a.md": b"A"})
    ran = await source_of(gitlab, projects=["none/x"], groups=["example", "nobody"]).run()
    assert ran.problems == [
        "none/x: there is no such project, or the token may not see it.",
        "nobody: there is no such group, or the token may not see it.",
    ]
    assert ran.items.keys() == ALL - {"7:issues:1"} | {"9:file:a.md"}
    assert ran.items["9:file:a.md"].access == ItemAccess(people=("ada", "bob"), groups=("example/private",))
    connector = source_of(gitlab, projects=["none/x"]).connect()
    with pytest.raises(NotFoundError, match="no such project"):
        await connector.check()
    await connector.close()
    branch = await source_of(gitlab, branch="gone").run()
    assert branch.problems == ["example/deep/tool: There is no branch 'gone'."]
    wrong = SourceRuns("gitlab", {"api_url": f"{gitlab.url}/api/v4", "projects": [NAME]}, {"token": "wrong"})
    assert isinstance((await wrong.run()).error, CredentialsRefusedError)


async def test_deleted_items_are_gone(gitlab: GitLabServer) -> None:
    source = source_of(gitlab)
    ran = await source.run()
    gitlab.projects[7].issues.clear()
    gitlab.projects[7].wiki.clear()
    connector = source.connect()
    for external_id in ("7:issues:1", "7:issues:2", "7:wiki:home", "7:wiki:../x", "8:issues:1", "7:file:main.py"):
        assert await connector.find(external_id) is None
    for external_id in ("7:issues:1", "7:wiki:home"):
        with pytest.raises(ItemGoneError):
            await connector.fetch(ran.items[external_id])
    await connector.close()
