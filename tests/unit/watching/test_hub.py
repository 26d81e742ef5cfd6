"""The hub on fakes of its stream and its reading: what cannot be had from a mongod that works.

The real ones: `tests/e2e/test_http_events.py`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.errors import RateLimitedError
from analytiq.models.change import Change, ChangeKey, ChangeKind, ChangeMoment
from analytiq.operations.live_events import hub
from analytiq.operations.live_events.events import Event, EventName
from analytiq.operations.live_events.hub import Watching
from analytiq.operations.live_events.reading import Changed
from analytiq.operations.live_events.watcher import Batch, Watcher
from analytiq.settings import WatchingSettings
from analytiq.storage.session import DatabaseError

UNREADABLE = "unreadable"
START = ChangeMoment(100, 0)


class FakeStream:
    """A change stream whose changes a test makes, and that fails when it says so."""

    def __init__(self) -> None:
        self.changes: asyncio.Queue[list[Change] | Exception] = asyncio.Queue()
        self.openings = 0

    async def now(self) -> ChangeMoment:
        return START

    async def watch(self, after: ChangeMoment) -> AsyncGenerator[list[Change]]:
        assert after == START
        self.openings += 1
        yield []
        while True:
            item = await self.changes.get()
            if isinstance(item, Exception):
                raise item
            yield item

    def put(self, name: str, *, at: int, organization_id: str | None = None) -> None:
        key = ChangeKey(ChangeKind.DOCUMENT, name)
        self.changes.put_nowait([Change(key, ChangeMoment(at, 0), organization_id)])


class FakeReading:
    """Tells every watched organization what changed, by name."""

    async def events(self, changed: Changed, organization_ids: Collection[str]) -> list[Event]:
        if any(key.id == UNREADABLE for key in changed):
            raise ValueError("a row that the model refuses")
        return [
            Event(EventName.DOCUMENT, organization_id, key.id)
            for key, owner in changed.items()
            for organization_id in organization_ids
            if owner in (None, organization_id)
        ]


@pytest.fixture
async def stream() -> FakeStream:
    return FakeStream()


@pytest.fixture
async def watching(stream: FakeStream, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Watching]:
    monkeypatch.setattr(hub, "GATHER_SECONDS", 0.0)
    monkeypatch.setattr(hub, "RETRY_SECONDS", 0.0)
    settings = WatchingSettings(max_connections=2)
    made = Watching(stream, FakeReading(), settings)  # pyright: ignore[reportArgumentType]  # fakes of concrete classes
    yield made
    await made.close()


async def batch(watcher: Watcher, fits: Callable[[Batch], bool] = lambda _: True) -> Batch:
    async with asyncio.timeout(10.0):
        async for item in watcher.batches():
            if fits(item):
                return item
    raise AssertionError("the connection ended")


def names(found: Batch) -> list[str]:
    return [event.subject_id or event.name.value for event in found.events]


async def test_watcher_that_comes_back_is_told_what_it_missed_and_is_not_further_before(
    watching: Watching, stream: FakeStream
) -> None:
    first = await watching.enter("a", [])
    stream.put("seen", at=101)
    seen = await batch(first, lambda item: "seen" in names(item))
    assert seen.position == ChangeMoment(101, 0)
    watching.leave(first)
    other = await watching.enter("b", [])
    stream.put("missed", at=102, organization_id="a")
    stream.put("of b", at=103, organization_id="b")
    await batch(other, lambda item: "of b" in names(item))
    second = await watching.enter("a", [], after=seen.position)
    greeting = await batch(second)
    assert (names(greeting)[0], greeting.position) == ("ready", seen.position)
    missed = await batch(second, lambda item: "missed" in names(item))
    assert "of b" not in names(missed)
    assert missed.position == ChangeMoment(103, 0)


@pytest.mark.parametrize("after", [ChangeMoment(99, 9), ChangeMoment(1, 1)])
async def test_place_before_what_is_remembered_is_answered_with_a_reset(
    watching: Watching, after: ChangeMoment
) -> None:
    assert names(await batch(await watching.enter("a", [], after=after))) == ["reset"]


async def test_place_whose_changes_are_forgotten_is_answered_with_a_reset(
    watching: Watching, stream: FakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MOST_REPEATED", 3)
    watcher = await watching.enter("a", [])
    for number in range(5):
        stream.put(str(number), at=101 + number)
    await batch(watcher, lambda item: item.position == ChangeMoment(105, 0))
    assert names(await batch(await watching.enter("a", [], after=START))) == ["reset"]


async def test_broken_stream_is_opened_again_and_everybody_is_told_to_read_anew(
    watching: Watching, stream: FakeStream
) -> None:
    watcher = await watching.enter("a", [])
    assert names(await batch(watcher)) == ["ready"]
    stream.changes.put_nowait(DatabaseError("the stream is gone"))
    told = await batch(watcher, lambda item: "reset" in names(item))
    assert told.must_check, "while there was no stream, an end of the session went unseen"
    stream.put("after", at=110)
    await batch(watcher, lambda item: "after" in names(item))
    assert stream.openings == 2


async def test_row_that_cannot_be_read_does_not_silence_those_that_follow(
    watching: Watching, stream: FakeStream
) -> None:
    watcher = await watching.enter("a", [])
    assert names(await batch(watcher)) == ["ready"]
    stream.put(UNREADABLE, at=200)
    assert names(await batch(watcher)) == ["reset"]
    stream.put("next", at=300)
    assert names(await batch(watcher)) == ["next"]


async def test_stream_that_fails_in_a_way_that_nobody_foresaw_is_opened_again(
    watching: Watching, stream: FakeStream
) -> None:
    watcher = await watching.enter("a", [])
    await batch(watcher)
    stream.changes.put_nowait(ValueError("a change without a key"))
    assert names(await batch(watcher)) == ["reset"]
    stream.put("next", at=300)
    assert "next" in names(await batch(watcher, lambda found: "next" in names(found)))
    assert stream.openings == 2


async def test_too_many_watchers_are_refused_and_those_that_nobody_holds_count_no_more(watching: Watching) -> None:
    first = await watching.enter("a", [])
    second = await watching.enter("a", [])
    with pytest.raises(RateLimitedError):
        await watching.enter("a", [])
    await watching.enter("b", [])
    del first
    third = await watching.enter("a", [])
    assert {second, third}


async def test_watchers_of_a_changed_credential_are_to_be_checked_and_no_others(
    watching: Watching, stream: FakeStream
) -> None:
    mine, theirs = await watching.enter("a", ["token 1"]), await watching.enter("a", ["token 2"])
    for watcher in (mine, theirs):
        await batch(watcher)
    stream.changes.put_nowait([Change(ChangeKey(ChangeKind.CREDENTIAL, "token 1"), ChangeMoment(101, 0))])
    stream.put("later", at=102)
    assert (await batch(mine, lambda item: item.must_check)).must_check
    assert not (await batch(theirs, lambda item: "later" in names(item))).must_check


async def test_watcher_whose_right_expires_is_checked_then_and_no_sooner(watching: Watching) -> None:
    watcher = await watching.enter("a", ["token"], ends_at=clock.now() + timedelta(milliseconds=200))
    assert not (await batch(watcher)).must_check
    assert (await batch(watcher, lambda item: item.must_check)).events == []
    watcher.rest_on(["another"], None)
    assert watcher.depends_on == {"a", "another"}


async def test_closing_ends_every_connection_and_those_that_come_later(watching: Watching) -> None:
    watcher = await watching.enter("a", [])
    watching.begin_closing()
    assert [item async for item in watcher.batches()] == []
    assert [item async for item in (await watching.enter("a", [])).batches()] == []
