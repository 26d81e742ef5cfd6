"""Untold events of a slow watcher stay bounded, and are never stale."""

import pytest

from analytiq.models.change import ChangeMoment
from analytiq.operations.live_events.events import MOST_UNTOLD, RESET, Event, EventName, Untold


def event(number: int, name: EventName = EventName.DOCUMENT) -> Event:
    return Event(name, "organization", str(number))


def test_only_the_latest_state_of_each_thing_is_told() -> None:
    untold = Untold()
    untold.add([event(1), event(2), event(1)])
    assert untold.take() == [event(2), event(1)]
    assert untold.take() == []


def test_what_is_gone_takes_the_place_of_what_it_was() -> None:
    untold = Untold()
    gone = event(1, EventName.DOCUMENT_DELETED)
    untold.add([event(1), event(1, EventName.KNOWLEDGE_BASE), gone])
    assert untold.take() == [event(1, EventName.KNOWLEDGE_BASE), gone]


def test_reader_that_does_not_keep_up_is_told_to_read_anew_and_what_came_since() -> None:
    untold = Untold()
    untold.add(event(number) for number in range(MOST_UNTOLD))
    untold.add([event(-1), event(-2)])
    assert untold.take() == [RESET, event(-2)]


@pytest.mark.parametrize("moment", [ChangeMoment(0, 0), ChangeMoment(1_795_867_123, 4)])
def test_place_is_read_back_from_its_text(moment: ChangeMoment) -> None:
    assert ChangeMoment.of(str(moment)) == moment


@pytest.mark.parametrize("text", [None, "", "1", "1.", ".1", "1.2.3", "-1.2", "1.x", "²·1.1", "9" * 11 + ".1"])
def test_text_that_is_no_place_is_none(text: str | None) -> None:
    assert ChangeMoment.of(text) is None
