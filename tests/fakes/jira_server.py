"""Jira's APIs over real HTTP on the loopback: version 3 of the cloud, version 2 of a server. Only a test tool.

    with JiraServer() as jira:
        issue = jira.add_issue("OPS", "Printer burns", adf(paragraph("Words.")))
        ...  # jira.cloud_url, jira.server_url

It refuses unknown parameters, more than 100 results, queries without a bound, wrong logins and positions of another
search. Its clock stands until `tick`; `script` holds failures (status and headers) for the next calls.
"""

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.fakes.server_loop import AppServer

Json = dict[str, Any]
_CLAUSES = (
    (re.compile(r"project is not EMPTY"), lambda server, issue, found: True),
    (re.compile(r"project in \(([^)]+)\)"), lambda server, issue, found: f'"{issue["project"]}"' in found[1]),
    (re.compile(r"updated >= -(\d+)m"), lambda server, issue, found: server.is_newer(issue, int(found[1]))),
    (re.compile(r"id = (\d+)"), lambda server, issue, found: issue["id"] == found[1]),
    (re.compile(r"\(labels = (\w+)\)"), lambda server, issue, found: found[1] in issue["labels"]),
)


def adf(*content: Json) -> Json:
    return {"type": "doc", "version": 1, "content": list(content)}


def node(kind: str, *content: Json, **attributes: Any) -> Json:
    return {"type": kind, "attrs": attributes, "content": list(content)}


def text(words: str, *marks: Json) -> Json:
    return {"type": "text", "text": words, "marks": list(marks)}


def paragraph(words: str) -> Json:
    return node("paragraph", text(words))


