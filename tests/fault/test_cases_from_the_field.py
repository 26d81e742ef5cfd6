"""Failures of other systems, each case as a test."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from analytiq.ingestion.documents import service as documents
from analytiq.ingestion.knowledge_bases import service as knowledge_bases
from analytiq.models.document import Document
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.upload import UploadOutcome
from analytiq.storage.client import MongoConnection
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from tests.fakes.embedding_server import Outcome, Reply
from tests.fault import invariants
from tests.fault.conftest import OpenSite, site_at
from tests.fault.poisoned_server import REFUSED_TEXT
from tests.fault.reader import reader_of
from tests.fault.replica_set import replica_set
from tests.fault.site import PATIENCE_SECONDS, Site
from tests.fault.worker_process import WAIT, Fault
from tests.integration.tenant import Tenant, prose

ROUNDS = 100
STAGE_FAILURES: dict[str, dict[str, Any]] = {"hangs-up": {"closeConnection": True}, "refuses": {"errorCode": 8000}}
"""Failures of an insert at the server: without an answer, or with an error that nobody foresaw."""


async def test_job_of_a_document_deleted_meanwhile_holds_up_no_job_behind_it(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    await site.tenant.drain()
    gone = (await site.tenant.upload("gone.txt", prose("whales", 3))).document
    good = (await site.tenant.upload("good.txt", prose("birds", 3))).document
    await site.database["docs"].delete_one({"document_name": "gone.txt"})  # its extraction is still to be done
    site.processes.worker(concurrency=1)
    await site.until(lambda: site.is_indexed(kb.id, good.id), site.jobs)
    await site.until_idle()
    assert await site.tenant.found(kb.id, "year") == [good.id]
    assert not await site.is_indexed(kb.id, gone.id)


async def test_worker_killed_in_the_middle_of_embedding_embeds_nothing_again(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    await site.tenant.drain()
    document = (await site.tenant.upload("a.txt", prose("whales", 40))).document
    settings, constants = (
        {"ANALYTIQ_EMBEDDING__BATCH_SIZE": "10"},
        {"analytiq.ingestion.indexing.staging.STAGE_BATCH_SIZE": 10},
    )
    dying = site.processes.worker(Fault("indexing.window_embedded", nth=3), settings=settings, constants=constants)
    await dying.reach("indexing.window_embedded")
    await dying.end()
    assert embedded(site) == (30, 30)
    site.processes.worker(settings=settings, constants=constants)
    await site.mend()
    assert embedded(site) == (40, 40)
    await invariants.hold(site, {kb.id: {document.id: prose("whales", 40)}})


def embedded(site: Site) -> tuple[int, int]:
    """Return the number of texts that the provider was given, and of different ones."""
    counts = [count for text, count in site.embedding_server.text_counts.items() if "whales" in text]
    return sum(counts), len(counts)


async def test_provider_that_closes_for_a_while_is_called_once_too_often_by_each_worker_at_most(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    await site.tenant.drain()
    documents = [
        (await site.tenant.upload(f"{number}.txt", prose("whales", 1, first=number))).document for number in range(18)
    ]
    before = len(site.embedding_server.requests)
    opens_at: list[float] = []
    refusals: list[int] = []

    def outcome(number: int) -> Outcome:
        if number <= before + 3:
            return None
        if not opens_at:
            opens_at.append(time.monotonic() + 2.0)
        remaining = opens_at[0] - time.monotonic()
        if remaining <= 0:
            return None
        refusals.append(number)
        return Reply(429, retry_after=str(math.ceil(remaining)))

    site.embedding_server.rule(outcome)
    # No process dies here: a lease that a slow machine cannot outlast would have another worker embed again.
    settings, constants = (
        {"ANALYTIQ_QUEUE__LEASE_SECONDS": "60", "ANALYTIQ_QUEUE__BATCH_SIZE": "2"},  # at least nine calls
        {"analytiq.inference.embedding.service.CLAIM_LEASE_SECONDS": 60.0},
    )
    for _ in range(2):
        site.processes.worker(concurrency=3, settings=settings, constants=constants)
    await site.mend()
    assert 1 <= len(refusals) <= 6
    assert embedded(site) == (18, 18)
    await invariants.hold(
        site, {kb.id: {document.id: prose("whales", 1, first=number) for number, document in enumerate(documents)}}
    )


async def test_version_that_cannot_be_embedded_leaves_the_one_before_and_says_why(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    document = await site.tenant.document("a.txt", prose("whales", 3))
    reader = reader_of(site, kb.id)
    reader.present(document.id, prose("whales", 3))
    async with reader.reading():
        await site.tenant.replace("a.txt", prose(REFUSED_TEXT, 3))
        site.processes.worker()

        async def has_failed() -> bool:
            jobs = await site.jobs()
            return [(job["kind"], job["state"]) for job in jobs] == [("sync", "dead")]

        await site.until(has_failed, site.jobs)
    shown = await site.services.ingestion.documents.get(site.tenant.id, document.id)
    (state,) = await site.services.ingestion.indexing_states.of_document(shown)
    assert (state.state.value, state.is_searchable, state.error and state.error.code) == (
        "failed",
        True,
        "text_refused",
    )


async def test_deleted_word_is_never_found_again(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    document = await site.tenant.document("a.txt", "The word is xylophonist, in the year 1000.")
    assert await site.tenant.found(kb.id, "xylophonist") == [document.id]
    await site.services.ingestion.documents.delete(site.tenant.id, document.id)
    assert await site.tenant.found(kb.id, "xylophonist") == []
    site.processes.worker()
    await site.mend()
    assert await site.tenant.found(kb.id, "xylophonist") == []
    await invariants.nothing_names(site, document.id)
    for name in await site.database.list_collection_names():
        holding = [row for row in await invariants.rows(site, name) if "xylophonist" in repr(row)]
        assert holding == [], f"{name} still holds what was deleted"


async def test_same_file_uploaded_twice_at_the_same_moment_is_one_document(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    results = await asyncio.gather(*(site.tenant.upload("a.txt", prose("whales", 3)) for _ in range(2)))
    assert sorted(result.outcome.value for result in results) == ["created", "returned"]
    (document_id,) = {result.document.id for result in results}
    for _ in range(2):
        site.processes.worker()
    await site.mend()
    await invariants.hold(site, {kb.id: {document_id: prose("whales", 3)}})
    assert len(await invariants.rows(site, "kb_changes")) == 1


async def test_same_large_file_uploaded_ten_times_at_the_same_moment_is_one_document(site: Site) -> None:
    content = prose("whales", 3) + " " * 70_000
    uploads = (site.tenant.upload("a.txt", content, tags=[]) for _ in range(10))
    results = await asyncio.gather(*uploads)
    assert len({result.document.id for result in results}) == 1
    assert [result.outcome for result in results].count(UploadOutcome.CREATED) == 1
    await site.tenant.drain()
    await invariants.hold(site, {})


@pytest.mark.parametrize("failure", STAGE_FAILURES)
async def test_write_that_fails_in_the_middle_of_staging_shows_no_part_of_the_document(
    tmp_path: Path, open_a_site: OpenSite, failure: str
) -> None:
    async with (
        replica_set(tmp_path, "--setParameter", "enableTestCommands=1", members=1) as members,
        site_at(members.uri, open_a_site) as site,
    ):
        kb = await site.tenant.knowledge_base()
        document = await site.tenant.document("a.txt", prose("whales", 10))
        reader = reader_of(site, kb.id)
        reader.present(document.id, prose("whales", 10), prose("birds", 20))
        await fail_inserts(site, kb, {"skip": 2}, STAGE_FAILURES[failure])
        async with reader.reading():
            await site.tenant.replace("a.txt", prose("birds", 20))
            site.processes.worker(constants={"analytiq.ingestion.indexing.staging.STAGE_BATCH_SIZE": 5})

            async def has_failed() -> bool:
                return any(job["kind"] == "sync" and job.get("error") is not None for job in await site.jobs())

            await site.until(has_failed, site.jobs)
            (entry,) = await invariants.rows(site, "document_index")
            assert entry["chunk_count"] == 10
            await fail_inserts(site, kb, "off", {})
            await site.mend()
        await invariants.hold(site, {kb.id: {document.id: prose("birds", 20)}})


async def fail_inserts(site: Site, kb: KnowledgeBase, mode: Any, failure: dict[str, Any]) -> None:
    """From now on, inserts into the collection of the knowledge base's vectors fail, in this mode."""
    data = {"failCommands": ["insert"], "namespace": f"{site.database.name}.kb_vectors_{kb.id}", **failure}
    point = {"configureFailPoint": "failCommand", "mode": mode}
    await site.connection.client.admin.command(point if mode == "off" else {**point, "data": data})


