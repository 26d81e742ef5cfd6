"""Listings of Slack: channel by channel, each day by day from the newest, with positions that another connection takes.

A whole listing names every day and thread. A listing of changes looks back some days: Slack tells no changes, and a
message is edited, deleted or answered in place.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from analytiq import clock
from analytiq.errors import AnalytiqError, NotFoundError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import KnownItem, ListedBatch, ListedItem, SourceContext
from analytiq.ingestion.sources.systems.slack.api import SlackApi
from analytiq.ingestion.sources.systems.slack.items import ChannelItems, HeldMessages, is_as_noted
from analytiq.ingestion.sources.systems.slack.names import People
from analytiq.ingestion.sources.systems.slack.reading import Day, days_of, read_thread
from analytiq.ingestion.sources.systems.slack.wire import (
    SlackChannel,
    SlackMessage,
    day_of,
    end_of,
    just_before,
    start_of,
)

BATCH = 100
"""Items after which a batch ends."""
READ_THREADS = 20
"""Threads that are read for a batch at most: each costs a call."""
BATCH_SECONDS = 8.0
MOST_CHANNELS_TOLD = 2000
"""Most channels of a source that lists changes only."""
_DONE = "0"

MakeItems = Callable[[SlackChannel], Awaitable[ChannelItems]]
State = TypeVar("State", bound=BaseModel)


class Since(BaseModel):
    """The position of a run that is complete: its time, and its channels."""

    at: float
    channels: tuple[str, ...]


class Position(BaseModel):
    """The position within a run: the days of `channel` from `day` on are listed, in it the threads from `thread` on.

    `thread` is empty if only the day's own item is listed, and "0" if all of the day is.
    """

    at: float
    is_delta: bool
    channel: str = ""
    day: date | None = None
    thread: str = ""
    is_channel_done: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """The times that a listing looks at.

    Attributes:
        oldest: the timestamp before the first message; None: all.
        read_again: threads with a reply since then are read, whatever the channel's listing tells.
    """

    oldest: str | None
    read_again: float


@dataclass(slots=True)
class _Batch:
    """A batch that is being filled."""

    items: list[ListedItem] = field(default_factory=list[ListedItem])
    removed: list[str] = field(default_factory=list[str])
    read: int = 0
    began: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    position: Position | None = None

    @property
    def is_full(self) -> bool:
        late = asyncio.get_running_loop().time() - self.began > BATCH_SECONDS
        return len(self.items) >= BATCH or self.read >= READ_THREADS or (late and bool(self.items))


@dataclass(frozen=True, slots=True)
class Reach:
    """The period that a source reads.

    Attributes:
        start: the first day of its messages; None: all.
        look_back_days: days that a listing of changes looks at.
        reread_days: days within which threads with a reply are read again.
    """

    start: date | None
    look_back_days: int
    reread_days: int

    def window(self, at: float, *, is_delta: bool, since: float | None) -> Window:
        """Return the window of a listing that began at a time."""
        days = [self.start] if self.start else []
        if is_delta and since is not None:
            days.append(datetime.fromtimestamp(since, UTC).date() - timedelta(days=self.look_back_days))
        reread = self.reread_days if is_delta else max(self.reread_days, self.look_back_days)
        return Window(just_before(start_of(max(days))) if days else None, (since or at) - reread * 86_400)


class Listing:
    """One listing of the chosen channels."""

    def __init__(self, api: SlackApi, people: People, context: SourceContext, held: HeldMessages) -> None:
        self._api = api
        self._people = people
        self._context = context
        self._held = held

    async def batches(
        self, channels: Mapping[str, SlackChannel], make: MakeItems, cursor: str | None, reach: Reach
    ) -> AsyncGenerator[ListedBatch]:
        """Yield the batches behind a cursor; `make` returns what makes the items of a channel."""
        since = _parsed(Since, self._context.since)
        ids = set(channels)
        position = _parsed(Position, cursor) or Position(
            at=clock.now().timestamp(), is_delta=since is not None and set(since.channels) <= ids
        )
        if position.is_delta and since is None:
            raise PermanentError("The run began with changes since a position that is not known any more. Run again.")
        for channel_id in sorted(ids):
            channel = channels[channel_id]
            if channel.id < position.channel or (channel.id == position.channel and position.is_channel_done):
                continue
            before = position if channel.id == position.channel else None
            is_known = since is not None and channel.id in since.channels
            window = reach.window(
                position.at, is_delta=position.is_delta and is_known, since=since.at if since else None
            )
            start = before or Position(at=position.at, is_delta=position.is_delta, channel=channel.id)
            try:
                items = await make(channel)
            except (NotFoundError, PermanentError) as error:
                done = start.model_copy(update={"is_channel_done": True})
                yield ListedBatch((), done.model_dump_json(), _problem(channel, error), is_delta=position.is_delta)
                continue
            async for batch in _ChannelListing(self, items, window, start).batches():
                yield batch
        end = Since(at=position.at, channels=tuple(sorted(ids)))
        done = position.model_copy(update={"channel": "~", "is_channel_done": True})
        yield ListedBatch(
            items=(),
            cursor=done.model_dump_json(),
            is_delta=position.is_delta,
            next_since=end.model_dump_json() if len(ids) <= MOST_CHANNELS_TOLD else None,
        )

    async def known(self, ids: Sequence[str]) -> dict[str, KnownItem]:
        """Return what is known of some items."""
        return dict(await self._context.find_known(ids)) if ids else {}

    def days(self, channel: SlackChannel, window: Window, latest: str | None) -> AsyncGenerator[Day]:
        """Yield the days of a channel."""
        return days_of(self._api, channel.id, oldest=window.oldest, latest=latest)

    async def thread(self, channel: SlackChannel, timestamp: str) -> list[SlackMessage]:
        """Read a thread."""
        return await read_thread(self._api, channel.id, timestamp)

    def begin_batch(self) -> None:
        """Forget the messages of the last batch."""
        self._held.clear()

    def hold(self, item: ListedItem, messages: Sequence[SlackMessage]) -> bool:
        """Hold the content of an item for its fetch; return False if the source's patterns refuse the item."""
        if not self._context.accepts(item.name):
            return False
        self._held.put(item.external_id, messages)
        return True

    def accepts(self, item: ListedItem) -> bool:
        """Return True if the source's patterns accept an item."""
        return self._context.accepts(item.name)

    async def learn_names(self, items: Sequence[ListedItem]) -> None:
        """Read the names that the new and changed items of a batch need."""
        known = await self.known([item.external_id for item in items])
        changed = [
            messages
            for item in items
            if (messages := self._held.get(item.external_id)) is not None
            and ((before := known.get(item.external_id)) is None or before.version != item.version)
        ]
        if changed:
            await self._people.learn(message for messages in changed for message in messages)