class JiraServer:
    """Start it as a context manager; what it holds may change while it runs."""

    def __init__(self, *, port: int = 0) -> None:
        self.user, self.token = "ada@example.com", "api-token"
        self.now = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
        self.issues: dict[str, Json] = {}
        self.readers: dict[str, tuple[str, ...]] = {}
        self.script: list[tuple[int, Mapping[str, str]]] = []
        self.before_answer: Callable[[str], None] = lambda _: None
        self.asked: list[str] = []
        self.bodies: list[Json] = []
        self._count = 10000
        self._generation = 0
        app = web.Application(middlewares=[self._guard])
        app.router.add_post("/rest/api/3/search/jql", self._search_cloud)
        app.router.add_get("/rest/api/3/attachment/content/{id}", self._download)
        app.router.add_post("/jira/rest/api/2/search", self._search_server)
        app.router.add_get("/jira/secure/attachment/{id}/{name}", self._download)
        for base in ("/rest/api/3", "/jira/rest/api/2"):
            app.router.add_get(f"{base}/myself", self._myself)
            app.router.add_get(f"{base}/issue/{{id}}", self._issue)
            app.router.add_get(f"{base}/issue/{{id}}/comment", self._comments)
            app.router.add_get(f"{base}/user/permission/search", self._readers)
        self._server = AppServer(app, port=port)

    def __enter__(self) -> "JiraServer":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def cloud_url(self) -> str:
        return self._server.url

    @property
    def server_url(self) -> str:
        return f"{self._server.url}/jira"

    def tick(self, minutes: float = 1.0) -> None:
        """Let time pass."""
        self.now += timedelta(minutes=minutes)

    def expire_positions(self) -> None:
        self._generation += 1

    def is_newer(self, issue: Json, minutes: int) -> bool:
        return datetime.fromisoformat(issue["updated"]) >= self.now - timedelta(minutes=minutes)

    def add_issue(self, project: str, summary: str, description: Json | None = None, **more: Any) -> str:
        self._count += 1
        issue_id = str(self._count)
        at = self._time()
        held = {"id": issue_id, "key": f"{project}-{self._count}", "project": project, "summary": summary}
        times = {"created": at, "updated": at}
        rest = {
            "description": description,
            "comments": [],
            "files": [],
            "labels": (),
            "security": None,
            "status": "Open",
        }
        self.issues[issue_id] = {**held, **times, **rest, **more}
        return issue_id

    def edit(self, issue_id: str, **more: Any) -> None:
        self.issues[issue_id] |= {**more, "updated": self._time()}

    def comment(self, issue_id: str, body: Json | str, author: str = "Ada Lovelace", **more: Any) -> None:
        held = {"author": {"displayName": author}, "body": body, "created": self._time(), **more}
        self.edit(issue_id, comments=[*self.issues[issue_id]["comments"], held])

    def add_file(self, issue_id: str, name: str, content: bytes) -> None:
        self._count += 1
        held = {"id": str(self._count), "filename": name, "size": len(content), "created": self._time()}
        self.edit(issue_id, files=[*self.issues[issue_id]["files"], {**held, "_content": content}])

    def delete(self, issue_id: str) -> None:
        del self.issues[issue_id]

    def _time(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000+0000")

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        self.before_answer(request.path)
        response = await self._answer(request, handler)
        response.headers["Date"] = format_datetime(self.now, usegmt=True)
        return response

    async def _answer(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.script:
            status, headers = self.script.pop(0)
            return web.json_response({"errorMessages": ["scripted"]}, status=status, headers=headers)
        basic = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
        is_server = request.path.startswith("/jira")
        if request.headers.get("authorization") != (f"Bearer {self.token}" if is_server else f"Basic {basic}"):
            return web.json_response({"errorMessages": ["Unauthorized"]}, status=401)
        try:
            return await handler(request)
        except KeyError:
            return web.json_response({"errorMessages": ["Issue does not exist"]}, status=404)
        except ValueError as error:
            return web.json_response({"errorMessages": [str(error)]}, status=400)

    def _matching(self, jql: str) -> list[Json]:
        where, _, order = jql.partition(" ORDER BY ")
        if order not in ("", "created ASC"):
            raise ValueError("order")
        found = list(self.issues.values())
        for part in where.split(" AND "):
            matched = [(clause.fullmatch(part), holds) for clause, holds in _CLAUSES if clause.fullmatch(part)]
            if not matched:
                raise ValueError(f"Error in the JQL Query: {part}")
            found = [each for each in found if matched[0][1](self, each, matched[0][0])]
        if (wanted := re.match(r"id = (\d+)", where)) and wanted[1] not in self.issues:
            raise ValueError("An issue with that key does not exist for field 'id'.")
        return found

    async def _search_cloud(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        _require(body, {"jql", "fields", "maxResults", "nextPageToken", "expand", "fieldsByKeys", "reconcileIssues"})
        if body["jql"].startswith("ORDER BY") or not 1 <= body.get("maxResults", 50) <= 100:
            raise ValueError("Unbounded JQL queries are not allowed here.")
        issues, start = self._matching(body["jql"]), 0
        if token := body.get("nextPageToken"):
            generation, last = token.split("-")
            if int(generation) != self._generation:
                raise ValueError("The token is not valid any more.")
            start = sum(int(each["id"]) <= int(last) for each in issues)
        shown = issues[start : start + body["maxResults"]]
        is_last = start + len(shown) >= len(issues)
        more = {} if is_last else {"nextPageToken": f"{self._generation}-{shown[-1]['id']}"}
        listed = [self._shown(each, body["fields"]) for each in shown]
        return web.json_response({"issues": listed, "isLast": is_last, **more})

    async def _search_server(self, request: web.Request) -> web.Response:
        body = await request.json()
        _require(body, {"jql", "fields", "maxResults", "startAt", "expand", "validateQuery"})
        issues, start, size = self._matching(body["jql"]), body.get("startAt", 0), body.get("maxResults", 50)
        shown = [self._shown(each, body["fields"]) for each in issues[start : start + size]]
        return web.json_response({"startAt": start, "maxResults": size, "total": len(issues), "issues": shown})

    def _shown(self, issue: Json, wanted: list[str]) -> Json:
        files = [{key: value for key, value in each.items() if key != "_content"} for each in issue["files"]]
        fields = {
            "summary": issue["summary"],
            "status": {"name": issue["status"]},
            "issuetype": {"name": "Bug"},
            "priority": {"name": "High"},
            "assignee": None,
            "reporter": {"displayName": "Grace Hopper", "accountId": "u2"},
            "labels": list(issue["labels"]),
            "components": [{"name": "Core"}],
            "created": issue["created"],
            "updated": issue["updated"],
            "project": {"key": issue["project"], "name": f"{issue['project']} project"},
            "security": issue["security"],
            "attachment": files,
        }
        return {"id": issue["id"], "key": issue["key"], "fields": {key: fields[key] for key in wanted if key in fields}}

    async def _issue(self, request: web.Request) -> web.Response:
        _require(request.query, {"fields", "expand"})
        issue = self.issues[request.match_info["id"]]
        if request.path.startswith("/jira"):
            rendered = {"description": issue.get("rendered", "")}
            return web.json_response({"id": issue["id"], "fields": {}, "renderedFields": rendered})
        return web.json_response({"id": issue["id"], "fields": {"description": issue["description"]}})

    async def _comments(self, request: web.Request) -> web.Response:
        _require(request.query, {"startAt", "maxResults", "orderBy", "expand"})
        start, size = int(request.query["startAt"]), int(request.query["maxResults"])
        if size > 100:
            raise ValueError("maxResults")
        comments = self.issues[request.match_info["id"]]["comments"]
        shown = comments[start : start + size]
        if request.path.startswith("/jira"):
            shown = [{**each, "renderedBody": each["body"]} for each in shown]
        return web.json_response({"startAt": start, "maxResults": size, "total": len(comments), "comments": shown})

    async def _readers(self, request: web.Request) -> web.Response:
        _require(request.query, {"permissions", "projectKey", "issueKey", "startAt", "maxResults", "query", "username"})
        of = request.query.get("projectKey") or request.query["issueKey"]
        if of not in self.readers:
            return web.json_response({"errorMessages": ["Forbidden"]}, status=403)
        start, size = int(request.query["startAt"]), int(request.query["maxResults"])
        found = [each for each in self.readers[of][start : start + size] if each != "a user without the right"]
        return web.json_response([{"accountId": each} for each in found])

    async def _myself(self, _: web.Request) -> web.Response:
        return web.json_response({"accountId": "u1"})

    async def _download(self, request: web.Request) -> web.Response:
        for issue in self.issues.values():
            for each in issue["files"]:
                if each["id"] == request.match_info["id"]:
                    return web.Response(body=each["_content"])
        raise KeyError(request.match_info["id"])


def _require(given: Mapping[str, Any], known: set[str]) -> None:
    if set(given) - known:
        raise ValueError("unknown parameters")
