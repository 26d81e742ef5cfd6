"""GitHub's REST API as documented: Link headers, ETags, rate limits, git objects, deleted and transferred issues."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from tests.fakes.server_loop import AppServer

TOKEN = "ghp_a-token-of-somebody"
_LISTS = {"per_page", "page"}
_PARAMETERS: dict[str, set[str]] = {
    "repo": set(),
    "repos": {*_LISTS, "type"},
    "issues": {*_LISTS, "state", "sort", "direction", "since"},
    "issue": set(),
    "notes": _LISTS,
    "commit": set(),
    "compare": _LISTS,
    "tree": {"recursive"},
    "blob": set(),
    "contents": {"ref"},
}


def blob_sha(content: bytes) -> str:
    """Return the hash that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass(slots=True)
class FakeRepository:
    """A repository: issues by number, what is said on each, and commits with their files."""

    id: int
    full_name: str
    private: bool = False
    archived: bool = False
    issues: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    notes: dict[tuple[str, int], list[dict[str, Any]]] = field(
        default_factory=dict[tuple[str, int], "list[dict[str, Any]]"]
    )
    gone: dict[int, str | None] = field(default_factory=dict[int, "str | None"])
    """Numbers of deleted issues; of transferred ones with their address."""
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict[str, "dict[str, bytes]"])
    head: str = ""
    links: dict[str, str] = field(default_factory=dict[str, str])
    """Symbolic links by path."""
    people: list[str] | None = None
    """Collaborators; None: the token may not ask."""

    def commit(self, changes: dict[str, bytes | None], *, is_forced: bool = False) -> str:
        """Add a commit that writes files, and deletes those without content."""
        files = {**(self.commits.get(self.head, {}) if not is_forced else {}), **changes}
        kept = {path: content for path, content in files.items() if content is not None}
        told = json.dumps([self.head, is_forced, sorted((path, blob_sha(each)) for path, each in kept.items())])
        sha = hashlib.sha1(told.encode(), usedforsecurity=False).hexdigest()
        if is_forced:
            self.commits.clear()
        self.commits[sha] = kept
        self.head = sha
        return sha


