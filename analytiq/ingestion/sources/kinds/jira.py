"""Issues of Jira with their comments, in the cloud or on a server."""

import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, Literal

from pydantic import Field, JsonValue, field_validator

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemAccess,
    ItemGoneError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.wikis.atlassian_login import AtlassianCredentials
from analytiq.ingestion.sources.systems.wikis.html_text import escaped, html_page
from analytiq.ingestion.sources.systems.wikis.item_names import clean_title, joined_path, page_name
from analytiq.ingestion.sources.systems.wikis.jira_api import JiraApi, each_found
from analytiq.ingestion.sources.systems.wikis.json_values import (
    Object,
    inner,
    moment_of,
    objects_of,
    text_of,
    web_address,
)

TEXT_VERSION = 1
"""Raise it when the text that is made of equal issues changes: all issues are fetched once more."""
OVERLAP = timedelta(minutes=10)
"""Time before the last run that a run of changes reads again: the search may lag."""
MOST_FILES = 50
"""Most attachments of an issue."""
_PROJECT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_ID = re.compile(r"([0-9]{1,20})(?:-file-([0-9]{1,20}))?")
_ORDER_BY = re.compile(r"\border\s+by\b", re.IGNORECASE)
_SHOWN = ("type", "status", "priority", "resolution", "assignee", "reporter", "labels", "components", "due")
"""Fields that stand above the text."""


class JiraSettings(KindSchema):
    """The settings of a Jira source."""

    url: str = Field(
        max_length=500,
        pattern=r"^https?://[^\s?#]+$",
        title="Address",
        description="Such as https://example.atlassian.net, or https://jira.example.com",
    )
    deployment: Literal["cloud", "server"] = Field(
        default="cloud", description="Jira Cloud, or a server (Data Center) of your own"
    )
    projects: tuple[str, ...] = Field(
        default=(), max_length=200, description="Keys of projects. Empty: all that the account sees"
    )
    jql: str = Field(
        default="", max_length=2000, title="JQL", description="Only issues of this query, such as statusCategory = Done"
    )
    attachments: bool = Field(default=False, description="Also read the files of issues, each as a document")
    whole_hours: float = Field(
        default=24.0,
        ge=0,
        le=24 * 31,
        title="Hours between whole lists",
        description="Runs in between ask for changed issues only, and miss deleted ones. 0: each run lists all issues",
    )

    @field_validator("projects")
    @classmethod
    def _are_keys(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_PROJECT.fullmatch(value) for value in values):
            raise ValueError("Must be keys of projects, such as OPS")
        return values

    @field_validator("jql")
    @classmethod
    def _has_no_order(cls, value: str) -> str:
        if _ORDER_BY.search(value):
            raise ValueError("Must have no ORDER BY: the order is the source's")
        return value.strip()

    @property
    def scope(self) -> str:
        """Return the query of the issues of the source."""
        projects = ", ".join(f'"{key}"' for key in self.projects)
        # The cloud refuses queries without any bound.
        parts = [f"project in ({projects})" if projects else "project is not EMPTY"]
        return " AND ".join([*parts, *([f"({self.jql})"] if self.jql else [])])


@dataclass(frozen=True, slots=True)
class _Position:
    """The position of a listing.

    Attributes:
        jql: its query.
        began: its beginning in ISO 8601, on Jira's clock.
        whole: the beginning of the last listing of all issues; this one, unless it is of changes.
        is_delta: the query asks for changes only.
        position: Jira's, in the query.
    """

    jql: str
    began: str
    whole: str
    is_delta: bool
    position: str | None = None

    @property
    def stored(self) -> str:
        return json.dumps(astuple(self))

    @property
    def since(self) -> str:
        """Return the `since` of the next run."""
        return json.dumps([self.began, self.whole])


@dataclass(frozen=True, slots=True)
class _Since:
    """The beginnings of the last listing, and of the last one of all issues."""

    began: datetime
    whole: datetime

    @classmethod
    def of(cls, since: str | None) -> "_Since | None":
        moments = [moment_of(each) for each in json.loads(since)] if since is not None else []
        match moments:
            case [datetime() as began, datetime() as whole]:
                return cls(began, whole)
            case _:
                return None


