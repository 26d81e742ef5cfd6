"""A provider that stumbles in a batch of 32 documents: the counts of calls, SPUs and failures are exact."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from analytiq.composition import Services
from analytiq.settings import EmbeddingSettings
from analytiq.telemetry import metrics
from tests.fakes.embedding_server import EmbeddingServer, Failure, Outcome, Reply
from tests.integration.embedding.conftest import Books, books
from tests.integration.tenant import Tenant, new_tenant

__all__ = ["books"]

Compose = Callable[..., Awaitable[Services]]
DOCUMENTS = 32


def text_of(number: int) -> str:
    return f"Whale number {number:02} swims."


class Bulk:
    """Documents of one chunk each in one knowledge base, which the workers of one process index as one batch."""

    def __init__(self, tenant: Tenant, kb_id: str, server: EmbeddingServer) -> None:
        self.tenant = tenant
        self.kb_id = kb_id
        self.server = server
        self.ids: list[str] = []
        self._failures_before = self._all_failures()
        self._database: Any = tenant.services.repositories.connection.database

    @classmethod
    async def uploaded(cls, services: Services, server: EmbeddingServer, count: int = DOCUMENTS) -> "Bulk":
        """Upload them; none is extracted, and the provider's calls are counted from here on."""
        tenant = await new_tenant(services)
        kb = await tenant.knowledge_base()
        await tenant.drain()
        bulk = cls(tenant, kb.id, server)
        for number in range(count):
            bulk.ids.append((await tenant.upload(f"{number:02}.txt", text_of(number))).document.id)
        server.requests.clear()
        return bulk

    async def go_on(self) -> None:
        """Let the waiting jobs be due, and run all."""
        await self._database["jobs"].update_many({"state": "available"}, [{"$set": {"run_at": "$$NOW"}}])
        await self._database["rate_limits"].delete_many({})
        await self.tenant.drain()

    @property
    def calls(self) -> list[int]:
        """The number of texts of each call, whatever it met."""
        return [len(request["input"]) for request in self.server.requests if isinstance(request["input"], list)]

    async def indexed(self) -> set[int]:
        """The numbers of the documents that searches find."""
        entries = self._database["document_index"].find({"kb_id": self.kb_id})
        return {self.ids.index(row["document_id"]) async for row in entries}

    async def jobs(self) -> Mapping[tuple[str, str | None, int, bool], int]:
        """(state, code of the error, attempts, alone) of the jobs that are left, and their number."""
        rows = [row async for row in self._database["jobs"].find({"kind": "sync"})]
        return Counter(
            (row["state"], (row["error"] or {}).get("code"), row["attempt"], bool(row.get("is_alone"))) for row in rows
        )

    def failures(self, code: str) -> int:
        """The documents that failed with this code; the metric of the process also has those of other tests."""
        return self._all_failures()[code] - self._failures_before[code]

    def _all_failures(self) -> Counter[str]:
        label = metrics.label_of(self.kb_id)
        (family,) = metrics.indexing_errors.collect()
        return Counter(
            {
                sample.labels["error_type"]: int(sample.value)
                for sample in family.samples
                if sample.name.endswith("_total") and sample.labels["kb_id"] == label
            }
        )

    async def nothing_is_left_behind(self, books: Books, *, spus: int) -> None:
        assert await books.spus() == spus
        assert await books.cached() == await books.charged()
        assert await self._database["embedding_claims"].count_documents({}) == 0
        account = await self.tenant.services.tenancy.metering.account(self.tenant.id)
        assert (account.used, account.reserved) == (spus, 0)
        assert await self._database["generations"].count_documents({"state": "staging"}) == 0