class GitHubServer(AppServer):
    """GitHub with some repositories."""

    def __init__(self) -> None:
        self.repositories: dict[str, FakeRepository] = {}
        self.page_size = 100
        self.most_of_a_tree = 10_000
        """Entries after which a recursive tree is cut off."""
        self.refusals: list[tuple[int, dict[str, str], str]] = []
        """Statuses, headers and messages of the next answers."""
        self.calls: list[str] = []
        self.statuses: list[int] = []
        self.change: Callable[[str], object] | None = None
        self.time = 1_700_000_000
        app = web.Application()
        routes: list[tuple[str, str]] = [
            ("/api/v3/repos/{owner}/{name}", "repo"),
            ("/api/v3/{group:orgs|users}/{owner}/repos", "repos"),
            ("/api/v3/repos/{owner}/{name}/issues", "issues"),
            ("/api/v3/repos/{owner}/{name}/issues/{number:\\d+}", "issue"),
            ("/api/v3/repos/{owner}/{name}/{group:issues|pulls}/{number:\\d+}/{kind:comments|reviews}", "notes"),
            ("/api/v3/repos/{owner}/{name}/{group:collaborators|teams}", "people"),
            ("/api/v3/repos/{owner}/{name}/commits/{ref:.+}", "commit"),
            ("/api/v3/repos/{owner}/{name}/compare/{base}...{head}", "compare"),
            ("/api/v3/repos/{owner}/{name}/git/trees/{sha}", "tree"),
            ("/api/v3/repos/{owner}/{name}/git/blobs/{sha}", "blob"),
            ("/api/v3/repos/{owner}/{name}/contents/{path:.+}", "contents"),
        ]
        for path, name in routes:
            app.router.add_get(path, self._handler(name))
        super().__init__(app)

    def add(self, repository_id: int, full_name: str, **more: Any) -> FakeRepository:
        """Add a repository."""
        self.repositories[full_name] = FakeRepository(repository_id, full_name, **more)
        return self.repositories[full_name]

    def add_issue(self, full_name: str, number: int, title: str, body: str = "", **more: Any) -> None:
        """Open an issue, or a pull request with `pull_request`."""
        kind = "pull" if "pull_request" in more else "issues"
        self.repositories[full_name].issues[number] = {
            "id": number * 1000,
            "number": number,
            "title": title,
            "body": body,
            "state": "open",
            "user": {"login": "ada"},
            "labels": [{"name": "bug"}],
            "created_at": self.now(),
            "updated_at": self.now(),
            "comments": 0,
            "html_url": f"https://github.example/{full_name}/{kind}/{number}",
            **more,
        }

    def add_note(self, full_name: str, number: int, body: str, *, kind: str = "issues/comments", **more: Any) -> None:
        """Comment on an issue, or review a pull request (`pulls/reviews`, `pulls/comments`)."""
        repository = self.repositories[full_name]
        time = "submitted_at" if kind == "pulls/reviews" else "created_at"
        note = {"user": {"login": "bob"}, "body": body, time: self.now(), **more}
        repository.notes.setdefault((kind, number), []).append(note)
        issue = repository.issues[number]
        issue.update(updated_at=self.now(), comments=issue["comments"] + (kind == "issues/comments"))

    def now(self) -> str:
        """Return the next second of the service's clock."""
        self.time += 1
        return _told(self.time)

    def _handler(self, name: str) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            self.calls.append(name)
            if self.change is not None:
                self.change(name)
            response = self._answer(name, request)
            self.statuses.append(response.status)
            return response

        return handle

    def _answer(self, name: str, request: web.Request) -> web.Response:
        if self.refusals:
            status, headers, message = self.refusals.pop(0)
            return web.json_response({"message": message}, status=status, headers=headers)
        if not request.headers.get("user-agent"):
            return _refused(403, "Request forbidden by administrative rules.")
        if request.headers.get("x-github-api-version") != "2022-11-28":
            return _refused(400, "Unsupported version")
        if request.headers.get("authorization", f"Bearer {TOKEN}") != f"Bearer {TOKEN}":
            return _refused(401, "Bad credentials")
        if unknown := set(request.query) - _PARAMETERS.get(name, _LISTS):
            return _refused(422, f"Unknown parameters {unknown}")
        if name == "repos":
            return self._repos(request)
        repository = self.repositories.get(f"{request.match_info['owner']}/{request.match_info['name']}")
        if repository is None or (repository.private and "authorization" not in request.headers):
            return _refused(404, "Not Found")
        return getattr(self, f"_{name}")(repository, request)

    def _repos(self, request: web.Request) -> web.Response:
        owner = request.match_info["owner"]
        found = [_shown(each) for each in self.repositories.values() if each.full_name.startswith(f"{owner}/")]
        if not found or request.match_info["group"] == "users":
            return _refused(404, "Not Found")
        return self._page(request, found)

    def _repo(self, repository: FakeRepository, _: web.Request) -> web.Response:
        return web.json_response(_shown(repository))

    def _issues(self, repository: FakeRepository, request: web.Request) -> web.Response:
        assert request.query["state"] == "all"
        since = request.query.get("since", "")
        found = [each for each in repository.issues.values() if each["updated_at"] >= since]
        return self._page(request, sorted(found, key=lambda issue: (issue["updated_at"], issue["number"])))

    def _issue(self, repository: FakeRepository, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        if number in repository.gone:
            address = repository.gone[number]
            if address is None:
                return _refused(410, "This issue was deleted")
            return web.Response(status=301, headers={"Location": f"{self.url}/api/v3{address}"})
        if number not in repository.issues:
            return _refused(404, "Not Found")
        return web.json_response(repository.issues[number])

    def _notes(self, repository: FakeRepository, request: web.Request) -> web.Response:
        kind = f"{request.match_info['group']}/{request.match_info['kind']}"
        return self._page(request, repository.notes.get((kind, int(request.match_info["number"])), []))

    def _people(self, repository: FakeRepository, request: web.Request) -> web.Response:
        if repository.people is None:
            return _refused(403, "Must have push access to view repository collaborators.")
        if request.match_info["group"] == "teams":
            return self._page(request, [{"slug": "crew"}])
        return self._page(request, [{"login": login} for login in repository.people])

    def _commit(self, repository: FakeRepository, request: web.Request) -> web.Response:
        if not repository.head:
            return _refused(409, "Git Repository is empty.")
        if request.match_info["ref"] != "main":
            return _refused(422, "No commit found for SHA")
        return web.json_response({"sha": repository.head})

    def _compare(self, repository: FakeRepository, request: web.Request) -> web.Response:
        base, head = (repository.commits.get(request.match_info[each]) for each in ("base", "head"))
        if base is None or head is None:
            return _refused(404, "Not Found")
        changed = sorted(path for path in {*base, *head} if base.get(path) != head.get(path))
        files = [
            {"filename": path, "status": "removed" if path not in head else "modified" if path in base else "added"}
            for path in changed
        ]
        return web.json_response({"status": "ahead", "files": files[:300]})

    def _tree(self, repository: FakeRepository, request: web.Request) -> web.Response:
        sha = request.match_info["sha"]
        commit, _, folder = sha.partition("-")
        if commit not in repository.commits:
            return _refused(404, "Not Found")
        prefix = f"{bytes.fromhex(folder).decode()}/" if folder else ""
        entries: dict[str, dict[str, Any]] = {}
        for path, content in repository.commits[commit].items():
            if not path.startswith(prefix):
                continue
            inner = path.removeprefix(prefix)
            parts = inner.split("/")
            for depth in range(1, len(parts)):
                name = "/".join(parts[:depth])
                below = f"{commit}-{(prefix + name).encode().hex()}"
                entries[name] = {"path": name, "mode": "040000", "type": "tree", "sha": below}
            mode = "120000" if path in repository.links else "100644"
            entries[inner] = {
                "path": inner,
                "mode": mode,
                "type": "blob",
                "sha": blob_sha(content),
                "size": len(content),
            }
        if "recursive" not in request.query:
            entries = {name: each for name, each in entries.items() if "/" not in name}
            return web.json_response({"sha": sha, "tree": list(entries.values()), "truncated": False})
        is_cut = len(entries) > self.most_of_a_tree
        return web.json_response(
            {"sha": sha, "tree": list(entries.values())[: self.most_of_a_tree], "truncated": is_cut}
        )

    def _blob(self, repository: FakeRepository, request: web.Request) -> web.Response:
        assert request.headers["accept"] == "application/vnd.github.raw+json"
        for files in repository.commits.values():
            for content in files.values():
                if blob_sha(content) == request.match_info["sha"]:
                    return web.Response(body=content, content_type="application/vnd.github.raw")
        return _refused(404, "Not Found")

    def _contents(self, repository: FakeRepository, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        files = repository.commits.get(request.query["ref"], {})
        if path not in files:
            below = [{"type": "file", "path": each} for each in files if each.startswith(f"{path}/")]
            return web.json_response(below) if below else _refused(404, "Not Found")
        kind = "symlink" if path in repository.links else "file"
        content = files[path]
        return web.json_response({"type": kind, "path": path, "sha": blob_sha(content), "size": len(content)})

    def _page(self, request: web.Request, objects: list[Any]) -> web.Response:
        """Return a page with Link headers, or that it is unchanged."""
        size = min(self.page_size, int(request.query.get("per_page", "30")))
        number = int(request.query.get("page", "1"))
        some = objects[(number - 1) * size : number * size]
        etag = f'W/"{hashlib.sha256(json.dumps(some).encode()).hexdigest()}"'
        if request.headers.get("if-none-match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        headers = {"ETag": etag, "X-RateLimit-Remaining": "4999"}
        if number * size < len(objects):
            query = urlencode({**request.query, "page": number + 1})
            headers["Link"] = f'<{self.url}{request.path}?{query}>; rel="next"'
        return web.json_response(some, headers=headers)


def _told(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(repository: FakeRepository) -> dict[str, Any]:
    return {
        "id": repository.id,
        "full_name": repository.full_name,
        "private": repository.private,
        "visibility": "private" if repository.private else "public",
        "archived": repository.archived,
        "disabled": False,
        "default_branch": "main",
        "html_url": f"https://github.example/{repository.full_name}",
    }


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"message": message, "documentation_url": "https://docs.github.com/rest"}, status=status)