class JiraConnector:
    """Projects of one Jira."""

    title: ClassVar[str] = "Jira"
    description: ClassVar[str] = "Issues of Jira projects with comments and attachments, in the cloud or on a server."
    settings_schema: ClassVar[type[KindSchema]] = JiraSettings
    credentials_schema: ClassVar[type[KindSchema]] = AtlassianCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = JiraSettings.model_validate(settings, from_attributes=True)
        login = AtlassianCredentials.model_validate(credentials, from_attributes=True)
        self._context = context
        self._url = self._settings.url.rstrip("/")
        headers = {"authorization": login.authorization}
        self._api = JiraApi(
            ServiceClient(context.operator, self._url, headers=headers, service="Jira"),
            is_cloud=self._settings.deployment == "cloud",
            with_files=self._settings.attachments,
        )
        self._readers: dict[tuple[str, ...], ItemAccess | None] = {}

    async def check(self) -> None:
        """See Connector."""
        try:
            await self._api.check()
        except NotFoundError:
            raise InvalidInputError.of_field(
                "settings.url", "Jira has no interface there. Check the address and `deployment`."
            ) from None
        try:
            await self._api.search(f"{self._settings.scope} ORDER BY created ASC", None)
        except PermanentError:
            raise InvalidInputError.of_field(
                "settings.jql", "Jira refuses the query. Check the JQL, the keys of projects, and the account's rights."
            ) from None

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. With a `since`, only issues that were updated since then.

        Deleted issues are missing only in a whole list, which a run makes once a day.
        """
        at = _Position(*json.loads(cursor)) if cursor is not None else await self._begin()
        if cursor is not None and at.position is None:
            return
        async for page in each_found(self._api, at.jql, at.position):
            after = replace(at, position=page.position)
            yield ListedBatch(
                items=[item for issue in page.issues for item in await self._items(issue)],
                cursor=after.stored,
                is_delta=at.is_delta,
                next_since=at.since if page.position is None else None,
            )

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        found = _ID.fullmatch(external_id)
        if found is None:
            return None
        try:
            page = await self._api.search(f"id = {found[1]} AND {self._settings.scope}", None)
        except (PermanentError, NotFoundError):
            return None  # Jira refuses queries for issues that do not exist
        items = [item for issue in page.issues for item in await self._items(issue)]
        return next((item for item in items if item.external_id == external_id), None)

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        issue_id, _, file_id = item.external_id.partition("-file-")
        if file_id:
            name = text_of(item.fields.get("title"))
            content = self._api.file(file_id, name, most_bytes=self._context.max_item_bytes)
            return FetchedItem(_gone_told(content), "application/octet-stream", item.version)
        try:
            description = await self._api.description(issue_id)
            comments = await self._api.comments(issue_id)
        except NotFoundError:
            raise ItemGoneError("Deleted, or no longer visible to the account.") from None
        parts = [_fields_html(item), f"<h2>Description</h2>\n{description}\n" if description else ""]
        parts += ["<h2>Comments</h2>\n"] if comments else []
        parts += [f"<h3>{escaped(each.author)}, {escaped(each.created[:16])}</h3>\n{each.html}\n" for each in comments]
        title = f"{text_of(item.fields.get('key'))} {text_of(item.fields.get('title'))}"
        return FetchedItem(_whole(html_page(title, "".join(parts))), "text/html; charset=utf-8", item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._api.client.close()

    async def _begin(self) -> _Position:
        """Return the beginning of a listing."""
        await self._api.check()  # it tells the time of Jira's clock
        now = self._api.client.server_time or clock.now()
        began = whole = now.isoformat()
        scope = self._settings.scope
        since, is_delta = _Since.of(self._context.since), False
        oldest = now - timedelta(hours=self._settings.whole_hours)
        if since is not None and since.began <= now and oldest < since.whole <= now:
            # A relative time needs no time zone: Jira reads others in that of the account.
            minutes = math.ceil((now - since.began + OVERLAP).total_seconds() / 60)
            scope = f"{scope} AND updated >= -{minutes}m"
            whole, is_delta = since.whole.isoformat(), True
        return _Position(f"{scope} ORDER BY created ASC", began, whole, is_delta)

    async def _items(self, issue: Object) -> list[ListedItem]:
        """Return the issue and its files, if the source's patterns accept them."""
        issue_id, key = text_of(issue.get("id")), text_of(issue.get("key"))
        if not _ID.fullmatch(issue_id) or "-" in issue_id:
            return []
        fields = _fields_of(issue)
        title, project = text_of(fields.get("title")), text_of(fields.get("project"))
        url = web_address(f"{self._url}/browse/{key}")
        access = await self._access(issue)
        updated = text_of(fields.get("updated"))
        items = [
            ListedItem(
                external_id=issue_id,
                name=page_name([project], f"{key} {title}"),
                version=f"{TEXT_VERSION} {updated}" if updated else None,
                source_url=url,
                fields=fields,
                access=access,
            )
        ]
        for file in objects_of(inner(issue, "fields", "attachment"))[:MOST_FILES]:
            size, name = file.get("size"), text_of(file.get("filename"))
            items.append(
                ListedItem(
                    external_id=f"{issue_id}-file-{text_of(file.get('id'))}",
                    name=joined_path([project, f"{key} {title}"], clean_title(name)),
                    version=f"{TEXT_VERSION} {text_of(file.get('created'))}",  # a file never changes
                    byte_size=size if isinstance(size, int) else None,
                    source_url=url,
                    fields={"title": name, "key": key, "project": project, "type": "attachment"},
                    access=access,
                )
            )
        return [item for item in items if _ID.fullmatch(item.external_id) and self._context.accepts(item.name)]

    async def _access(self, issue: Object) -> ItemAccess | None:
        """Return the readers of an issue: those of its project, or of the issue if it has a security level."""
        level = text_of(inner(issue, "fields", "security", "id"))
        project = text_of(inner(issue, "fields", "project", "key"))
        if not level:
            return await self._known_readers((project,), {"projectKey": project})
        people = [_user_id(inner(issue, "fields", name)) for name in ("assignee", "reporter")]
        key = text_of(issue.get("key"))
        # Nobody, if Jira does not tell: the level exists to keep people out.
        return await self._known_readers((project, level, *people), {"issueKey": key}) or ItemAccess()

    async def _known_readers(self, of: tuple[str, ...], where: dict[str, str]) -> ItemAccess | None:
        if of not in self._readers:
            self._readers[of] = await self._api.readers(**where)
        return self._readers[of]


