"""Runs of a folder source: what is there becomes documents, and follows every change."""

from dataclasses import replace
from pathlib import Path

import pytest

from analytiq.errors import ConflictError, InvalidInputError, NotFoundError
from analytiq.ingestion.sources.configuration.service import SourceDraft
from analytiq.ingestion.sources.kinds.folder import FolderConnector
from analytiq.models.document import DocumentState
from analytiq.models.source import ItemFilters, ItemOutcome, RunCounts, RunState, WhenVanished
from analytiq.storage.client import MongoConnection
from tests.integration.sources.conftest import LONG_AGO, Sourcing
from tests.integration.tenant import new_tenant


async def test_files_become_documents_that_follow_every_change(sourcing: Sourcing) -> None:
    for name in ("a.txt", "b.txt", "deep/c.txt", "deep/er/d.txt", "e.txt"):
        sourcing.write(name, f"The file {name} tells of whales.")
    source = await sourcing.source(metadata={"from": "papers"}, metadata_mapping={"folder": "shelf"})
    first = await sourcing.run(source)
    assert (first.state, first.counts) == (RunState.SUCCEEDED, RunCounts(added=5))
    before = await sourcing.documents()
    assert sorted(before) == ["a.txt", "b.txt", "deep/c.txt", "deep/er/d.txt", "e.txt"]
    assert before["deep/c.txt"].metadata == {"from": "papers", "shelf": "deep"}
    assert all(document.state is DocumentState.EXTRACTED for document in before.values())

    sourcing.write("b.txt", "Now it tells of birds and of nothing else.", at=LONG_AGO + 1)
    (sourcing.folder / "a.txt").unlink()
    sourcing.write("f.txt", "A new one.")
    second = await sourcing.run(source)
    assert second.counts == RunCounts(added=1, changed=1, unchanged=3, removed=1)
    after = await sourcing.documents()
    assert sorted(after) == ["b.txt", "deep/c.txt", "deep/er/d.txt", "e.txt", "f.txt"]
    assert after["b.txt"].id == before["b.txt"].id
    assert after["b.txt"].text_id != before["b.txt"].text_id
    assert after["e.txt"] == before["e.txt"]
    reasons = {entry.name: entry.reason for entry in await sourcing.entries(second, ItemOutcome.REMOVED)}
    assert reasons == {"a.txt": "It vanished from the source; its document is deleted."}
    assert [entry.name for entry in await sourcing.entries(second, ItemOutcome.UNCHANGED)] == [
        "deep/c.txt",
        "deep/er/d.txt",
        "e.txt",
    ]
    assert await sourcing.entries(first, ItemOutcome.UNCHANGED) == []


