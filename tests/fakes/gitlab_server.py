"""GitLab's REST API as documented: Link headers, keyset pages of trees, notes, wikis, confidential issues."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlencode

from aiohttp import web

from tests.fakes.github_server import blob_sha
from tests.fakes.server_loop import AppServer

TOKEN = "glpat-a-token-of-somebody"
_LISTS = {"per_page", "page"}
_PARAMETERS: dict[str, set[str]] = {
    "project": set(),
    "group": {*_LISTS, "include_subgroups", "with_shared", "order_by", "sort"},
    "issues": {*_LISTS, "scope", "state", "order_by", "sort", "updated_after"},
    "issue": set(),
    "notes": {*_LISTS, "order_by", "sort"},
    "members": _LISTS,
    "wikis": {"with_content"},
    "wiki": set(),
    "branch": set(),
    "compare": {"from", "to", "straight"},
    "tree": {"ref", "recursive", "pagination", "per_page", "page_token"},
    "file": {"ref"},
    "blob": set(),
}


@dataclass(slots=True)
class FakeProject:
    """A project: issues and merge requests by number, comments on each, a wiki, and commits with their files."""

    id: int
    path: str
    visibility: str = "public"
    archived: bool = False
    levels: dict[str, str] = field(default_factory=dict[str, str])
    issues: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict[tuple[str, int], "dict[str, Any]"])
    notes: dict[tuple[str, int], list[dict[str, Any]]] = field(
        default_factory=dict[tuple[str, int], "list[dict[str, Any]]"]
    )
    wiki: dict[str, dict[str, Any]] = field(default_factory=dict[str, "dict[str, Any]"])
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict[str, "dict[str, bytes]"])
    head: str = ""
    members: list[str] = field(default_factory=list[str])

    def commit(self, changes: dict[str, bytes | None]) -> None:
        """Add a commit that writes files, and deletes those without content."""
        files = {**self.commits.get(self.head, {}), **changes}
        self.head = blob_sha(f"{self.head} {len(self.commits)}".encode())
        self.commits[self.head] = {path: content for path, content in files.items() if content is not None}


class GitLabServer(AppServer):
    """A GitLab with some projects."""

    def __init__(self) -> None:
        self.projects: dict[int, FakeProject] = {}
        self.page_size = 100
        self.most_diffs = 1000
        self.refusals: list[tuple[int, dict[str, str]]] = []
        self.calls: list[str] = []
        self.change: Callable[[str], object] | None = None
        self.time = 1_700_000_000.0
        app = web.Application()
        project = "/api/v4/projects/{id}"
        for path, name in (
            (project, "project"),
            ("/api/v4/groups/{id}/projects", "group"),
            (f"{project}/{{part:issues|merge_requests}}", "issues"),
            (f"{project}/{{part:issues|merge_requests}}/{{iid:\\d+}}", "issue"),
            (f"{project}/{{part:issues|merge_requests}}/{{iid:\\d+}}/notes", "notes"),
            (f"{project}/members/all", "members"),
            (f"{project}/wikis", "wikis"),
            (f"{project}/wikis/{{slug}}", "wiki"),
            (f"{project}/repository/branches/{{branch}}", "branch"),
            (f"{project}/repository/compare", "compare"),
            (f"{project}/repository/tree", "tree"),
            (f"{project}/repository/files/{{path}}", "file"),
            (f"{project}/repository/blobs/{{sha}}/raw", "blob"),
        ):
            app.router.add_get(path, self._handler(name))
        super().__init__(app)

    def add(self, project_id: int, path: str, **more: Any) -> FakeProject:
        """Add a project."""
        self.projects[project_id] = FakeProject(project_id, path, **more)
        return self.projects[project_id]

    def add_issue(self, project_id: int, iid: int, title: str, *, part: str = "issues", **more: Any) -> None:
        """Open an issue or merge request."""
        self.projects[project_id].issues[(part, iid)] = {
            "iid": iid,
            "title": title,
            "description": "What happens",
            "state": "opened",
            "author": {"username": "ada"},
            "labels": ["bug"],
            "created_at": self.now(),
            "updated_at": self.now(),
            "user_notes_count": 0,
            "web_url": f"https://gitlab.example/{part}/{iid}",
            "confidential": False,
            **more,
        }

    def add_note(self, project_id: int, iid: int, body: str, *, part: str = "issues", **more: Any) -> None:
        """Comment on an issue or merge request."""
        project = self.projects[project_id]
        note = {"author": {"username": "bob"}, "body": body, "created_at": self.now(), "system": False, **more}
        project.notes.setdefault((part, iid), []).append(note)
        issue = project.issues[(part, iid)]
        issue.update(updated_at=self.now(), user_notes_count=issue["user_notes_count"] + 1)

    def now(self) -> str:
        """Return a later time of the service's clock."""
        self.time += 0.25
        return datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _handler(self, name: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            self.calls.append(name)
            if self.change is not None:
                self.change(name)
            return self._answer(name, request)

        return handle

    def _answer(self, name: str, request: web.Request) -> web.Response:
        if self.refusals:
            status, headers = self.refusals.pop(0)
            return web.json_response({"message": "refused"}, status=status, headers=headers)
        authorization = request.headers.get("authorization")
        if authorization not in (None, f"Bearer {TOKEN}"):
            return web.json_response({"message": "401 Unauthorized"}, status=401)
        if unknown := set(request.query) - _PARAMETERS[name]:
            return web.json_response({"error": f"{unknown} do not exist"}, status=400)
        wanted = unquote(request.match_info["id"])
        if name == "group":
            found = [each for each in self.projects.values() if each.path.startswith(f"{wanted}/")]
            return self._page(request, [_shown(each) for each in found]) if found else _missing()
        project = next((each for each in self.projects.values() if wanted in (str(each.id), each.path)), None)
        if project is None or (project.visibility == "private" and authorization is None):
            return _missing()
        return getattr(self, f"_{name}")(project, request)

    def _project(self, project: FakeProject, _: web.Request) -> web.Response:
        return web.json_response(_shown(project))

    def _issues(self, project: FakeProject, request: web.Request) -> web.Response:
        part = request.match_info["part"]
        if project.levels.get(f"{part}_access_level") == "disabled":
            return web.json_response({"message": "403 Forbidden"}, status=403)
        after = request.query.get("updated_after", "")
        found = [each for key, each in project.issues.items() if key[0] == part and each["updated_at"] >= after[:19]]
        return self._page(request, sorted(found, key=lambda issue: (issue["updated_at"], issue["iid"])))

    def _issue(self, project: FakeProject, request: web.Request) -> web.Response:
        issue = project.issues.get((request.match_info["part"], int(request.match_info["iid"])))
        return _missing() if issue is None else web.json_response(issue)

    def _notes(self, project: FakeProject, request: web.Request) -> web.Response:
        return self._page(request, project.notes.get((request.match_info["part"], int(request.match_info["iid"])), []))

    def _members(self, project: FakeProject, request: web.Request) -> web.Response:
        return self._page(request, [{"username": name} for name in project.members])

    def _wikis(self, project: FakeProject, _: web.Request) -> web.Response:
        return web.json_response(list(project.wiki.values()))

    def _wiki(self, project: FakeProject, request: web.Request) -> web.Response:
        page = project.wiki.get(unquote(request.match_info["slug"]))
        return _missing() if page is None else web.json_response(page)

    def _branch(self, project: FakeProject, request: web.Request) -> web.Response:
        if request.match_info["branch"] != "main" or not project.head:
            return _missing()
        return web.json_response({"name": "main", "commit": {"id": project.head}})

    def _compare(self, project: FakeProject, request: web.Request) -> web.Response:
        base, head = (project.commits.get(request.query[each]) for each in ("from", "to"))
        if base is None or head is None:
            return _missing()
        changed = sorted(path for path in {*base, *head} if base.get(path) != head.get(path))
        diffs = [{"old_path": path, "new_path": path, "deleted_file": path not in head} for path in changed]
        return web.json_response({"diffs": diffs[: self.most_diffs], "compare_timeout": len(diffs) > self.most_diffs})

    def _tree(self, project: FakeProject, request: web.Request) -> web.Response:
        files = project.commits.get(request.query["ref"])
        if files is None or request.query.get("pagination") != "keyset":
            return _missing()
        folders = {path.rpartition("/")[0] for path in files if "/" in path}
        entries = [{"id": blob_sha(each.encode()), "path": each, "type": "tree", "mode": "040000"} for each in folders]
        entries += [
            {"id": blob_sha(each), "path": path, "type": "blob", "mode": "100644"} for path, each in files.items()
        ]
        entries = sorted(entries, key=lambda entry: entry["path"])
        rest = [each for each in entries if each["path"] > request.query.get("page_token", "")]
        some = rest[: min(self.page_size, int(request.query["per_page"]))]
        headers = {}
        if len(some) < len(rest):
            query = urlencode({**request.query, "page_token": some[-1]["path"]})
            headers["Link"] = f'<{self.url}{request.rel_url.raw_path}?{query}>; rel="next"'
        return web.json_response(some, headers=headers)

    def _file(self, project: FakeProject, request: web.Request) -> web.Response:
        path = unquote(request.match_info["path"])
        content = project.commits.get(request.query["ref"], {}).get(path)
        if content is None:
            return _missing()
        encoded = base64.b64encode(content).decode()
        return web.json_response({"file_path": path, "blob_id": blob_sha(content), "content": encoded})

    def _blob(self, project: FakeProject, request: web.Request) -> web.Response:
        for files in project.commits.values():
            for content in files.values():
                if blob_sha(content) == request.match_info["sha"]:
                    return web.Response(body=content)
        return _missing()

    def _page(self, request: web.Request, objects: list[Any]) -> web.Response:
        size = min(self.page_size, int(request.query.get("per_page", "20")))
        number = int(request.query.get("page", "1"))
        headers = {"X-Page": str(number)}
        if number * size < len(objects):
            query = urlencode({**request.query, "page": number + 1})
            headers["Link"] = f'<{self.url}{request.rel_url.raw_path}?{query}>; rel="next"'
        return web.json_response(objects[(number - 1) * size : number * size], headers=headers)


def _shown(project: FakeProject) -> dict[str, Any]:
    return {
        "id": project.id,
        "path_with_namespace": project.path,
        "visibility": project.visibility,
        "default_branch": "main" if project.head else None,
        "web_url": f"https://gitlab.example/{project.path}",
        "archived": project.archived,
        **project.levels,
    }


def _missing() -> web.Response:
    return web.json_response({"message": "404 Not Found"}, status=404)
