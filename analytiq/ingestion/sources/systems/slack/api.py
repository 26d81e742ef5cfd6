"""Slack's Web API: reading calls, their pages, and their refusals in words.

Slack answers most refusals with status 200 and `ok: false`.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from analytiq.errors import AnalytiqError, NotFoundError, PermanentError, RateLimitedError, TransientError
from analytiq.ingestion.sources.base import ItemRefusedError
from analytiq.ingestion.sources.connections.decoding import bounded
from analytiq.ingestion.sources.connections.service_client import (
    CredentialsRefusedError,
    Parameters,
    PositionExpiredError,
    ServiceClient,
)
from analytiq.ingestion.sources.connections.wire import WireModel, read_as, readable
from analytiq.ingestion.sources.systems.slack.wire import SlackChannel, SlackFile, SlackMessage, SlackUser
from analytiq.settings import SourceSettings

PAGE = 200
"""Objects of a page, as Slack recommends. It may answer with fewer: apps outside its marketplace get 15."""
MOST_EMPTY_PAGES = 20
"""Most pages without anything new; a listing with more has no end."""
LIMITED_SECONDS = 30.0
"""Wait after a refusal that names no time."""
SERVICE = "Slack"

_TOKEN = "Install the app again, and store its new token (xoxb-…) as the credentials."  # noqa: S105
_REFUSALS: Mapping[str, tuple[type[AnalytiqError], str]] = {
    "invalid_auth": (CredentialsRefusedError, f"Slack does not know the token. {_TOKEN}"),
    "not_authed": (CredentialsRefusedError, f"Slack got no token. {_TOKEN}"),
    "token_revoked": (CredentialsRefusedError, f"The token was revoked. {_TOKEN}"),
    "token_expired": (CredentialsRefusedError, f"The token has expired. {_TOKEN}"),
    "account_inactive": (CredentialsRefusedError, f"The app or its user was removed from the workspace. {_TOKEN}"),
    "org_login_required": (CredentialsRefusedError, "The workspace is being moved to an organization. Try later."),
    "ekm_access_denied": (CredentialsRefusedError, "The administrators have suspended access to the messages."),
    "team_access_not_granted": (CredentialsRefusedError, "The app is not installed in that workspace. Install it."),
    "enterprise_is_restricted": (CredentialsRefusedError, "The token is no token of a workspace. Use one."),
    "not_allowed_token_type": (CredentialsRefusedError, f"Slack does not accept this type of token. {_TOKEN}"),
    "no_permission": (CredentialsRefusedError, "The token lacks a right. Add the scopes, and install the app again."),
    "access_denied": (CredentialsRefusedError, "Slack denies access. Ask an administrator of the workspace."),
    "not_in_channel": (NotFoundError, "The app is no member of the channel. Invite it there: /invite @app."),
    "channel_not_found": (NotFoundError, "The channel does not exist, or the app may not see it."),
    "thread_not_found": (NotFoundError, "The thread does not exist any more."),
    "message_not_found": (NotFoundError, "The message does not exist any more."),
    "file_not_found": (NotFoundError, "The file does not exist any more."),
    "file_deleted": (NotFoundError, "The file was deleted."),
    "user_not_found": (NotFoundError, "The person does not exist any more."),
    "users_not_found": (NotFoundError, "The person does not exist any more."),
    "invalid_cursor": (PositionExpiredError, "Slack does not know that position any more."),
    "ratelimited": (RateLimitedError, "Slack asks to wait."),
    "rate_limited": (RateLimitedError, "Slack asks to wait."),
    "accesslimited": (CredentialsRefusedError, "Access to this method is limited for this workspace."),
    "internal_error": (TransientError, "Slack fails."),
    "fatal_error": (TransientError, "Slack fails."),
    "service_unavailable": (TransientError, "Slack is not available now."),
    "team_added_to_org": (TransientError, "The workspace is being moved to an organization."),
    "request_timeout": (TransientError, "Slack did not get the call in time."),
}


class _Next(WireModel):
    next_cursor: str = ""


class _Reply(WireModel):
    """The frame of every answer."""

    ok: bool
    error: str = ""
    needed: str = ""
    response_metadata: _Next | None = None
    has_more: bool = False


class Workspace(WireModel):
    """The workspace of the token."""

    url: str = ""
    team: str = ""
    user: str = ""


class _FileReply(WireModel):
    file: SlackFile


class _UserReply(WireModel):
    user: SlackUser


@dataclass(frozen=True, slots=True)
class Page:
    """A page of messages, newest first in channels and oldest first in threads."""

    messages: list[SlackMessage]
    unreadable: int
    has_more: bool


class SlackApi:
    """Reading calls to Slack."""

    def __init__(self, operator: SourceSettings, *, api_url: str, files_url: str, token: str) -> None:
        headers = {"authorization": f"Bearer {token}"}
        self._client = ServiceClient(operator, api_url, headers=headers, service=SERVICE)
        self._files = ServiceClient(operator, files_url, headers=headers, service="Slack's file host")
        self._files_url = files_url.rstrip("/") + "/"

    async def workspace(self) -> Workspace:
        """Return the workspace of the token."""
        return read_as(Workspace, await self._call("auth.test", {}), service=SERVICE)

    async def channels(self, *, with_private: bool, with_archived: bool) -> list[SlackChannel]:
        """Return all channels that the token sees."""
        kinds = "public_channel,private_channel" if with_private else "public_channel"
        parameters: Parameters = {"types": kinds, "exclude_archived": "false" if with_archived else "true"}
        found: dict[str, SlackChannel] = {}
        async for content in self._pages("conversations.list", parameters):
            read, _ = readable(SlackChannel, content.get("channels"))
            found.update((channel.id, channel) for channel in read)
        return sorted(found.values(), key=lambda channel: channel.id)

    async def channel(self, channel_id: str) -> SlackChannel | None:
        """Return a channel; None if the token does not see it."""
        try:
            content = await self._call("conversations.info", {"channel": channel_id})
        except NotFoundError:
            return None
        read, _ = readable(SlackChannel, [content.get("channel")])
        return read[0] if read else None

    async def members(self, channel_id: str, *, most: int) -> list[str] | None:
        """Return the ids of a channel's members; None if they are more."""
        found: list[str] = []
        async for content in self._pages("conversations.members", {"channel": channel_id}):
            ids = content.get("members")
            found += [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []
            if len(found) > most:
                return None
        return sorted(set(found))

    async def users(self, *, most: int) -> list[SlackUser]:
        """Return the people of the workspace, at most so many."""
        found: list[SlackUser] = []
        async for content in self._pages("users.list", {}):
            found += readable(SlackUser, content.get("members"))[0]
            if len(found) >= most:
                break
        return found

    async def user(self, user_id: str) -> SlackUser | None:
        """Return a person; None if the workspace does not know the id."""
        try:
            content = await self._call("users.info", {"user": user_id})
        except NotFoundError:
            return None
        return read_as(_UserReply, content, service=SERVICE).user

    async def file(self, file_id: str) -> SlackFile | None:
        """Return a file; None if it does not exist any more."""
        try:
            content = await self._call("files.info", {"file": file_id})
        except NotFoundError:
            return None
        return read_as(_FileReply, content, service=SERVICE).file

    async def history(self, channel_id: str, *, oldest: str | None, latest: str | None) -> AsyncGenerator[Page]:
        """Yield a channel's messages between two timestamps, both exclusive, newest first."""
        parameters: dict[str, str | int] = {"channel": channel_id}
        if oldest is not None:
            parameters["oldest"] = oldest
        if latest is not None:
            parameters["latest"] = latest
        async for content in self._pages("conversations.history", parameters):
            yield _page(content)

    async def replies(self, channel_id: str, timestamp: str) -> AsyncGenerator[Page]:
        """Yield a thread's messages with its first one, oldest first."""
        async for content in self._pages("conversations.replies", {"channel": channel_id, "ts": timestamp}):
            yield _page(content)

    def may_download(self, file: SlackFile) -> bool:
        """Return True if the file's address belongs to Slack's file host: the token goes nowhere else."""
        address = file.url_private_download or file.url_private or ""
        return address.startswith(self._files_url)

    async def download(self, file: SlackFile, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file.

        Raises:
            CredentialsRefusedError: Slack answers with its login page, as it does without the scope `files:read`.
            ItemRefusedError: it is larger, or stored elsewhere.
        """
        if not self.may_download(file):
            raise ItemRefusedError("The file is not stored by Slack.")
        address = file.url_private_download or file.url_private or ""
        async with self._files.stream("GET", address) as response:
            is_page = response.headers.get("content-type", "").startswith("text/html")
            if is_page and "html" not in (file.mimetype or ""):
                raise CredentialsRefusedError("Slack does not deliver files to the app. Give it the scope files:read.")
            async for block in bounded(response, most_bytes=most_bytes):
                yield block

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._files.close()

    async def _pages(self, method: str, parameters: Parameters) -> AsyncGenerator[dict[str, JsonValue]]:
        """Yield the pages of a listing.

        Raises:
            PermanentError: it has no end.
        """
        cursor = ""
        seen: set[str] = set()
        empty = 0
        while True:
            asked: dict[str, str | int] = {**parameters, "limit": PAGE}
            if cursor:
                asked["cursor"] = cursor
            content = await self._call(method, asked)
            yield content
            empty = empty + 1 if not _holds_anything(content) else 0
            frame = read_as(_Reply, content, service=SERVICE)
            cursor = frame.response_metadata.next_cursor if frame.response_metadata else ""
            if not cursor:
                return
            if cursor in seen or empty > MOST_EMPTY_PAGES:
                raise PermanentError(f"Slack lists pages without end ({method}). Run again later.")
            seen.add(cursor)

    async def _call(self, method: str, parameters: Parameters) -> dict[str, JsonValue]:
        content = await self._client.get(f"/{method}", parameters)
        frame = read_as(_Reply, content, service=SERVICE)
        if not frame.ok:
            raise _refusal(method, frame)
        return content if isinstance(content, dict) else {}


def _page(content: dict[str, JsonValue]) -> Page:
    messages, unreadable = readable(SlackMessage, content.get("messages"))
    return Page(messages, unreadable, content.get("has_more") is True)


def _holds_anything(content: dict[str, JsonValue]) -> bool:
    return any(isinstance(value, list) and value for value in content.values())


def _refusal(method: str, frame: _Reply) -> AnalytiqError:
    """Return the error of an answer with `ok: false`."""
    if frame.error == "missing_scope":
        needed = json.dumps(frame.needed[:200]) if frame.needed else "a scope"
        return CredentialsRefusedError(
            f"The app lacks {needed}, which {method} needs. Add the scope, and install the app again."
        )
    kind, words = _REFUSALS.get(
        frame.error, (PermanentError, f"Slack refuses {method}: {json.dumps(frame.error[:100])}.")
    )
    if issubclass(kind, RateLimitedError):
        return kind(words, retry_after=LIMITED_SECONDS)
    return kind(words)