async def test_unchanged_files_are_not_read_again(
    sourcing: Sourcing, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.kinds.folder.BATCH", 10)
    for number in range(25):
        sourcing.write(f"{number:03}.txt", f"Number {number}.")
    source = await sourcing.source()
    await sourcing.run(source)
    monkeypatch.setattr(FolderConnector, "fetch", None)  # a call would fail
    before = await sourcing.documents()
    run = await sourcing.run(source)
    assert run.counts == RunCounts(unchanged=25)
    assert await sourcing.documents() == before
    assert await migrated.database["fs.files"].count_documents({}) == 25


async def test_touched_file_is_read_and_counts_as_unchanged(sourcing: Sourcing) -> None:
    sourcing.write("a.txt", "A text.")
    source = await sourcing.source()
    await sourcing.run(source)
    before = await sourcing.documents()
    sourcing.write("a.txt", "A text.", at=LONG_AGO + 5)
    assert (await sourcing.run(source)).counts == RunCounts(unchanged=1)
    after = await sourcing.documents()
    assert after["a.txt"].text_id == before["a.txt"].text_id


async def test_changed_tags_and_metadata_of_the_source_reach_its_documents(sourcing: Sourcing) -> None:
    sourcing.write("a.txt", "A text.")
    source = await sourcing.source(metadata={"team": "one"})
    await sourcing.run(source)
    document = (await sourcing.documents())["a.txt"]
    own, other = await sourcing.tenant.new_tag("own"), await sourcing.tenant.new_tag("other")
    await sourcing.tenant.services.ingestion.documents.change(
        sourcing.id, document.id, tag_ids=[*document.tag_ids, own.id], metadata={**document.metadata, "mine": 1}
    )
    await sourcing.tenant.services.ingestion.sources.change(
        sourcing.id, source.id, {"tag_ids": (other.id,), "metadata": {"group": "two"}}
    )
    assert (await sourcing.run(source)).counts == RunCounts(changed=1)
    changed = (await sourcing.documents())["a.txt"]
    assert set(changed.tag_ids) == {own.id, other.id}
    assert changed.metadata == {"mine": 1, "group": "two"}
    assert changed.text_id == document.text_id


async def test_document_that_a_person_deleted_comes_back_while_its_item_exists(sourcing: Sourcing) -> None:
    sourcing.write("a.txt", "A text.")
    source = await sourcing.source()
    await sourcing.run(source)
    document = (await sourcing.documents())["a.txt"]
    await sourcing.tenant.services.ingestion.documents.delete(sourcing.id, document.id)
    await sourcing.tenant.drain()
    assert (await sourcing.run(source)).counts == RunCounts(added=1)
    assert sorted(await sourcing.documents()) == ["a.txt"]


@pytest.mark.parametrize("remaining", [0, 2])
async def test_run_that_sees_little_removes_nothing_unless_it_is_told_to(sourcing: Sourcing, remaining: int) -> None:
    for number in range(5):
        sourcing.write(f"{number}.txt", f"Number {number}.")
    source = await sourcing.source()
    await sourcing.run(source)
    for number in range(remaining, 5):
        (sourcing.folder / f"{number}.txt").unlink()
    run = await sourcing.run(source)
    assert (run.state, run.counts.removed, run.withheld_removals) == (RunState.SUCCEEDED, 0, 5 - remaining)
    assert run.notes[-1].text.startswith(f"Nothing was removed: the source lists {remaining} items, and had 5 before.")
    assert len(await sourcing.documents()) == 5
    meant = await sourcing.run(source, accepts_losses=True)
    assert meant.counts == RunCounts(unchanged=remaining, removed=5 - remaining)
    assert len(await sourcing.documents()) == remaining


async def test_folder_that_cannot_be_listed_keeps_its_documents(sourcing: Sourcing) -> None:
    for number in range(4):
        sourcing.write(f"{number}.txt", f"Number {number}.")
    sourcing.write("deep/" * 65 + "x.txt", "Too deep.")
    source = await sourcing.source()
    await sourcing.run(source)
    (sourcing.folder / "0.txt").unlink()
    run = await sourcing.run(source)
    assert (run.counts.removed, run.withheld_removals, run.is_whole) == (0, 1, False)
    assert "0.txt" in await sourcing.documents()


@pytest.mark.parametrize("policy", [WhenVanished.KEEP, WhenVanished.TAG])
async def test_documents_of_vanished_items_may_be_kept_or_tagged(sourcing: Sourcing, policy: WhenVanished) -> None:
    gone = await sourcing.tenant.new_tag("gone")
    for number in range(3):
        sourcing.write(f"{number}.txt", f"Number {number}.")
    source = await sourcing.source(when_vanished=policy, vanished_tag_id=gone.id)
    await sourcing.run(source)
    (sourcing.folder / "0.txt").unlink()
    assert (await sourcing.run(source)).counts == RunCounts(unchanged=2, removed=1)
    kept = (await sourcing.documents())["0.txt"]
    assert (gone.id in kept.tag_ids) is (policy is WhenVanished.TAG)
    assert (await sourcing.run(source)).counts == RunCounts(unchanged=2)
    sourcing.write("0.txt", "Number 0.")
    assert (await sourcing.run(source)).counts == RunCounts(changed=1, unchanged=2)
    back = (await sourcing.documents())["0.txt"]
    assert (back.id, back.tag_ids) == (kept.id, (sourcing.tenant.tag.id,))


async def test_dry_run_tells_what_a_run_would_do_and_changes_nothing(sourcing: Sourcing) -> None:
    for number in range(4):
        sourcing.write(f"{number}.txt", f"Number {number}.")
    source = await sourcing.source()
    planned = await sourcing.run(source, is_dry_run=True)
    assert planned.counts == RunCounts(added=4)
    assert await sourcing.documents() == {}
    await sourcing.run(source)
    before = await sourcing.documents()
    sourcing.write("1.txt", "Changed.", at=LONG_AGO + 9)
    (sourcing.folder / "0.txt").unlink()
    planned = await sourcing.run(source, is_dry_run=True)
    assert planned.counts == RunCounts(changed=1, unchanged=2, removed=1)
    assert await sourcing.documents() == before
    assert (await sourcing.run(source)).counts == planned.counts


async def test_selected_items_alone_are_fetched_again(sourcing: Sourcing) -> None:
    for number in range(4):
        sourcing.write(f"{number}.txt", f"Number {number}.")
    source = await sourcing.source()
    run = await sourcing.run(source, external_ids=("1.txt", "3.txt", "none.txt", "../out.txt"))
    assert run.counts == RunCounts(added=2, failed=2)
    assert sorted(await sourcing.documents()) == ["1.txt", "3.txt"]
    assert (await sourcing.run(source)).counts == RunCounts(added=2, unchanged=2)


async def test_patterns_and_limits_choose_the_files(sourcing: Sourcing) -> None:
    for name in ("a.txt", "b.md", "old/c.txt", ".hidden.txt", ".git/config.txt", "empty.txt"):
        sourcing.write(name, "" if name == "empty.txt" else "A text of some length.")
    sourcing.write("long.txt", "x" * 101)
    filters = ItemFilters(include=("*.txt",), exclude=("old/*",), max_item_bytes=100)
    run = await sourcing.run(await sourcing.source(filters=filters))
    assert run.counts == RunCounts(added=1, skipped=2)
    reasons = {entry.name: entry.reason for entry in await sourcing.entries(run, ItemOutcome.SKIPPED)}
    assert reasons == {"empty.txt": "The file is empty.", "long.txt": "Larger than 100 bytes."}


async def test_second_run_waits_for_the_end_of_the_first(sourcing: Sourcing) -> None:
    source = await sourcing.source()
    runs = sourcing.tenant.services.ingestion.source_runs
    run = await runs.start(sourcing.id, source.id)
    with pytest.raises(ConflictError, match=run.id):
        await runs.start(sourcing.id, source.id)
    cancelled = await runs.cancel(sourcing.id, source.id, run.id)
    assert cancelled.state is RunState.CANCELLED
    with pytest.raises(ConflictError):
        await runs.cancel(sourcing.id, source.id, run.id)
    await sourcing.tenant.drain()
    assert (await sourcing.run(source)).state is RunState.SUCCEEDED


async def test_deleted_source_leaves_nothing_and_its_documents_only_if_wanted(
    sourcing: Sourcing, migrated: MongoConnection
) -> None:
    sourcing.write("a.txt", "A text.")
    service = sourcing.tenant.services.ingestion.sources
    for deletes in (False, True):
        source = await sourcing.source()
        await sourcing.run(source)
        await service.delete(sourcing.id, source.id, deletes_documents=deletes)
        with pytest.raises(NotFoundError):
            await service.get(sourcing.id, source.id)
        await sourcing.tenant.drain()
        assert len(await sourcing.documents()) == 1
        for name in ("sources", "source_items", "source_runs", "source_run_entries"):
            assert await migrated.database[name].count_documents({}) == 0


async def test_run_of_a_directory_that_is_not_allowed_any_more_fails_and_keeps_the_documents(
    sourcing: Sourcing, tmp_path: Path
) -> None:
    sourcing.write("a.txt", "A text.")
    source = await sourcing.source()
    await sourcing.run(source)
    (tmp_path / "allowed").rename(tmp_path / "elsewhere")
    run = await sourcing.run(source)
    assert (run.state, run.error and run.error.code) == (RunState.FAILED, "not_found")
    assert len(await sourcing.documents()) == 1


async def test_other_organizations_sources_are_unknown(sourcing: Sourcing) -> None:
    source = await sourcing.source()
    run = await sourcing.run(source)
    other = await new_tenant(sourcing.tenant.services)
    ingestion = other.services.ingestion
    with pytest.raises(NotFoundError):
        await ingestion.sources.get(other.id, source.id)
    with pytest.raises(NotFoundError):
        await ingestion.source_runs.start(other.id, source.id)
    with pytest.raises(NotFoundError):
        await ingestion.source_runs.get(other.id, source.id, run.id)
    with pytest.raises(NotFoundError):
        await ingestion.sources.delete(other.id, source.id, deletes_documents=True)


async def test_draft_is_tested_and_not_stored(sourcing: Sourcing) -> None:
    sourcing.write("heron.txt", "The heron waits.")
    sources = sourcing.tenant.services.ingestion.sources
    draft = SourceDraft(name="Papers", kind="folder", settings={"path": str(sourcing.folder)})
    found = await sources.check_draft(sourcing.id, draft)
    assert (found.problem, [item.name for item in found.items]) == (None, ["heron.txt"])

    elsewhere = replace(draft, settings={"path": str(sourcing.folder.parent.parent)})
    assert "ANALYTIQ_SOURCES__FOLDERS" in str((await sources.check_draft(sourcing.id, elsewhere)).problem)
    with pytest.raises(InvalidInputError, match=r"settings\.path"):
        await sources.check_draft(sourcing.id, replace(draft, settings={}))
    assert await sources.page(sourcing.id, name_search=None, skip=0, limit=10) == ([], 0)


async def test_tag_of_a_source_is_not_deleted(sourcing: Sourcing) -> None:
    await sourcing.source()
    with pytest.raises(ConflictError, match="Papers"):
        await sourcing.tenant.services.ingestion.tags.delete(sourcing.id, sourcing.tenant.tag.id)
