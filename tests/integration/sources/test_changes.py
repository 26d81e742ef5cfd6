"""Sources that tell their changes: the engine's side of the port, with a service in memory."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from analytiq.errors import PermanentError, TransientError
from analytiq.ingestion.sources.base import ItemAccess, ItemGoneError
from analytiq.ingestion.sources.configuration.service import SourceDraft
from analytiq.models.source import ItemOutcome, RunCounts, RunState, Source, SourceItem, SourceRun
from analytiq.settings import SourceSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.source_items import ItemQuery
from api.schemas.sources import SourceResponse
from tests.fakes.scripted_source import KIND, ScriptedService, faults_of, scripted_services
from tests.integration.conftest import Compose
from tests.integration.sources.conftest import Sourcing
from tests.integration.sources.test_killed_runs import die_at


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    with scripted_services() as (made,):
        made.write(*"abcdefgh")
        yield made


async def source_of(sourcing: Sourcing, **fields: object) -> Source:
    return await sourcing.source(name="Scripted", kind=KIND, settings={"service": "service"}, **fields)


async def stored(sourcing: Sourcing, source: Source) -> Source:
    return await sourcing.tenant.services.ingestion.sources.get(sourcing.id, source.id)


async def since_of(sourcing: Sourcing, source: Source) -> str | None:
    position = (await stored(sourcing, source)).position
    return position.since if position else None


async def items_of(sourcing: Sourcing, source: Source) -> dict[str, SourceItem]:
    sources = sourcing.tenant.services.ingestion.sources
    found, _ = await sources.items(sourcing.id, source.id, ItemQuery(), skip=0, limit=100)
    return {item.external_id: item for item in found}


def log_of(run: SourceRun) -> str:
    return " ".join(note.text for note in run.notes)


async def test_run_lists_the_changes_since_the_last_one(sourcing: Sourcing, service: ScriptedService) -> None:
    source = await source_of(sourcing)
    first = await sourcing.run(source)
    assert (first.counts, first.is_delta, service.asked) == (RunCounts(added=8), False, [(None, None)])
    shown = [SourceResponse.from_source(each).tells_changes for each in (source, await stored(sourcing, source))]
    assert shown == [False, True]
    service.write("b", "i")
    service.remove("c", "d")
    service.fetched.clear()
    run = await sourcing.run(source)
    assert (run.state, run.is_delta) == (RunState.SUCCEEDED, True)
    assert run.counts == RunCounts(added=1, changed=1, removed=2)
    assert "not listed" in log_of(run)
    assert (service.asked[-1][0], sorted(service.fetched)) == ("8", ["b", "i"])
    assert sorted(await sourcing.documents()) == [f"{name}.txt" for name in "abefghi"]
    removed = await sourcing.entries(run, ItemOutcome.REMOVED)
    assert {(entry.external_id, entry.reason) for entry in removed} == {
        (name, "It vanished from the source; its document is deleted.") for name in "cd"
    }
    assert (await sourcing.run(source)).counts == RunCounts()
    assert (await sourcing.run(source, is_full=True)).counts == RunCounts(unchanged=7)
    assert service.asked[-2:] == [("12", None), (None, None)]


async def test_dry_runs_and_selected_items_store_no_position(sourcing: Sourcing, service: ScriptedService) -> None:
    source = await source_of(sourcing)
    await sourcing.run(source, is_dry_run=True)
    await sourcing.run(source, external_ids=["a"])
    assert await since_of(sourcing, source) is None
    await sourcing.run(source)
    service.remove("a")
    service.write("b")
    dry = await sourcing.run(source, is_dry_run=True)
    assert (dry.is_delta, dry.counts) == (True, RunCounts(changed=1, removed=1))
    await sourcing.run(source, external_ids=["b"])
    assert await since_of(sourcing, source) == "8"
    assert (await sourcing.run(source)).counts == RunCounts(unchanged=1, removed=1)


async def test_changed_settings_and_a_passed_interval_list_everything(
    compose_services: Compose, sourcing: Sourcing, service: ScriptedService, migrated: MongoConnection
) -> None:
    source = await source_of(sourcing)
    await sourcing.run(source)
    sources = sourcing.tenant.services.ingestion.sources
    await sources.change(sourcing.id, source.id, {"name": "Renamed", "tag_ids": source.tag_ids})
    assert await since_of(sourcing, source) == "8"
    for change in ({"metadata": {"team": "law"}}, {"settings": {"service": "service", "label": "x"}}):
        await sources.change(sourcing.id, source.id, change)
        assert await since_of(sourcing, source) is None
        assert (await sourcing.run(source)).is_delta is False
    await sources.change(sourcing.id, source.id, {}, credentials={"token": "t"})
    assert await since_of(sourcing, source) is None
    await sourcing.run(source)
    # An archive has no runs, and its items may be older than the position.
    await migrated.database["source_runs"].delete_many({})
    assert (await sourcing.run(source)).is_delta is False
    assert (await sourcing.run(source)).is_delta is True
    services = await compose_services(sources=SourceSettings(full_interval_seconds=1e-9))
    hasty = Sourcing(sourcing.tenant.seen_by(services), sourcing.folder)
    assert (await hasty.run(source)).is_delta is False


async def test_settings_changed_during_a_run_store_no_position(sourcing: Sourcing, service: ScriptedService) -> None:
    source = await source_of(sourcing)
    run = await sourcing.tenant.services.ingestion.source_runs.start(sourcing.id, source.id)
    assert await die_at(sourcing, "sources.batch_committed", time=2)
    changes = {"metadata": {"team": "law"}}
    await sourcing.tenant.services.ingestion.sources.change(sourcing.id, source.id, changes)
    await sourcing.tenant.drain()
    assert (await sourcing.again(run)).state is RunState.SUCCEEDED
    assert await since_of(sourcing, source) is None
    assert (await sourcing.run(source)).counts == RunCounts(changed=3, unchanged=5)


@pytest.mark.parametrize("is_twice", [False, True])
async def test_expired_position_lists_everything_once(
    sourcing: Sourcing, service: ScriptedService, is_twice: bool
) -> None:
    source = await source_of(sourcing)
    await sourcing.run(source)
    service.remove("a")
    service.write("b")
    service.oldest = 9 if not is_twice else 10**9
    run = await sourcing.run(source)
    assert service.asked[1:] == [("8", None), (None, None)]
    assert (run.is_delta, run.counts) == (False, RunCounts(changed=1, unchanged=6, removed=1))
    assert "last position" in log_of(run)
    # A service that never knows its own positions is listed whole each time.
    assert (await sourcing.run(source)).counts == RunCounts(unchanged=0 if not is_twice else 7)


async def test_item_that_changes_and_changes_back_while_it_is_fetched_is_not_stale(
    sourcing: Sourcing, service: ScriptedService
) -> None:
    source = await source_of(sourcing)
    service.overtaking["a"] = (99, "A passing text.")
    first = service.items["a"]
    await sourcing.run(source)
    assert (await sourcing.documents())["a.txt"].byte_size == len("A passing text.")
    service.items["a"] = first
    service.log.append("a")
    assert (await sourcing.run(source)).counts == RunCounts(changed=1)
    assert (await sourcing.documents())["a.txt"].byte_size == len(first[1])


PLACES = (
    ("sources.batch_staged", 1), ("sources.batch_uploaded", 1), ("sources.batch_committed", 1),
    ("sources.batch_uploaded", 2), ("sources.batch_committed", 2), ("sources.documents_removed", 1),
    ("sources.batch_committed", 1), ("sources.documents_removed", 1),
)  # fmt: skip


async def test_changes_whose_worker_dies_at_every_place_end_as_if_none_had(
    sourcing: Sourcing, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.runs.vanishing.BATCH", 1)
    service.page = 2
    source = await source_of(sourcing)
    await sourcing.run(source)
    before = await sourcing.documents()
    service.asked.clear()
    service.remove("a", "d", "g")
    service.write("b", "e", "i")
    run = await sourcing.tenant.services.ingestion.source_runs.start(sourcing.id, source.id)
    for number, (name, time) in enumerate(PLACES):
        assert await die_at(sourcing, name, time=time)
        if number == 3:  # under the run: changes that its cursor does not name
            service.write("b", "j")
    await sourcing.tenant.drain()
    ended = await sourcing.again(run)
    assert (ended.state, ended.counts) == (RunState.SUCCEEDED, RunCounts(added=1, changed=2, removed=3))
    assert {since for since, _ in service.asked} == {"8"}
    assert len(await sourcing.entries(ended)) == 6
    later = await sourcing.run(source)
    assert (service.asked[-1], later.counts) == (("14", None), RunCounts(added=1, changed=1))
    after = await sourcing.documents()
    assert sorted(after) == [f"{name}.txt" for name in "bcefhij"]
    assert all(after[name].id == before[name].id for name in after.keys() & before.keys())


async def test_changes_that_remove_most_items_are_held_back(sourcing: Sourcing, service: ScriptedService) -> None:
    source = await source_of(sourcing)
    await sourcing.run(source)
    service.remove(*"abcde")
    service.write("f")
    for _ in range(2):
        run = await sourcing.run(source)
        assert (run.state, run.withheld_removals, run.counts.removed) == (RunState.SUCCEEDED, 5, 0)
        assert "5 of 8" in log_of(run)
        assert len(await sourcing.documents()) == 8
        assert await since_of(sourcing, source) == "8"
    assert (await sourcing.run(source, accepts_losses=True)).counts == RunCounts(unchanged=3, removed=5)
    assert await since_of(sourcing, source) == "14"


async def test_kept_item_that_comes_back_is_present_again(sourcing: Sourcing, service: ScriptedService) -> None:
    service.page = 100
    source = await source_of(sourcing, when_vanished="keep")
    await sourcing.run(source)
    service.remove("a")
    service.write("b")
    await sourcing.run(source)
    assert (await items_of(sourcing, source))["a"].vanished_at is not None
    service.write("a", "c")
    run = await sourcing.run(source)
    assert run.counts == RunCounts(changed=2)
    assert (await items_of(sourcing, source))["a"].vanished_at is None
    assert len(await sourcing.documents()) == 8


async def test_failed_items_are_tried_again_although_they_did_not_change(
    sourcing: Sourcing, service: ScriptedService
) -> None:
    source = await source_of(sourcing)
    service.faults = faults_of(TransientError("Not now."), "fetch a", "fetch b", "fetch c")
    assert (await sourcing.run(source)).counts == RunCounts(added=5, failed=3)
    del service.faults["fetch a"]
    del service.items["b"]  # the service does not tell
    assert (await sourcing.run(source)).counts == RunCounts(added=1, failed=1, removed=1)
    service.faults.clear()
    assert (await sourcing.run(source)).counts == RunCounts(added=1)
    assert (await sourcing.run(source)).counts == RunCounts()


async def test_item_that_is_gone_when_it_is_fetched_is_removed(sourcing: Sourcing, service: ScriptedService) -> None:
    source = await source_of(sourcing)
    await sourcing.run(source)
    service.write("b", "c")
    service.faults = faults_of(ItemGoneError("It was deleted."), "fetch b")
    assert (await sourcing.run(source)).counts == RunCounts(changed=1, skipped=1, removed=1)
    assert "b.txt" not in await sourcing.documents()


async def test_renewed_credentials_are_stored_at_once_and_never_over_a_persons(
    sourcing: Sourcing, service: ScriptedService, migrated: MongoConnection
) -> None:
    source = await source_of(sourcing, credentials={"client": "us", "token": "old"})
    service.renewed = "renewed"
    service.faults = faults_of(PermanentError("Broken."), "list")
    assert (await sourcing.run(source)).state is RunState.FAILED
    service.faults.clear()
    await sourcing.run(source)
    assert service.used_tokens[-1] == "renewed"
    rows = [json.dumps(row, default=str) async for row in migrated.database["sources"].find({})]
    assert all("renewed" not in row for row in rows)
    assert await since_of(sourcing, source) == "8"

    sources = sourcing.tenant.services.ingestion.sources
    connectors = sourcing.tenant.services.ingestion.connectors
    connector = connectors.open(await stored(sourcing, source))
    await sources.change(sourcing.id, source.id, {}, credentials={"token": "a person's"})
    service.renewed = "late"
    await connector.check()
    await sourcing.run(source)
    assert service.used_tokens[-1] == "a person's"
    service.renewed = "tested"
    assert (await sources.check(sourcing.id, source.id)).problem is None
    await sourcing.run(source)
    assert service.used_tokens[-1] == "tested"
    draft = SourceDraft(name="Draft", kind=KIND, settings={"service": "service"}, credentials={"token": "draft"})
    service.renewed = "of a draft"
    assert (await sources.check_draft(sourcing.id, draft)).problem is None
    assert await migrated.database["sources"].count_documents({}) == 1


async def test_access_is_stored_and_follows_without_a_fetch(sourcing: Sourcing, service: ScriptedService) -> None:
    service.access["a"] = ItemAccess(people=("b@example.com", "a@example.com", "a@example.com"), groups=("law",))
    source = await source_of(sourcing)
    await sourcing.run(source)
    item = (await items_of(sourcing, source))["a"]
    assert item.access is not None
    assert (item.access.people, item.access.groups) == (("a@example.com", "b@example.com"), ("law",))
    assert (await items_of(sourcing, source))["b"].access is None
    before = await sourcing.documents()
    service.fetched.clear()
    service.allow("a", replace(service.access["a"], people=("c@example.com",), is_public=True))
    run = await sourcing.run(source)
    assert (run.counts, service.fetched) == (RunCounts(unchanged=1), [])
    item = (await items_of(sourcing, source))["a"]
    assert item.access is not None
    assert (item.access.people, item.access.is_public) == (("c@example.com",), True)
    assert (await sourcing.documents())["a.txt"] == before["a.txt"]