@pytest.fixture(autouse=True)
def turns_of_32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the sizes of turns independent of the pace of this machine."""
    monkeypatch.setattr("analytiq.jobs.queue.turn_sizes.FIRST_JOBS", DOCUMENTS)
    monkeypatch.setattr("analytiq.jobs.queue.turn_sizes.TURN_SECONDS", 1e9)
    # Whatever waits is run again by `Bulk.go_on` only.
    monkeypatch.setattr("analytiq.jobs.queue.retry.FIRST_DELAY_SECONDS", 200.0)


@pytest.fixture
async def in_eights(compose_services: Compose) -> Services:
    """A process whose calls of the provider hold eight texts."""
    return await compose_services(embedding=EmbeddingSettings(batch_size=8, allow_global_cache=True))


async def test_call_holds_the_texts_of_as_many_documents_as_it_takes(
    services: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    bulk = await Bulk.uploaded(services, embedding_server, 3 * DOCUMENTS)
    await bulk.tenant.drain()
    assert len(await bulk.indexed()) == 3 * DOCUMENTS
    assert bulk.calls == [DOCUMENTS, DOCUMENTS, DOCUMENTS]
    await bulk.nothing_is_left_behind(books, spus=3 * DOCUMENTS)
    usage = await services.tenancy.metering.totals(bulk.tenant.id, since=None, until=None)
    assert [(total.kb_id, total.spus, total.saved_spus) for total in usage if total.operation == "index"] == [
        (bulk.kb_id, 3 * DOCUMENTS, 0)
    ]
    assert set(await bulk.tenant.found(bulk.kb_id, "whale swims")) == set(bulk.ids)


async def test_text_that_documents_of_a_batch_share_is_paid_once_and_counted_as_saved(
    services: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    bulk = await Bulk.uploaded(services, embedding_server, 3)
    for number in range(3, 6):
        bulk.ids.append((await bulk.tenant.upload(f"copy-{number}.txt", text_of(0))).document.id)
    await bulk.tenant.drain()
    assert bulk.calls == [3]
    await bulk.nothing_is_left_behind(books, spus=3)
    (usage,) = await services.tenancy.metering.totals(bulk.tenant.id, since=None, until=None)
    assert (usage.spus, usage.saved_spus) == (3, 3)


async def test_wait_of_the_provider_keeps_what_was_embedded_and_defers_the_rest_together(
    in_eights: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    bulk = await Bulk.uploaded(in_eights, embedding_server)
    embedding_server.script(None, None, Reply(429, "slow down", retry_after="60"))
    await bulk.tenant.drain()
    assert bulk.calls == [8, 8, 8]
    assert await bulk.jobs() == {("available", "rate_limited", 0, False): 16}
    assert bulk.failures("rate_limited") == 16
    await bulk.nothing_is_left_behind(books, spus=16)
    await bulk.go_on()
    assert bulk.calls == [8, 8, 8, 8, 8]
    assert await bulk.indexed() == set(range(DOCUMENTS))
    await bulk.nothing_is_left_behind(books, spus=DOCUMENTS)


async def test_provider_that_does_not_answer_in_time_defers_the_rest_each_for_itself(
    compose_services: Compose, embedding_server: EmbeddingServer, books: Books
) -> None:
    settings = EmbeddingSettings(batch_size=8, timeout_seconds=2, allow_global_cache=True)
    bulk = await Bulk.uploaded(await compose_services(embedding=settings), embedding_server)
    embedding_server.script(None, *[Failure.SLOW] * 3)
    await bulk.tenant.drain()
    assert bulk.calls == [8, 8, 8, 8], "a call and two repetitions"
    assert await bulk.jobs() == {("available", "provider_unavailable", 0, True): 24}
    assert bulk.failures("provider_unavailable") == 24
    await bulk.nothing_is_left_behind(books, spus=8)
    embedding_server.release()
    await bulk.go_on()
    assert bulk.calls == [8] * 4 + [1] * 24
    assert await bulk.indexed() == set(range(DOCUMENTS))
    await bulk.nothing_is_left_behind(books, spus=DOCUMENTS)


async def test_refused_text_fails_its_document_alone(
    services: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    bulk = await Bulk.uploaded(services, embedding_server)

    def outcome(_: int) -> Outcome:
        return Reply(400, "unsafe") if text_of(17) in embedding_server.requests[-1]["input"] else None  # type: ignore[operator]

    embedding_server.rule(outcome)
    await bulk.tenant.drain()
    # Halves until the text is found by itself, then all the others in one call; at last the document's own job.
    assert bulk.calls == [32, 16, 16, 8, 4, 2, 1, 1, 14, 1]
    assert await bulk.jobs() == {("dead", "text_refused", 1, False): 1}
    assert bulk.failures("text_refused") == 1
    assert await bulk.indexed() == set(range(DOCUMENTS)) - {17}
    await bulk.nothing_is_left_behind(books, spus=DOCUMENTS - 1)


async def test_provider_that_refuses_every_text_is_asked_a_bounded_number_of_times(
    services: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    bulk = await Bulk.uploaded(services, embedding_server)
    embedding_server.rule(lambda _: Reply(400, "unsafe"))
    await bulk.tenant.drain()
    assert sum(count for (state, code, *_), count in (await bulk.jobs()).items() if (state, code) == (
        "dead", "text_refused",
    )) == DOCUMENTS  # fmt: skip
    assert len(bulk.calls) == 6 + 5 + 5 + DOCUMENTS
    await bulk.nothing_is_left_behind(books, spus=0)


async def test_answer_with_too_few_vectors_is_asked_for_again_and_not_charged(
    in_eights: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    bulk = await Bulk.uploaded(in_eights, embedding_server)
    embedding_server.script(None, None, Failure.TOO_FEW)
    await bulk.tenant.drain()
    assert bulk.calls == [8] * 5
    assert await bulk.jobs() == {}
    assert await bulk.indexed() == set(range(DOCUMENTS))
    await bulk.nothing_is_left_behind(books, spus=DOCUMENTS)


@pytest.mark.parametrize("failure", [Failure.TOO_FEW, Failure.SERVER_ERROR])
async def test_text_that_the_provider_always_stumbles_over_holds_up_no_other_document(
    services: Services, embedding_server: EmbeddingServer, books: Books, failure: Failure
) -> None:
    bulk = await Bulk.uploaded(services, embedding_server)

    def outcome(_: int) -> Outcome:
        return failure if text_of(17) in embedding_server.requests[-1]["input"] else None  # type: ignore[operator]

    embedding_server.rule(outcome)
    await bulk.tenant.drain()
    await bulk.go_on()
    await bulk.go_on()
    assert await bulk.indexed() == set(range(DOCUMENTS)) - {17}
    assert sum((await bulk.jobs()).values()) == 1
    assert Counter(bulk.calls)[32] == 3, "the batch is not tried again"
    await bulk.nothing_is_left_behind(books, spus=DOCUMENTS - 1)


async def test_quota_that_ends_in_a_batch_is_used_to_its_end_and_the_rest_resumes_after_a_top_up(
    services: Services, embedding_server: EmbeddingServer, books: Books
) -> None:
    bulk = await Bulk.uploaded(services, embedding_server)
    await services.tenancy.metering.set_quota(bulk.tenant.id, 20)
    await bulk.tenant.drain()
    assert bulk.calls == [20]
    assert await bulk.jobs() == {("available", "quota_exceeded", 0, False): 12}
    assert bulk.failures("quota_exceeded") == 0
    await bulk.nothing_is_left_behind(books, spus=20)
    await services.tenancy.metering.top_up(bulk.tenant.id, 100)
    await bulk.tenant.drain()
    assert bulk.calls == [20, 12]
    await bulk.nothing_is_left_behind(books, spus=DOCUMENTS)
    assert await bulk.indexed() == set(range(DOCUMENTS))