def _fields_of(issue: Object) -> dict[str, JsonValue]:
    held = {name: inner(issue, "fields", name) for name in ("labels", "components", "fixVersions")}
    labels, project = held["labels"], inner(issue, "fields", "project")
    fields: dict[str, JsonValue] = {
        "key": text_of(issue.get("key")),
        "title": text_of(inner(issue, "fields", "summary")),
        "project": text_of(inner(project, "name")) or text_of(inner(project, "key")),
        "type": text_of(inner(issue, "fields", "issuetype", "name")),
        "status": text_of(inner(issue, "fields", "status", "name")),
        "priority": text_of(inner(issue, "fields", "priority", "name")),
        "resolution": text_of(inner(issue, "fields", "resolution", "name")),
        "assignee": text_of(inner(issue, "fields", "assignee", "displayName")),
        "reporter": text_of(inner(issue, "fields", "reporter", "displayName")),
        "labels": [text_of(each) for each in labels] if isinstance(labels, list) else [],
        "components": [text_of(each.get("name")) for each in objects_of(held["components"])],
        "fix_versions": [text_of(each.get("name")) for each in objects_of(held["fixVersions"])],
        "parent": text_of(inner(issue, "fields", "parent", "key")),
        "created": text_of(inner(issue, "fields", "created")),
        "updated": text_of(inner(issue, "fields", "updated")),
        "resolved": text_of(inner(issue, "fields", "resolutiondate")),
        "due": text_of(inner(issue, "fields", "duedate")),
    }
    return {name: value for name, value in fields.items() if value not in ("", [])}


def _fields_html(item: ListedItem) -> str:
    rows: list[str] = []
    for name in _SHOWN:
        value = item.fields.get(name)
        shown = ", ".join(map(text_of, value)) if isinstance(value, list) else text_of(value)
        if shown:
            rows.append(f"<li><b>{name.capitalize()}</b>: {escaped(shown)}</li>")
    return f"<ul>{''.join(rows)}</ul>\n" if rows else ""


def _user_id(user: JsonValue) -> str:
    return text_of(inner(user, "accountId")) or text_of(inner(user, "name"))


async def _gone_told(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for block in content:
            yield block
    except NotFoundError:
        raise ItemGoneError("Deleted, or no longer visible to the account.") from None


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content
