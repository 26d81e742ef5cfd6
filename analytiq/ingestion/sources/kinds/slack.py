"""Channels of Slack. A thread with its replies is a document, and so are the other messages of a day in a channel."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import date
from fnmatch import fnmatchcase
from typing import ClassVar

from pydantic import Field, HttpUrl, SecretStr, field_validator

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections import contents
from analytiq.ingestion.sources.systems.slack.api import SlackApi, Workspace
from analytiq.ingestion.sources.systems.slack.items import ChannelItems, HeldMessages, ItemId
from analytiq.ingestion.sources.systems.slack.listing import Listing, Reach
from analytiq.ingestion.sources.systems.slack.mrkdwn import Mrkdwn
from analytiq.ingestion.sources.systems.slack.names import People
from analytiq.ingestion.sources.systems.slack.pages import day_page, name_of_channel, thread_page
from analytiq.ingestion.sources.systems.slack.reading import read_day, read_thread
from analytiq.ingestion.sources.systems.slack.wire import SlackChannel, SlackFile, SlackMessage


class SlackSettings(KindSchema):
    """The settings of a workspace."""

    channels: tuple[str, ...] = Field(
        default=(),
        max_length=500,
        description="Names, ids or patterns such as `team-*`; none: every channel that the app is a member of",
    )
    private_channels: bool = Field(
        default=True, description="Also read private channels with the app (scopes groups:read and groups:history)"
    )
    archived_channels: bool = Field(default=False, description="Also read archived channels")
    files: bool = Field(
        default=False, title="Files of messages", description="Each file as a document of its own (scope files:read)"
    )
    start_date: date | None = Field(default=None, description="Read no messages before this day; none: all")
    look_back_days: int = Field(
        default=30,
        ge=1,
        le=3650,
        description="Days in which a run looks for edits, deletions and new replies; a whole listing, now and then,"
        " looks at all",
    )
    reread_days: int = Field(
        default=2,
        ge=0,
        le=365,
        title="Read active threads again",
        description="Threads with a reply in these days are read in each run, to see edited replies: one call each",
    )
    api_url: HttpUrl = Field(default=HttpUrl("https://slack.com/api"), title="Address of the API")
    files_url: HttpUrl = Field(
        default=HttpUrl.build(scheme="https", host="files.slack.com"), title="Address of the file host"
    )

    @field_validator("channels")
    @classmethod
    def _are_names(cls, channels: tuple[str, ...]) -> tuple[str, ...]:
        cleaned = tuple(name.strip().lstrip("#") for name in channels)
        if any(not 1 <= len(name) <= 100 or name.count("*") > 10 for name in cleaned):
            raise ValueError("A name has 1 to 100 characters, and at most 10 wildcards `*`")
        return cleaned


class SlackCredentials(KindSchema):
    """The token of an app."""

    token: SecretStr = Field(
        min_length=1,
        max_length=500,
        title="Bot token",
        description="Begins with xoxb-. Scopes at least: channels:read, channels:history, users:read",
    )


class SlackConnector:
    """The channels of a workspace."""

    title: ClassVar[str] = "Slack"
    description: ClassVar[str] = "Threads and messages of Slack channels that an app of yours is a member of."
    settings_schema: ClassVar[type[KindSchema]] = SlackSettings
    credentials_schema: ClassVar[type[KindSchema]] = SlackCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = SlackSettings.model_validate(settings, from_attributes=True)
        self._context = context
        token = SlackCredentials.model_validate(credentials, from_attributes=True).token
        self._api = SlackApi(
            context.operator,
            api_url=str(self._settings.api_url),
            files_url=str(self._settings.files_url),
            token=token.get_secret_value().strip(),
        )
        self._people = People(self._api)
        self._held = HeldMessages()
        self._workspace: Workspace | None = None
        self._channels: dict[str, SlackChannel] | None = None
        self._made: dict[str, ChannelItems] = {}

    async def check(self) -> None:
        """See Connector.

        Raises:
            NotFoundError: the app is a member of none of the channels, or the workspace has not one of them.
        """
        await self._opened_workspace()
        channels = await self._chosen()
        if missing := self._missing(list(channels.values())):
            raise NotFoundError(" ".join(missing))
        if not channels:
            raise NotFoundError(
                "The app is a member of no such channel. Invite it to the channels that it may read: /invite @app."
            )

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the channel with the day and thread that were listed last."""
        channels = await self._chosen()
        missing = self._missing(list(channels.values()))
        settings = self._settings
        reach = Reach(settings.start_date, settings.look_back_days, settings.reread_days)
        listing = Listing(self._api, self._people, self._context, self._held)
        async with aclosing(listing.batches(channels, self._items_of, cursor, reach)) as batches:
            async for batch in batches:
                if missing:
                    yield ListedBatch(
                        items=batch.items,
                        cursor=batch.cursor,
                        removed=batch.removed,
                        problems=(*missing, *batch.problems),
                        is_delta=batch.is_delta,
                    )
                    missing = []
                else:
                    yield batch

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        wanted = ItemId.parsed(external_id)
        channel = (await self._chosen()).get(wanted.channel) if wanted is not None else None
        if wanted is None or channel is None:
            return None
        item = await self._found(await self._items_of(channel), wanted)
        return item if item is not None and self._context.accepts(item.name) else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector.

        Raises:
            ItemGoneError: its messages were deleted.
        """
        wanted = ItemId.parsed(item.external_id)
        channel = (await self._chosen()).get(wanted.channel) if wanted is not None else None
        if wanted is None or channel is None:
            raise ItemGoneError("The channel does not exist any more, or the app is no member of it.")
        if wanted.file is not None:
            return await self._file(wanted)
        messages = self._held.get(item.external_id) or await self._messages(wanted)
        if not messages:
            raise ItemGoneError("Its messages were deleted while the run was going on.")
        await self._people.learn(messages)
        mrkdwn = Mrkdwn(people=self._people.name_of, channels=await self._channel_names())
        page = day_page(channel, wanted.day, messages, mrkdwn) if wanted.day else thread_page(messages, mrkdwn)
        return FetchedItem(contents.text(page), "text/markdown", item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()

    async def _opened_workspace(self) -> Workspace:
        if self._workspace is None:
            self._workspace = await self._api.workspace()
        return self._workspace

    async def _chosen(self) -> dict[str, SlackChannel]:
        """Return the chosen channels that the app is a member of, by id."""
        if self._channels is None:
            found = await self._api.channels(
                with_private=self._settings.private_channels, with_archived=self._settings.archived_channels
            )
            self._channels = {each.id: each for each in found if each.is_member and self._is_chosen(each)}
        return self._channels

    async def _channel_names(self) -> dict[str, str]:
        """Return the names of chosen channels; names of others stay theirs: a private one may be secret."""
        return {each.id: name_of_channel(each) for each in (await self._chosen()).values()}

    def _is_chosen(self, channel: SlackChannel) -> bool:
        patterns = self._settings.channels
        return not patterns or any(
            channel.id == pattern or fnmatchcase(channel.name, pattern.lower()) for pattern in patterns
        )

    def _missing(self, channels: Sequence[SlackChannel]) -> list[str]:
        """Return a sentence for each named channel that cannot be read."""
        known = {name for channel in channels for name in (channel.id, channel.name)}
        named = [pattern for pattern in self._settings.channels if "*" not in pattern and "?" not in pattern]
        return [
            f"#{name}: no such channel, or it is archived, or the app is no member. Invite the app: /invite @app."
            for name in named
            if name not in known and name.lower() not in known
        ]

    async def _items_of(self, channel: SlackChannel) -> ChannelItems:
        if channel.id not in self._made:
            access = await self._people.access_of(channel)
            url = (await self._opened_workspace()).url
            names = await self._channel_names()
            self._made[channel.id] = ChannelItems(channel, access, url, self._settings.files, names)
        return self._made[channel.id]

    async def _found(self, items: ChannelItems, wanted: ItemId) -> ListedItem | None:
        if wanted.file is not None:
            file = await self._shared_file(wanted) if self._settings.files else None
            return items.file(file) if file is not None else None
        messages = await self._messages(wanted)
        if not messages:
            return None
        item = items.day(wanted.day, messages) if wanted.day else items.thread(messages)
        self._held.put(item.external_id, messages)
        return item

    async def _messages(self, wanted: ItemId) -> list[SlackMessage]:
        if wanted.day is not None:
            return (await read_day(self._api, wanted.channel, wanted.day)).plain
        return await read_thread(self._api, wanted.channel, wanted.thread or "")

    async def _shared_file(self, wanted: ItemId) -> SlackFile | None:
        """Return a file that was shared in the channel; the token may read those of other channels too."""
        file = await self._api.file(wanted.file or "")
        return file if file is not None and wanted.channel in (*file.channels, *file.groups) else None

    async def _file(self, wanted: ItemId) -> FetchedItem:
        file = await self._shared_file(wanted)
        if file is None:
            raise ItemGoneError("The file was deleted, or left the channel.")
        if not file.is_hosted or not self._api.may_download(file):
            raise ItemRefusedError("The file is not stored by Slack.")
        content = self._api.download(file, most_bytes=self._context.max_item_bytes)
        return FetchedItem(content, file.mimetype or "application/octet-stream")