AtTheSameMoment = Callable[[Awaitable[object], Awaitable[object]], Awaitable[None]]


@pytest.fixture
def at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> AtTheSameMoment:
    """Make a change of a document and one of a knowledge base; both have written everything before either commits.

    So neither can see the other. Started together, they overlap by chance only.
    """

    async def make(*changes: Awaitable[object]) -> None:
        both_have_written = asyncio.Barrier(len(changes))

        async def meeting(
            connection: MongoConnection, operation: Callable[[Session], Awaitable[object]], **options: Any
        ) -> object:
            has_met = False

            async def write(session: Session) -> object:
                nonlocal has_met
                result = await operation(session)
                if not has_met:  # once: a worker's commit may make one of them begin again
                    has_met = True
                    await both_have_written.wait()
                return result

            return await run_in_transaction(connection, write, **options)

        with monkeypatch.context() as patched:
            for service in (documents, knowledge_bases):
                patched.setattr(service, "run_in_transaction", meeting)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.gather(*changes)

    return make


async def test_document_and_knowledge_base_that_gain_a_tag_at_the_same_moment_find_each_other_every_time(
    site: Site, at_the_same_moment: AtTheSameMoment
) -> None:
    kb = await site.tenant.knowledge_base(tag_ids=())
    document = await site.tenant.document("a.txt", prose("whales", 2), tags=[])
    for _ in range(2):
        site.processes.worker(concurrency=2)
    for number in range(ROUNDS):
        tag = await site.tenant.new_tag(f"tag {number}")
        assert not await is_found(site, kb, document)
        await at_the_same_moment(set_kb_tags(site.tenant, kb, [tag.id]), site.tenant.set_tags(document, [tag.id]))
        await site.until(lambda: is_found(site, kb, document), site.jobs)
        await site.tenant.set_tags(document, [])
        await site.until_idle()  # its entry is gone: what is found next has been joined anew
    assert len([row for row in await invariants.rows(site, "kb_changes") if row["added"]]) == ROUNDS
    await site.mend()
    await invariants.hold(site, {kb.id: {}})


