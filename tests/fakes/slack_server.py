"""Slack's Web API as documented, with its strictness: scopes, membership, cursors, limits, refusals with status 200."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.server_loop import AppServer

TOKEN = "xoxb-1234-a-token-of-somebody"
SCOPES = frozenset(
    f"{kind}:{right}"
    for kind in ("channels", "groups", "users", "files")
    for right in ("read", "history", "read.email")
)
_PARAMETERS = {
    "auth.test": set[str](),
    "conversations.list": {"types", "exclude_archived", "limit", "cursor"},
    "conversations.members": {"channel", "limit", "cursor"},
    "conversations.history": {"channel", "oldest", "latest", "inclusive", "limit", "cursor"},
    "conversations.replies": {"channel", "ts", "oldest", "latest", "inclusive", "limit", "cursor"},
    "users.list": {"limit", "cursor"},
    "users.info": {"user"},
    "files.info": {"file"},
}
Message = dict[str, Any]


class RefusalError(Exception):
    """An answer with `ok: false`."""

    def __init__(self, error: str, **more: str) -> None:
        super().__init__(error)
        self.answer = {"ok": False, "error": error, **more}


@dataclass(slots=True)
class Channel:
    """A channel with its messages by timestamp, and replies by that of their thread."""

    id: str
    name: str
    is_private: bool = False
    is_archived: bool = False
    is_member: bool = True
    members: list[str] = field(default_factory=list[str])
    messages: dict[str, Message] = field(default_factory=dict[str, Message])
    replies: dict[str, dict[str, Message]] = field(default_factory=dict[str, dict[str, Message]])

    def top(self) -> list[Message]:
        """Return what the channel shows: first messages with their counts, and replies sent there too, newest first."""
        shown = [self._with_counts(message) for message in self.messages.values()]
        for replies in self.replies.values():
            shown += [reply for reply in replies.values() if reply.get("subtype") == "thread_broadcast"]
        return sorted(shown, key=lambda message: message["ts"], reverse=True)

    def thread(self, ts: str) -> list[Message]:
        """Return a message with its replies, oldest first."""
        if ts not in self.messages:
            raise RefusalError("thread_not_found")
        replies = self.replies.get(ts, {})
        return [self._with_counts(self.messages[ts]), *sorted(replies.values(), key=lambda message: message["ts"])]

    def _with_counts(self, message: Message) -> Message:
        replies = self.replies.get(message["ts"])
        if not replies:
            return message
        counts = {"thread_ts": message["ts"], "reply_count": len(replies), "latest_reply": max(replies)}
        return {**message, **counts}


class SlackServer(AppServer):
    """A workspace."""

    def __init__(self) -> None:
        self.channels: dict[str, Channel] = {}
        self.users: dict[str, dict[str, Any]] = {}
        self.files: dict[str, dict[str, Any]] = {}
        self.contents: dict[str, bytes] = {}
        self.scopes = set(SCOPES)
        self.refused: str | None = None
        """The error of all calls."""
        self.page_size = 100
        """Most objects of a page, whatever the call asks for."""
        self.limited: dict[str, list[float]] = {}
        """Waits that the next calls of a method are told."""
        self.endless = ""
        """The method whose first page comes again and again, with cursors that are new."""
        self.calls: list[str] = []
        self.tokens: list[tuple[str, str | None]] = []
        """Paths of the file host, with the token that was sent there."""
        self.change: Callable[[str, web.Request], object] | None = None
        """Called before each answer: a workspace that changes under a run."""
        self._cursors: dict[str, str] = {}
        app = web.Application()
        app.router.add_get("/api/{method}", self._answer)
        app.router.add_get("/files/{name}", self._file)
        app.router.add_get("/elsewhere/{name}", self._file)
        super().__init__(app)

    def add_user(self, user_id: str, name: str) -> None:
        """Add a person."""
        profile = {"real_name": name, "display_name": "", "email": f"{user_id.lower()}@example.com"}
        self.users[user_id] = {"id": user_id, "name": name.lower(), "deleted": False, "profile": profile}

    def add_channel(self, channel_id: str, name: str, **more: Any) -> Channel:
        """Add a channel."""
        self.channels[channel_id] = Channel(channel_id, name, **more)
        return self.channels[channel_id]

    def post(self, channel_id: str, ts: str, text: str, **more: Any) -> str:
        """Post a message; with `thread_ts` as a reply."""
        channel = self.channels[channel_id]
        message = {"type": "message", "user": "U0ADA", "text": text, "ts": ts, **more}
        thread = more.get("thread_ts")
        if thread is None:
            channel.messages[ts] = message
        else:
            channel.replies.setdefault(thread, {})[ts] = message
        return ts

    def edit(self, channel_id: str, ts: str, text: str, *, thread_ts: str | None = None) -> None:
        """Edit a message or reply."""
        channel = self.channels[channel_id]
        message = channel.replies[thread_ts][ts] if thread_ts else channel.messages[ts]
        seconds, _, micros = message.get("edited", {}).get("ts", ts).partition(".")
        message.update(text=text, edited={"user": message["user"], "ts": f"{int(seconds) + 1}.{micros}"})

    def delete(self, channel_id: str, ts: str, *, thread_ts: str | None = None) -> None:
        """Delete a message or reply. The first message of a thread leaves a tombstone."""
        channel = self.channels[channel_id]
        if thread_ts:
            del channel.replies[thread_ts][ts]
        elif channel.replies.get(ts):
            text = "This message was deleted."
            channel.messages[ts] = {
                "type": "message",
                "subtype": "tombstone",
                "user": "USLACKBOT",
                "text": text,
                "ts": ts,
            }
        else:
            del channel.messages[ts]

    def add_file(self, file_id: str, name: str, content: bytes, **more: Any) -> dict[str, Any]:
        """Store a file; return the object that messages hold."""
        self.contents[name] = content
        self.files[file_id] = {
            "id": file_id,
            "name": name,
            "title": name,
            "size": len(content),
            "created": 1_700_000_000,
            "timestamp": 1_700_000_000,
            "mimetype": "text/plain",
            "mode": "hosted",
            "is_external": False,
            "url_private": f"{self.url}/files/{name}",
            "url_private_download": f"{self.url}/files/{name}",
            "permalink": f"https://example.slack.com/files/{file_id}",
            **more,
        }
        return self.files[file_id]

    async def _answer(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        self.calls.append(method)
        if self.change is not None:
            self.change(method, request)
        if self.limited.get(method):
            wait = self.limited[method].pop(0)
            body = {"ok": False, "error": "ratelimited"}
            return web.json_response(body, status=429, headers={"Retry-After": f"{wait:g}"})
        try:
            return web.json_response({"ok": True, **self._content(method, request)})
        except RefusalError as refusal:
            return web.json_response(refusal.answer)

    def _content(self, method: str, request: web.Request) -> dict[str, Any]:
        authorization = request.headers.get("authorization")
        if authorization is None:
            raise RefusalError("not_authed")
        if authorization != f"Bearer {TOKEN}":
            raise RefusalError("invalid_auth")
        if self.refused is not None:
            raise RefusalError(self.refused)
        if method not in _PARAMETERS:
            raise RefusalError("unknown_method")
        if unknown := set(request.query) - _PARAMETERS[method]:
            raise RefusalError("invalid_arguments", needed=str(unknown))
        limit = request.query.get("limit", "100")
        if not limit.isdigit() or not 1 <= int(limit) <= 999:
            raise RefusalError("invalid_limit")
        if method == "auth.test":
            return {"url": "https://example.slack.com/", "team": "Example", "user": "robot", "user_id": "U0ROBOT"}
        return getattr(self, f"_{method.replace('.', '_')}")(request)

    def _conversations_list(self, request: web.Request) -> dict[str, Any]:
        types = set(request.query.get("types", "public_channel").split(","))
        self._require("channels:read")
        if "private_channel" in types:
            self._require("groups:read")
        shown = [
            {name: getattr(each, name) for name in ("id", "name", "is_private", "is_archived", "is_member")}
            for each in self.channels.values()
            if ("private_channel" if each.is_private else "public_channel") in types
            and (each.is_member or not each.is_private)
            and not (each.is_archived and request.query.get("exclude_archived") == "true")
        ]
        return self._paged(request, "channels", shown)

    def _conversations_members(self, request: web.Request) -> dict[str, Any]:
        return self._paged(request, "members", self._channel(request).members)

    def _conversations_history(self, request: web.Request) -> dict[str, Any]:
        channel = self._channel(request)
        self._require("groups:history" if channel.is_private else "channels:history")
        shown = [message for message in channel.top() if _is_within(message["ts"], request)]
        content = self._paged(request, "messages", shown)
        return {**content, "has_more": bool(content["response_metadata"]["next_cursor"])}

    def _conversations_replies(self, request: web.Request) -> dict[str, Any]:
        channel = self._channel(request)
        self._require("groups:history" if channel.is_private else "channels:history")
        content = self._paged(request, "messages", channel.thread(request.query["ts"]))
        return {**content, "has_more": bool(content["response_metadata"]["next_cursor"])}

    def _users_list(self, request: web.Request) -> dict[str, Any]:
        self._require("users:read")
        return self._paged(request, "members", list(self.users.values()))

    def _users_info(self, request: web.Request) -> dict[str, Any]:
        self._require("users:read")
        if request.query["user"] not in self.users:
            raise RefusalError("user_not_found")
        return {"user": self.users[request.query["user"]]}

    def _files_info(self, request: web.Request) -> dict[str, Any]:
        self._require("files:read")
        file_id = request.query["file"]
        if file_id not in self.files:
            raise RefusalError("file_not_found")
        within = [each.id for each in self.channels.values() if file_id in json.dumps([each.messages, each.replies])]
        return {"file": {**self.files[file_id], "channels": within, "groups": [], "ims": []}}

    async def _file(self, request: web.Request) -> web.Response:
        authorization = request.headers.get("authorization")
        self.tokens.append((request.path, authorization))
        if authorization != f"Bearer {TOKEN}" or "files:read" not in self.scopes:
            return web.Response(body=b"<html>Sign in to Slack</html>", content_type="text/html")
        content = self.contents.get(request.match_info["name"])
        return web.Response(status=404) if content is None else web.Response(body=content, content_type="text/plain")

    def _channel(self, request: web.Request) -> Channel:
        channel = self.channels.get(request.query.get("channel", ""))
        if channel is None or (channel.is_private and not channel.is_member):
            raise RefusalError("channel_not_found")
        if not channel.is_member:
            raise RefusalError("not_in_channel")
        return channel

    def _require(self, scope: str) -> None:
        if scope not in self.scopes:
            raise RefusalError("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))

    def _paged(self, request: web.Request, name: str, objects: list[Any]) -> dict[str, Any]:
        """Return a page, and the cursor of the next one: valid for the same call only."""
        size = min(self.page_size, int(request.query.get("limit", "100")))
        call = json.dumps(
            [request.path, sorted((k, v) for k, v in request.query.items() if k not in ("cursor", "limit"))]
        )
        if request.path.endswith(f"/{self.endless}") and self.endless:
            return {name: objects[:size], "response_metadata": {"next_cursor": f"page-{len(self.calls)}"}}
        cursor = request.query.get("cursor")
        rest = objects
        if cursor is not None:
            if self._cursors.get(cursor) != call:
                raise RefusalError("invalid_cursor")
            key = json.loads(base64.b64decode(cursor))[1]
            rest = list(_behind(objects, key, is_descending=name == "messages" and "history" in request.path))
        page = rest[:size]
        following = ""
        if len(rest) > size:
            following = base64.b64encode(json.dumps([call, _key_of(page[-1])]).encode()).decode()
            self._cursors[following] = call
        return {name: page, "response_metadata": {"next_cursor": following}}


def _key_of(each: Any) -> str:
    return each if isinstance(each, str) else each.get("ts") or each["id"]


def _behind(objects: list[Any], key: str, *, is_descending: bool) -> Iterator[Any]:
    for each in objects:
        if (_key_of(each) < key) if is_descending else (_key_of(each) > key):
            yield each


def _is_within(ts: str, request: web.Request) -> bool:
    oldest, latest = request.query.get("oldest"), request.query.get("latest")
    is_inclusive = request.query.get("inclusive") in ("1", "true")
    time = float(ts)
    if oldest is not None and not (time > float(oldest) or (is_inclusive and ts == oldest)):
        return False
    return latest is None or time < float(latest) or (is_inclusive and ts == latest)
