"""Turns between organizations and lanes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from analytiq.jobs.queue.lanes import ANY_URGENCY_TURN, SECONDS_A_TURN, LaneBook, Wanted


def take_turns(book: LaneBook, count: int, *, priority: int = 0) -> list[str]:
    """The lanes that have the next turns, each of which goes on holding jobs."""
    turns: list[str] = []
    for _ in range(count):
        lane = book.next(0.0)
        assert lane is not None
        turns.append(lane.lane_id)
        book.served(lane, priority)
    return turns


def test_nobody_has_a_turn_in_an_empty_book() -> None:
    assert LaneBook().next(0.0) is None


def test_lanes_of_one_organization_take_turns() -> None:
    book = LaneBook()
    for lane in ("big", "small"):
        book.note(lane, "acme", 0)
    assert Counter(take_turns(book, 10)) == {"big": 5, "small": 5}


def test_organization_with_many_lanes_gets_no_more_turns_than_one_with_a_single_lane() -> None:
    book = LaneBook()
    for number in range(100):
        book.note(f"many-{number}", "many", 0)
    book.note("single", "one", 0)
    shares = Counter(lane.split("-")[0] for lane in take_turns(book, 40))
    assert abs(shares["many"] - shares["single"]) <= 2  # the turns that go by waiting time alone


def test_newcomer_does_not_catch_up_on_turns_that_it_never_wanted() -> None:
    book = LaneBook()
    book.note("old", "old", 0)
    take_turns(book, 1000)
    book.note("new", "new", 0)
    assert Counter(take_turns(book, 20))["old"] >= 9


def test_new_lane_of_a_busy_organization_has_its_turn_within_a_round() -> None:
    book = LaneBook()
    book.note("full", "acme", 0)
    take_turns(book, 500)
    book.note("single", "acme", 0)
    assert "single" in take_turns(book, 2)


def test_organization_that_holds_its_share_of_the_slots_waits_for_one_that_holds_none() -> None:
    book = LaneBook()
    book.note("urgent", "busy", 0)
    book.note("bulk", "idle", 10)
    book.begin("busy")
    lane = book.next(0.0, Wanted(capacity=2))
    assert lane is not None
    assert lane.lane_id == "bulk"


def test_extractions_of_an_organization_have_a_bound_and_its_other_work_has_none() -> None:
    book = LaneBook(most_extractions=2)
    lanes = {
        "acme:-:extract": "acme",
        "acme:-:extract:heavy": "acme",
        "acme:kb:sync": "acme",
        "other:-:extract": "other",
    }
    for lane_id, organization_id in lanes.items():
        book.note(lane_id, organization_id, 0)
    book.begin("acme", "acme:-:extract")
    book.begin("acme", "acme:-:extract:heavy")
    assert set(take_turns(book, 10)) == {"acme:kb:sync", "other:-:extract"}
    book.end("acme", lane_id="acme:-:extract:heavy")
    assert set(take_turns(book, 40)) == set(lanes)


def test_time_of_a_job_is_charged_to_its_organization() -> None:
    book = LaneBook()
    for name in ("long", "short"):
        book.note(name, name, 0)
    book.begin("long")
    book.end("long", seconds=50 * SECONDS_A_TURN)
    assert Counter(take_turns(book, 24))["short"] >= 20  # every eighth turn goes by waiting time alone


def test_organization_stays_while_one_of_its_lanes_holds_jobs() -> None:
    book = LaneBook()
    for name in ("first", "second"):
        book.note(name, "acme", 0)
    lane = book.next(0.0)
    assert lane is not None
    book.empty(lane, lane.version)
    assert len(book) == 1


def test_organization_that_comes_back_is_still_charged_for_its_past_jobs() -> None:
    book = LaneBook()
    for name in ("back", "stays"):
        book.note(name, name, 0)
    lane = book.next(0.0)
    assert lane is not None
    assert lane.lane_id == "back"
    book.end("back", seconds=50 * SECONDS_A_TURN)
    book.empty(lane, lane.version)
    book.note("back", "back", 0)
    assert Counter(take_turns(book, 24))["stays"] >= 20


def test_urgent_lane_goes_first() -> None:
    book = LaneBook()
    book.note("bulk", "acme", 10)
    book.note("urgent", "other", 0)
    first = book.next(0.0)
    assert first is not None
    assert first.lane_id == "urgent"


def test_bulk_does_not_starve_under_endless_urgent_work() -> None:
    book = LaneBook()
    book.note("urgent", "acme", 0)
    book.note("bulk", "other", 10)
    turns: list[str] = []
    for _ in range(2 * ANY_URGENCY_TURN):
        lane = book.next(0.0)
        assert lane is not None
        turns.append(lane.lane_id)
        book.served(lane, lane.priority)
    assert turns.count("bulk") == 2


def test_lane_noted_while_it_was_looked_at_stays_in_the_book() -> None:
    book = LaneBook()
    book.note("lane", "acme", 0)
    lane = book.next(0.0)
    assert lane is not None
    version = lane.version
    book.note("lane", "acme", 0)
    book.empty(lane, version)
    assert book.next(0.0) is lane
    book.empty(lane, lane.version)
    assert book.next(0.0) is None
    assert len(book) == 0


def test_blocked_lane_waits_for_its_time() -> None:
    book = LaneBook()
    book.note("lane", "acme", 0)
    lane = book.next(0.0)
    assert lane is not None
    book.block(lane, 5.0)
    assert book.next(4.9) is None
    assert book.next(5.0) is lane


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=30, unique=True),
    st.integers(1, 200),
)
def test_turns_of_organizations_that_all_have_work_differ_by_at_most_the_reserved_turns(
    lanes: list[tuple[int, int]], rounds: int
) -> None:
    book = LaneBook()
    for organization, lane in lanes:
        book.note(f"{organization}:{lane}", str(organization), 0)
    counts = Counter(turn.split(":")[0] for turn in take_turns(book, rounds))
    shares = [counts.get(str(organization), 0) for organization in {organization for organization, _ in lanes}]
    assert max(shares) - min(shares) <= 1 + rounds // ANY_URGENCY_TURN


def test_who_must_stay_quick_is_given_no_heavy_lane() -> None:
    book = LaneBook()
    book.note("acme:-:extract:heavy", "acme", 0)
    assert book.next(0.0, Wanted(with_heavy=False)) is None
    assert book.soonest(Wanted(with_heavy=False)) is None
    book.note("acme:-:extract", "acme", 10)
    lane = book.next(0.0, Wanted(with_heavy=False))
    assert lane is not None
    assert lane.lane_id == "acme:-:extract"


def claim(book: LaneBook, wanted: Wanted) -> str | None:
    """Take a job for a slot, which it holds from then on; returns the organization."""
    lane = book.next(0.0, wanted)
    if lane is None:
        return None
    book.begin(lane.organization_id)
    book.served(lane, 0)
    return lane.organization_id


def test_organization_that_is_alone_gets_every_slot_and_only_its_share_while_others_wait() -> None:
    book, slot = LaneBook(), Wanted(capacity=4)
    book.note("a", "busy", 0)
    assert [claim(book, slot) for _ in range(4)] == ["busy"] * 4
    book.note("b", "other", 0)
    for _ in range(2):
        book.end("busy", 0.0)
        assert claim(book, slot) == "other"
    book.end("other", 0.0)
    assert claim(book, slot) == "other"
    assert claim(book, slot) is not None  # nobody is below its share any more, and a slot is not left empty


def test_slot_for_newcomers_serves_only_who_holds_none() -> None:
    book, express = LaneBook(), Wanted(for_newcomers=True)
    book.note("a", "busy", 0)
    book.begin("busy")
    assert book.next(0.0, express) is None
    assert book.soonest(express) is None
    book.note("b", "other", 10)
    assert claim(book, express) == "other"
    assert claim(book, express) is None
    book.end("other", 0.0)
    assert claim(book, express) == "other"


def test_time_that_a_slot_was_held_counts_as_turns_also_after_the_lane_was_empty() -> None:
    book = LaneBook()
    book.note("slow", "slow", 0)
    lane = book.next(0.0)
    assert lane is not None
    book.begin("slow")
    book.served(lane, 0)
    book.empty(lane, lane.version)
    book.end("slow", 20 * SECONDS_A_TURN)
    book.note("slow", "slow", 0)
    book.note("quick", "quick", 0)
    shares = Counter(take_turns(book, 16))
    assert shares["quick"] >= 13  # the others go by waiting time alone


def test_running_jobs_are_forgotten_when_they_end() -> None:
    book = LaneBook()
    book.begin("a")
    book.begin("a")
    book.end("a")
    book.note("lane", "a", 0)
    assert book.next(0.0, Wanted(for_newcomers=True)) is None
    book.end("a")
    assert book.next(0.0, Wanted(for_newcomers=True)) is not None


def test_one_slow_lane_at_a_time_leaves_the_other_slots_free() -> None:
    def begun() -> list[str]:
        """Give three slots something to do."""
        found: list[str] = []
        for _ in range(3):
            lane = book.next(0.0)
            if lane is not None:
                book.begin("acme", lane.lane_id)
                book.served(lane, 0)
                found.append(lane.lane_id)
        return found

    book = LaneBook()
    for number in range(5):
        book.note(f"acme:{number}:run_source:slow:heavy", "acme", 0)
    book.note("acme:9:run_source:heavy", "acme", 0)
    first = begun()
    slow = [lane for lane in first if ":slow:" in lane]
    assert (len(first), len(slow)) == (3, 1)
    assert not any(":slow:" in lane for lane in begun())
    book.end("acme", 1.0, slow[0])
    assert sum(":slow:" in lane for lane in begun()) == 1
