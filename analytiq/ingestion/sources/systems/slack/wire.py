"""Objects of Slack's Web API, as far as they are read here."""

import hashlib
import json
from datetime import UTC, date, datetime, timedelta

from pydantic import Field, JsonValue

from analytiq.ingestion.sources.connections.wire import WireModel

TIMESTAMP = r"^\d{1,11}\.\d{6}$"
_OWN = frozenset({None, "bot_message", "me_message", "file_share", "thread_broadcast", "reminder_add", "file_comment"})
"""Subtypes of messages that somebody wrote; the others tell that somebody joined, or that a topic was set."""


class SlackFile(WireModel):
    """A file of a message."""

    id: str = Field(pattern=r"^[A-Z0-9]{2,30}$")
    name: str | None = None
    title: str | None = None
    size: int | None = None
    created: int | None = None
    timestamp: int | None = None
    mimetype: str | None = None
    mode: str | None = None
    is_external: bool = False
    url_private: str | None = None
    url_private_download: str | None = None
    permalink: str | None = None
    channels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return the name for people."""
        return self.title or self.name or self.id

    @property
    def is_hosted(self) -> bool:
        """Return True if Slack stores the file, and still has it."""
        return not self.is_external and self.mode in (None, "hosted", "snippet")


class SlackEdit(WireModel):
    """The last edit of a message."""

    ts: str


class SlackAttachment(WireModel):
    """A card below a message, such as the preview of a link."""

    pretext: str | None = None
    title: str | None = None
    title_link: str | None = None
    text: str | None = None
    fallback: str | None = None


class SlackBot(WireModel):
    """The app that wrote a message."""

    name: str | None = None


class SlackMessage(WireModel):
    """A message of a channel or thread."""

    ts: str = Field(pattern=TIMESTAMP)
    thread_ts: str | None = None
    subtype: str | None = None
    user: str | None = None
    username: str | None = None
    bot_profile: SlackBot | None = None
    text: str = ""
    edited: SlackEdit | None = None
    reply_count: int = 0
    latest_reply: str | None = None
    files: tuple[SlackFile, ...] = ()
    attachments: tuple[SlackAttachment, ...] = ()
    blocks: JsonValue = None

    @property
    def is_thread(self) -> bool:
        """Return True if the message has replies."""
        return self.reply_count > 0 and self.thread_ts in (None, self.ts)

    @property
    def is_reply(self) -> bool:
        """Return True if the message belongs to the thread of another."""
        return self.thread_ts not in (None, self.ts)

    @property
    def is_written(self) -> bool:
        """Return True if somebody wrote the message, and it still exists."""
        return self.subtype in _OWN

    @property
    def day(self) -> date:
        """Return the day, in UTC."""
        return day_of(self.ts)

    @property
    def fingerprint(self) -> list[JsonValue]:
        """Return what changes when the message is edited."""
        return [
            self.ts,
            self.user or self.username,
            self.edited.ts if self.edited else None,
            self.subtype,
            self.text,
            [file.id for file in self.files],
            [[card.title, card.text, card.fallback] for card in self.attachments],
        ]


class SlackChannel(WireModel):
    """A public or private channel."""

    id: str = Field(pattern=r"^[A-Z0-9]{2,30}$")
    name: str = ""
    is_private: bool = False
    is_archived: bool = False
    is_member: bool = False


class SlackProfile(WireModel):
    """The profile of a person."""

    real_name: str | None = None
    display_name: str | None = None
    email: str | None = None


class SlackUser(WireModel):
    """A person or app of the workspace."""

    id: str
    name: str | None = None
    real_name: str | None = None
    profile: SlackProfile = SlackProfile()

    @property
    def label(self) -> str:
        """Return the name for people. Display names carry absences and moods, so the real one goes first."""
        names = (self.profile.real_name, self.real_name, self.profile.display_name, self.name)
        return next((name for name in names if name), self.id)


def version_of(messages: list[SlackMessage]) -> str:
    """Return the version of a document of these messages."""
    told = json.dumps([message.fingerprint for message in messages])
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def day_of(timestamp: str) -> date:
    """Return the day of a message, in UTC."""
    return datetime.fromtimestamp(min(float(timestamp), 99_999_999_999), UTC).date()


def start_of(day: date) -> str:
    """Return the timestamp at which a day begins."""
    return f"{int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())}.000000"


def end_of(day: date) -> str:
    """Return the timestamp at which the next day begins."""
    return start_of(day + timedelta(days=1))


def just_before(timestamp: str) -> str:
    """Return the timestamp a microsecond earlier: the limits of a listing are left out of it."""
    seconds, _, micros = timestamp.partition(".")
    total = int(seconds) * 1_000_000 + int(micros) - 1
    return f"{max(total, 0) // 1_000_000}.{max(total, 0) % 1_000_000:06}"
