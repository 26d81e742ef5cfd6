"""Messages of a channel by day, and threads."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.systems.slack.api import SlackApi
from analytiq.ingestion.sources.systems.slack.wire import SlackMessage, end_of, just_before, start_of

MOST_OF_A_DAY = 20_000
"""Most messages of a day in one channel."""
MOST_REPLIES = 20_000
"""Most messages of a thread."""


@dataclass(slots=True)
class Day:
    """The messages of a day in a channel, newest first."""

    day: date
    messages: list[SlackMessage] = field(default_factory=list[SlackMessage])

    @property
    def plain(self) -> list[SlackMessage]:
        """Return the messages that begin no thread and belong to none, oldest first."""
        return sorted(
            (each for each in self.messages if each.is_written and not each.is_thread and not each.is_reply),
            key=lambda message: message.ts,
        )

    @property
    def threads(self) -> list[SlackMessage]:
        """Return the first messages of threads, newest first. One may be deleted while its replies remain."""
        return sorted(
            (each for each in self.messages if each.is_thread and (each.is_written or each.subtype == "tombstone")),
            key=lambda message: message.ts,
            reverse=True,
        )

    @property
    def threads_told(self) -> list[str]:
        """Return the timestamps of threads of which a reply was also sent to the channel."""
        return sorted({each.thread_ts for each in self.messages if each.is_reply and each.thread_ts})


async def days_of(api: SlackApi, channel_id: str, *, oldest: str | None, latest: str | None) -> AsyncGenerator[Day]:
    """Yield the days of a channel with messages, newest first.

    Raises:
        PermanentError: the pages do not lead back in time, or a day has too many messages.
    """
    current: Day | None = None
    before = ""
    async with aclosing(api.history(channel_id, oldest=oldest, latest=latest)) as pages:
        async for page in pages:
            older = [each for each in page.messages if not before or _time_of_text(each.ts) < _time_of_text(before)]
            if page.messages and not older:
                raise PermanentError("Slack lists messages that do not lead back in time. Run again later.")
            for message in sorted(older, key=_time_of, reverse=True):
                before = message.ts
                if current is not None and message.day != current.day:
                    yield current
                    current = None
                current = current or Day(message.day)
                current.messages.append(message)
                if len(current.messages) > MOST_OF_A_DAY:
                    raise PermanentError(f"More than {MOST_OF_A_DAY:,} messages on {current.day}.")
    if current is not None:
        yield current


async def read_day(api: SlackApi, channel_id: str, day: date) -> Day:
    """Return the messages of one day."""
    found = Day(day)
    async with aclosing(days_of(api, channel_id, oldest=just_before(start_of(day)), latest=end_of(day))) as days:
        async for each in days:
            if each.day == day:
                found = each
    return found


async def read_thread(api: SlackApi, channel_id: str, timestamp: str) -> list[SlackMessage]:
    """Return the messages of a thread, its first one at the beginning; empty if it does not exist.

    A thread whose replies were all deleted is none: its first message belongs to its day.

    Raises:
        PermanentError: it has too many messages.
    """
    found: dict[str, SlackMessage] = {}
    try:
        async with aclosing(api.replies(channel_id, timestamp)) as pages:
            async for page in pages:
                found.update((message.ts, message) for message in page.messages)
                if len(found) > MOST_REPLIES:
                    raise PermanentError(f"The thread has more than {MOST_REPLIES:,} messages.")
    except NotFoundError:
        return []
    messages = sorted(found.values(), key=_time_of)
    if len(messages) < 2 or messages[0].ts != timestamp:
        return []
    return [messages[0], *(each for each in messages[1:] if each.is_written)]


def _time_of(message: SlackMessage) -> tuple[int, str]:
    return _time_of_text(message.ts)


def _time_of_text(timestamp: str) -> tuple[int, str]:
    seconds, _, micros = timestamp.partition(".")
    return int(seconds), micros
