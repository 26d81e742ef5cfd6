"""Items of Slack: days, threads and files, with their ids, versions and content."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from pydantic import JsonValue

from analytiq.ingestion.sources.base import ItemAccess, KnownItem, ListedItem
from analytiq.ingestion.sources.systems.slack.pages import name_of_channel, name_of_day, name_of_thread
from analytiq.ingestion.sources.systems.slack.wire import SlackChannel, SlackFile, SlackMessage, version_of
from analytiq.ingestion.sources.texts.wording import one_line, segment_of

_ID = re.compile(
    r"(?P<channel>[A-Z0-9]{2,30}):(?:(?P<day>\d{4}-\d{2}-\d{2})|(?P<thread>\d{1,11}\.\d{6})|file:(?P<file>[A-Z0-9]{2,30}))"
)
MOST_HELD = 500
"""Most items whose messages are held."""
MOST_FILES_NOTED = 100
"""Most files of a thread that its note names; a thread with more is read again in each run."""


@dataclass(frozen=True, slots=True)
class ItemId:
    """The parts of an external id: one of day, thread and file."""

    channel: str
    day: date | None = None
    thread: str | None = None
    file: str | None = None

    @classmethod
    def parsed(cls, external_id: str) -> "ItemId | None":
        """Return the parts; None if it is no id of an item."""
        found = _ID.fullmatch(external_id)
        if found is None:
            return None
        try:
            day = date.fromisoformat(found["day"]) if found["day"] else None
        except ValueError:
            return None
        return cls(found["channel"], day, found["thread"], found["file"])


@dataclass(frozen=True, slots=True)
class ChannelItems:
    """Makes the items of one channel."""

    channel: SlackChannel
    access: ItemAccess
    workspace_url: str
    with_files: bool
    channel_names: Mapping[str, str]

    def day(self, day: date, messages: Sequence[SlackMessage]) -> ListedItem:
        """Return the item of a day."""
        fields: dict[str, JsonValue] = {"kind": "day", "day": str(day), "messages": len(messages)}
        return ListedItem(
            external_id=f"{self.channel.id}:{day}",
            name=name_of_day(self.channel, day),
            version=version_of(list(messages)),
            source_url=self._address(messages[0].ts),
            fields={**self._fields, **fields},
            access=self.access,
        )

    def thread(self, messages: Sequence[SlackMessage]) -> ListedItem:
        """Return the item of a thread that was read."""
        return self._thread(messages[0], version_of(list(messages)), note_of(messages, with_files=self.with_files))

    def known_thread(self, first: SlackMessage, known: KnownItem) -> ListedItem:
        """Return the item of a thread that has not changed since the last run."""
        return self._thread(first, known.version, known.note)

    def thread_id(self, timestamp: str) -> str:
        """Return the external id of a thread."""
        return f"{self.channel.id}:{timestamp}"

    def day_id(self, day: date) -> str:
        """Return the external id of a day."""
        return f"{self.channel.id}:{day}"

    def file(self, file: SlackFile) -> ListedItem:
        """Return the item of a file."""
        created = file.created or file.timestamp or 0
        day = datetime.fromtimestamp(min(max(created, 0), 99_999_999_999), UTC).date()
        name = segment_of(file.name or file.label, most=150, otherwise=file.id)
        return ListedItem(
            external_id=f"{self.channel.id}:file:{file.id}",
            name=f"{name_of_channel(self.channel)}/files/{day} {name}",
            version=f"{file.timestamp or created}:{file.size}",
            byte_size=file.size,
            source_url=_web_address(file.permalink),
            fields={**self._fields, "kind": "file", "file_name": one_line(file.label)},
            skip_reason=None if file.is_hosted else "The file is not stored by Slack, or was deleted there.",
            access=self.access,
        )

    def files_of(self, messages: Sequence[SlackMessage]) -> list[ListedItem]:
        """Return the items of the files of messages."""
        if not self.with_files:
            return []
        found = {file.id: file for message in messages for file in message.files if message.is_written}
        return [self.file(file) for file in found.values()]

    def noted_files(self, known: KnownItem) -> list[ListedItem]:
        """Return the items of the files that the note of a thread names."""
        noted = _noted(known)
        files = noted.get("files") if noted else None
        if not self.with_files or not isinstance(files, list):
            return []
        return [self.file(SlackFile.model_validate(each)) for each in files]

    @property
    def _fields(self) -> dict[str, JsonValue]:
        return {"channel": name_of_channel(self.channel), "is_private": self.channel.is_private}

    def _thread(self, first: SlackMessage, version: str | None, note: str | None) -> ListedItem:
        fields: dict[str, JsonValue] = {"kind": "thread", "day": str(first.day), "replies": first.reply_count}
        return ListedItem(
            external_id=self.thread_id(first.ts),
            name=name_of_thread(self.channel, first, self.channel_names),
            version=version,
            source_url=self._address(first.ts),
            fields={**self._fields, **fields},
            note=note,
            access=self.access,
        )

    def _address(self, timestamp: str) -> str | None:
        if not self.workspace_url:
            return None
        return f"{self.workspace_url.rstrip('/')}/archives/{self.channel.id}/p{timestamp.replace('.', '')}"


def note_of(messages: Sequence[SlackMessage], *, with_files: bool) -> str:
    """Return the note of a thread: what the channel's listing tells of it, and its files."""
    files = {file.id: file for message in messages for file in message.files} if with_files else {}
    if len(files) > MOST_FILES_NOTED:
        return json.dumps({})
    noted = [file.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for file in files.values()]
    return json.dumps({"first": _told(messages[0]), **({"files": noted} if with_files else {})})


def is_as_noted(first: SlackMessage, known: KnownItem | None, *, with_files: bool) -> bool:
    """Return True if the channel's listing tells of a thread what it told in the last run."""
    noted = _noted(known) if known is not None and known.version else None
    return noted is not None and noted.get("first") == _told(first) and (not with_files or "files" in noted)


def _noted(known: KnownItem) -> dict[str, JsonValue] | None:
    try:
        noted: JsonValue = json.loads(known.note or "")
    except ValueError:
        return None
    return noted if isinstance(noted, dict) else None


def _told(first: SlackMessage) -> str:
    return version_of([first]) + f":{first.reply_count}:{first.latest_reply}"


def _web_address(address: str | None) -> str | None:
    return address if address and address.startswith(("https://", "http://")) and len(address) < 2000 else None


@dataclass(slots=True)
class HeldMessages:
    """Messages of listed items of the present batch, so that their content is not asked for again."""

    _messages: dict[str, Sequence[SlackMessage]] = field(default_factory=dict[str, "Sequence[SlackMessage]"])

    def clear(self) -> None:
        """Forget all."""
        self._messages.clear()

    def put(self, external_id: str, messages: Sequence[SlackMessage]) -> None:
        """Hold the messages of an item, and of the last ones before it."""
        if len(self._messages) >= MOST_HELD:
            self._messages.clear()
        self._messages[external_id] = messages

    def get(self, external_id: str) -> Sequence[SlackMessage] | None:
        """Return the messages of an item."""
        return self._messages.get(external_id)

    def all(self) -> list[SlackMessage]:
        """Return the messages of all items."""
        return [message for messages in self._messages.values() for message in messages]