class _ChannelListing:
    """The listing of one channel."""

    def __init__(self, listing: Listing, items: ChannelItems, window: Window, start: Position) -> None:
        self._listing = listing
        self._items = items
        self._window = window
        self._start = start
        self._batch = _Batch(position=start)
        self._is_delta = start.is_delta and window.oldest is not None

    async def batches(self) -> AsyncGenerator[ListedBatch]:
        """Yield the channel's items. A channel that cannot be read is a problem, and no reason to remove anything."""
        self._begin_batch()
        problem: str | None = None
        try:
            async for _ in self._steps():
                if self._batch.is_full:
                    yield await self._emitted()
                    self._begin_batch()
        except RateLimitedError:
            if self._batch.items:
                # What is read is taken in: a workspace may allow one call a minute.
                yield await self._emitted()
            raise
        except (NotFoundError, PermanentError) as error:
            (problem,) = _problem(self._items.channel, error)
        self._batch.position = self._start.model_copy(update={"is_channel_done": True})
        yield await self._emitted(problem)

    async def _steps(self) -> AsyncGenerator[None]:
        """Fill the batch, and stop after each day and thread."""
        start = self._start
        latest, newer = None, clock.now().date() + timedelta(days=2)
        if start.day is not None:
            is_done = start.thread == _DONE
            latest, newer = (start_of(start.day) if is_done else end_of(start.day)), start.day
        async with aclosing(self._listing.days(self._items.channel, self._window, latest)) as days:
            async for day in days:
                await self._note_empty_days(day.day, newer)
                newer = day.day
                is_resumed = day.day == start.day
                if not is_resumed:
                    await self._add_day(day)
                    yield
                known = await self._listing.known([self._items.thread_id(first.ts) for first in day.threads])
                for first in day.threads:
                    if is_resumed and start.thread and first.ts >= start.thread:
                        continue
                    await self._add_thread(first, known.get(self._items.thread_id(first.ts)))
                    yield
                self._move(day.day, _DONE)
        if self._window.oldest is not None:
            await self._note_empty_days(day_of(self._window.oldest), newer)

    async def _add_day(self, day: Day) -> None:
        """Add the item of a day, its files, and threads that were answered in the channel."""
        messages = day.plain
        if messages:
            item = self._items.day(day.day, messages)
            if self._listing.hold(item, messages):
                self._batch.items.append(item)
            self._add_files(self._items.files_of(messages))
        if self._is_delta:
            gone = [self._items.thread_id(message.ts) for message in messages]
            await self._note_removed([*gone, *([] if messages else [self._items.day_id(day.day)])])
            for timestamp in day.threads_told:
                if day_of(timestamp) <= day_of(self._window.oldest or "0.000000"):
                    await self._read_thread(timestamp)
        self._move(day.day, "")

    async def _add_thread(self, first: SlackMessage, known: KnownItem | None) -> None:
        items = self._items
        is_recent = float(first.latest_reply or first.ts) >= self._window.read_again
        if known is not None and not is_recent and is_as_noted(first, known, with_files=items.with_files):
            item = items.known_thread(first, known)
            if self._listing.accepts(item):
                self._batch.items.append(item)
            self._add_files(items.noted_files(known))
        else:
            await self._read_thread(first.ts)
        self._move(first.day, first.ts)

    async def _read_thread(self, timestamp: str) -> None:
        messages = await self._listing.thread(self._items.channel, timestamp)
        self._batch.read += 1
        if not messages:
            return  # deleted meanwhile, or without replies: a later run has it in its day
        item = self._items.thread(messages)
        if self._listing.hold(item, messages):
            self._batch.items.append(item)
        self._add_files(self._items.files_of(messages))

    def _add_files(self, files: Sequence[ListedItem]) -> None:
        self._batch.items += [file for file in files if self._listing.accepts(file)]

    async def _note_empty_days(self, older: date, newer: date) -> None:
        """Note known days between two days: their messages were deleted."""
        if self._is_delta:
            days = [older + timedelta(days=number) for number in range(1, (newer - older).days)]
            await self._note_removed([self._items.day_id(day) for day in days])

    async def _note_removed(self, ids: Sequence[str]) -> None:
        self._batch.removed += sorted(await self._listing.known(ids))

    def _begin_batch(self) -> None:
        self._listing.begin_batch()
        self._batch = _Batch(position=self._batch.position)

    def _move(self, day: date, thread: str) -> None:
        self._batch.position = self._start.model_copy(update={"day": day, "thread": thread})

    async def _emitted(self, problem: str | None = None) -> ListedBatch:
        """Return the batch. The content of its items is held until the engine comes back."""
        batch, position = self._batch, self._batch.position or self._start
        items = list({item.external_id: item for item in batch.items}.values())
        try:
            await self._listing.learn_names(items)
        except RateLimitedError:
            raise
        except AnalytiqError:
            pass  # ids stand for names
        return ListedBatch(
            items=items,
            cursor=position.model_dump_json(),
            removed=tuple(batch.removed),
            problems=(problem,) if problem else (),
            is_delta=position.is_delta,
        )


def _problem(channel: SlackChannel, error: AnalytiqError) -> tuple[str]:
    return (f"#{channel.name or channel.id}: {error.detail}",)


def _parsed(model: type[State], text: str | None) -> State | None:
    try:
        return model.model_validate_json(text) if text else None
    except ValidationError:
        return None
