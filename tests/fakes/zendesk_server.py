"""Zendesk's help center and ticketing APIs as documented: cursors, incremental exports, user segments, sideloads."""

import base64
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.fakes.server_loop import AppServer

EMAIL = "agent@example.com"
TOKEN = "an-api-token-of-somebody"
ACCESS_TOKEN = "an-oauth-token-of-somebody"
_PAGE = {"page[size]", "page[after]"}


class ZendeskServer(AppServer):
    """A Zendesk with a help center in some languages."""

    def __init__(self) -> None:
        self.locales = ["en-us"]
        self.articles: dict[tuple[int, str], dict[str, Any]] = {}
        self.sections: dict[int, dict[str, Any]] = {}
        self.categories: dict[int, dict[str, Any]] = {}
        self.segments: dict[int, dict[str, Any]] = {}
        self.may_see_segments = True
        self.users: dict[int, dict[str, Any]] = {}
        self.tickets: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, list[dict[str, Any]]] = {}
        self.page_size = 100
        self.time = 1_700_000_000
        self.expired: set[str] = set()
        self.expired_status = 410
        self.refusals: list[tuple[int, dict[str, str]]] = []
        self.calls: list[str] = []
        self.change: Callable[[str], object] | None = None
        app = web.Application()
        for path, name in (
            ("/api/v2/help_center/locales", "locales"),
            ("/api/v2/help_center/{locale}/articles", "articles"),
            ("/api/v2/help_center/{locale}/articles/{id:\\d+}", "article"),
            ("/api/v2/help_center/{locale}/{kind:sections|categories}", "order"),
            ("/api/v2/help_center/user_segments", "segments"),
            ("/api/v2/incremental/tickets/cursor", "export"),
            ("/api/v2/tickets/{id:\\d+}", "ticket"),
            ("/api/v2/tickets/{id:\\d+}/comments", "comments"),
        ):
            app.router.add_get(path, self._handler(name))
        super().__init__(app)

    def add_article(self, article_id: int, title: str, body: str, *, locale: str = "en-us", **more: Any) -> None:
        """Add an article, or its translation."""
        self.articles[(article_id, locale)] = {
            "id": article_id,
            "title": title,
            "name": title,
            "body": body,
            "locale": locale,
            "draft": False,
            "section_id": None,
            "user_segment_id": None,
            "label_names": [],
            "html_url": f"https://example.zendesk.com/hc/{locale}/articles/{article_id}",
            "updated_at": str(self.time),
            **more,
        }

    def add_ticket(self, ticket_id: int, subject: str, **more: Any) -> None:
        """Open a ticket."""
        self.tickets[ticket_id] = {
            "id": ticket_id,
            "subject": subject,
            "status": "open",
            "priority": "high",
            "requester_id": 1,
            "assignee_id": 2,
            "collaborator_ids": [],
            "group_id": 5,
            "tags": ["vip"],
            "created_at": "2023-11-14T22:13:20Z",
            "is_public": True,
            **more,
        }
        self.touch(ticket_id)

    def add_comment(self, ticket_id: int, html: str, *, public: bool = True, author_id: int = 1) -> None:
        """Comment on a ticket."""
        comment = {"author_id": author_id, "html_body": html, "public": public, "created_at": "2023-11-14T22:13:20Z"}
        self.comments.setdefault(ticket_id, []).append({"id": len(self.comments), "attachments": [], **comment})
        self.touch(ticket_id)

    def touch(self, ticket_id: int, **changes: Any) -> None:
        """Change a ticket."""
        self.time += 1
        self.tickets[ticket_id].update(generated_timestamp=self.time, updated_at=str(self.time), **changes)

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
            return web.json_response({"error": "refused"}, status=status, headers=headers)
        basic = base64.b64encode(f"{EMAIL}/token:{TOKEN}".encode()).decode()
        authorization = request.headers.get("authorization")
        if authorization not in (f"Basic {basic}", f"Bearer {ACCESS_TOKEN}", None):
            return web.json_response({"error": "Couldn't authenticate you"}, status=401)
        if authorization is None and name in ("export", "ticket", "comments", "segments"):
            return web.json_response({"error": "Couldn't authenticate you"}, status=401)
        if int(request.query.get("page[size]", "1")) > 100:
            return web.json_response({"error": "InvalidPaginationParameter"}, status=400)
        return getattr(self, f"_{name}")(request)

    def _locales(self, _: web.Request) -> web.Response:
        return web.json_response({"locales": self.locales, "default_locale": "en-us"})

    def _articles(self, request: web.Request) -> web.Response:
        assert set(request.query) <= {*_PAGE, "sort_by", "sort_order"}
        locale = request.match_info["locale"]
        return self._page(request, "articles", [each for key, each in self.articles.items() if key[1] == locale])

    def _article(self, request: web.Request) -> web.Response:
        article = self.articles.get((int(request.match_info["id"]), request.match_info["locale"]))
        return _missing() if article is None else web.json_response({"article": article})

    def _order(self, request: web.Request) -> web.Response:
        kind = request.match_info["kind"]
        return self._page(request, kind, list((self.sections if kind == "sections" else self.categories).values()))

    def _segments(self, request: web.Request) -> web.Response:
        if not self.may_see_segments:
            return web.json_response({"error": "Forbidden"}, status=403)
        return self._page(request, "user_segments", list(self.segments.values()))

    def _export(self, request: web.Request) -> web.Response:
        assert set(request.query) <= {"per_page", "include", "cursor", "start_time"}
        cursor = request.query.get("cursor")
        if (cursor is None) == ("start_time" not in request.query):
            return web.json_response({"error": "start_time or cursor"}, status=400)
        if cursor is not None and (cursor in self.expired or not cursor.startswith("at-")):
            return web.json_response({"error": "InvalidCursor"}, status=self.expired_status)
        after = int(cursor.removeprefix("at-")) if cursor else int(request.query["start_time"]) - 1
        changed = [each for each in self.tickets.values() if each["generated_timestamp"] > after]
        changed.sort(key=lambda ticket: ticket["generated_timestamp"])
        some = changed[: min(self.page_size, int(request.query["per_page"]))]
        content: dict[str, Any] = {
            "tickets": some,
            "after_cursor": f"at-{some[-1]['generated_timestamp'] if some else after}",
            "end_of_stream": len(some) == len(changed),
        }
        if request.query.get("include") == "users":
            content["users"] = list(self.users.values())
        return web.json_response(content)

    def _ticket(self, request: web.Request) -> web.Response:
        ticket = self.tickets.get(int(request.match_info["id"]))
        if ticket is None or ticket["status"] == "deleted":
            return _missing()
        return web.json_response({"ticket": ticket, "users": list(self.users.values())})

    def _comments(self, request: web.Request) -> web.Response:
        ticket_id = int(request.match_info["id"])
        if self.tickets.get(ticket_id, {}).get("status", "deleted") == "deleted":
            return _missing()
        return self._page(request, "comments", self.comments.get(ticket_id, []), users=list(self.users.values()))

    def _page(self, request: web.Request, name: str, objects: list[Any], **more: Any) -> web.Response:
        after = request.query.get("page[after]", "0")
        if after in self.expired or not after.isdigit():
            return web.json_response({"error": "InvalidPaginationParameter"}, status=self.expired_status)
        end = int(after) + min(self.page_size, int(request.query["page[size]"]))
        meta = {"has_more": end < len(objects), "after_cursor": str(end), "before_cursor": after}
        return web.json_response({name: objects[int(after) : end], "meta": meta, **more})


def _missing() -> web.Response:
    return web.json_response({"error": "RecordNotFound"}, status=404)