async def test_document_and_knowledge_base_that_lose_their_two_shared_tags_at_the_same_moment_part_every_time(
    site: Site, at_the_same_moment: AtTheSameMoment
) -> None:
    left, right = await site.tenant.new_tag("left"), await site.tenant.new_tag("right")
    both = [left.id, right.id]
    kb = await site.tenant.knowledge_base(tag_ids=tuple(both))
    document = await site.tenant.document("a.txt", prose("whales", 2), tags=both)
    for _ in range(2):
        site.processes.worker(concurrency=2)
    for number in range(ROUNDS):
        await site.until(lambda: is_found(site, kb, document), site.jobs)
        await at_the_same_moment(set_kb_tags(site.tenant, kb, [left.id]), site.tenant.set_tags(document, [right.id]))
        assert not await is_found(site, kb, document)
        if number % 2 == 0:  # let all of it be worked off, else let the next change come in between
            await site.until_idle()
            assert not await site.is_indexed(kb.id, document.id)
        await at_the_same_moment(set_kb_tags(site.tenant, kb, both), site.tenant.set_tags(document, both))
    await site.mend()
    await invariants.hold(site, {kb.id: {document.id: prose("whales", 2)}})


async def test_knowledge_base_that_loses_its_tag_while_a_document_is_indexed_keeps_no_entry_of_it(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    await site.tenant.drain()
    document = (await site.tenant.upload("a.txt", prose("whales", 2))).document
    indexing = site.processes.worker(Fault("indexing.planned", WAIT), concurrency=1)
    await indexing.reach("indexing.planned")
    await set_kb_tags(site.tenant, kb, [])
    site.processes.worker()

    async def only_the_indexing_is_left() -> bool:
        return [job["kind"] for job in await site.jobs()] == ["sync"]

    await site.until(only_the_indexing_is_left, site.jobs)
    indexing.let_go("indexing.planned")
    await site.until_idle()
    assert not await site.is_indexed(kb.id, document.id)


async def set_kb_tags(tenant: Tenant, kb: KnowledgeBase, tag_ids: Sequence[str]) -> None:
    await tenant.services.ingestion.knowledge_bases.change(tenant.id, kb.id, {"tag_ids": list(tag_ids)})


async def is_found(site: Site, kb: KnowledgeBase, document: Document) -> bool:
    return await site.tenant.found(kb.id, "year") == [document.id]
