"""A forecast is what indexing then costs, and costs nothing itself."""

from typing import Any

import pytest
from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.encryption import Vault
from analytiq.ingestion.knowledge_bases.forecast import Forecast, ForecastRequest
from analytiq.ingestion.knowledge_bases.service import IndexSettings
from analytiq.models.index_types import Chunking
from analytiq.models.organization import CacheScope
from analytiq.models.provider import LlmProvider
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.providers import ProviderRepository
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.tenant import CHUNK_TOKENS, REMOTE_MODEL, Tenant, new_tenant, prose


async def forecast(tenant: Tenant, **options: Any) -> Forecast:
    wanted: dict[str, Any] = {
        "tag_ids": (tenant.tag.id,),
        "chunking": Chunking(
            options.pop("chunker_type", "token"),
            options.pop("chunk_size", CHUNK_TOKENS),
            options.pop("chunk_overlap", 0),
        ),
        "embedding_model": REMOTE_MODEL,
        "context": False,
        **options,
    }
    return await tenant.services.ingestion.forecasts.forecast(tenant.organization, ForecastRequest(**wanted))


async def charged(connection: MongoConnection, organization_id: str) -> int:
    rows = connection.database["spu_ledger"].find({"organization_id": organization_id})
    return sum([row["spus"] async for row in rows])


async def test_forecast_is_exactly_what_indexing_then_costs(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    for name in ("whales", "birds", "trees"):
        await tenant.document(f"{name}.txt", prose(name, 30))
    await tenant.document("twice.txt", "\n".join([prose("books", 10)] * 2))
    before = await forecast(tenant)
    assert embedding_server.calls == 0
    assert await charged(migrated, tenant.id) == 0
    assert (before.documents, before.is_estimated, before.sampled_documents) == (4, False, 4)
    assert (before.is_cache_known, before.token_usd) == (False, None)
    kb = await tenant.knowledge_base()
    await tenant.drain()
    indexed = await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    assert before.chunks.value == before.chunks.low == before.chunks.high == indexed.chunk_count
    assert before.spus.value == await charged(migrated, tenant.id) < indexed.chunk_count
    vectors = migrated.database[f"kb_vectors_{kb.id}"]
    assert before.tokens.value == sum([row["token_count"] async for row in vectors.find({})])
    after = await forecast(tenant)
    assert (after.spus.value, after.chunks.value, after.is_cache_known) == (0, indexed.chunk_count, True)
    assert after.cached_chunks.value == indexed.chunk_count
    assert (after.tokens.value, after.spu_tokens.value) == (before.tokens.value, 0)


async def test_forecast_of_a_half_cached_collection_is_what_the_other_half_then_costs(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    await tenant.document("old.txt", prose("whales", 20))
    await tenant.knowledge_base()
    await tenant.drain()
    half = await tenant.new_tag("half")
    for name in ("birds", "trees"):
        await tenant.document(f"{name}.txt", f"{prose('whales', 10)}\n{prose(name, 15)}", tags=[half.id])
    before = await charged(migrated, tenant.id)
    found = await forecast(tenant, tag_ids=(half.id,))
    assert found.cached_chunks.value > 0
    kb = await tenant.knowledge_base(tag_ids=(half.id,))
    await tenant.drain()
    assert await charged(migrated, tenant.id) - before == found.spus.value
    chunk_count = (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).chunk_count
    assert chunk_count == found.chunks.value == found.cached_chunks.value + found.spus.value


async def test_forecast_counts_contexts_as_indexing_does(tenant: Tenant, migrated: MongoConnection) -> None:
    for name in ("whales", "copy"):
        await tenant.document(f"{name}.md", f"# Seas\n\n{prose('whales', 10)}\n\n## Ice\n\n{prose('ice', 10)}")
    found = await forecast(tenant, context=True)
    without = await forecast(tenant)
    kb = await tenant.knowledge_base(context=True)
    await tenant.drain()
    assert await charged(migrated, tenant.id) == found.spus.value == found.chunks.value == 2 * without.spus.value
    assert found.tokens.value > without.tokens.value
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).context
    assert (await forecast(tenant, context=True)).spus.value == 0


@pytest.mark.parametrize("chunker", ["recursive", "sentence", "token", "word"])
async def test_forecast_is_exact_for_each_chunker(tenant: Tenant, migrated: MongoConnection, chunker: str) -> None:
    await tenant.document("a.txt", f"{prose('whales', 25)}\n\n{prose('birds', 25)}")
    settings: dict[str, Any] = {"chunker_type": chunker, "chunk_size": 40, "chunk_overlap": 8}
    found = await forecast(tenant, **settings)
    await tenant.knowledge_base(**settings)
    await tenant.drain()
    assert await charged(migrated, tenant.id) == found.spus.value > 5


async def test_other_chunks_are_new_to_the_cache(tenant: Tenant) -> None:
    await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 30))
    other = await forecast(tenant, chunk_size=2 * CHUNK_TOKENS)
    assert other.spus.value == other.chunks.value == 15


async def test_cache_of_others_counts_only_where_it_is_shared(tenant: Tenant, migrated: MongoConnection) -> None:
    other = await new_tenant(tenant.services)
    await other.knowledge_base()
    await other.document("theirs.txt", prose("whales", 10))
    await tenant.document("mine.txt", prose("whales", 10))
    await tenant.knowledge_base(tag_ids=())  # tells the model's dimensions
    assert (await forecast(tenant)).spus.value == 0
    tenant.organization = tenant.organization.model_copy(update={"cache_scope": CacheScope.ORGANIZATION})
    assert (await forecast(tenant)).spus.value == 10


async def test_large_collection_is_sampled_and_the_range_holds_the_truth(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tenant.knowledge_base()
    for number in range(30):
        await tenant.upload(f"{number}.txt", prose("whales", 5 + number % 7, first=30 * number))
    await tenant.drain()
    whole = await forecast(tenant)
    monkeypatch.setattr("analytiq.ingestion.knowledge_bases.forecast.CHARACTERS_READ", 8000)
    sampled = await forecast(tenant)
    assert sampled.is_estimated
    assert 2 < sampled.sampled_documents < 30
    assert sampled.sampled_characters <= 8000
    assert sampled.documents == 30
    assert sampled.chunks.low <= whole.chunks.value <= sampled.chunks.high
    assert sampled.chunks.low < sampled.chunks.high
    assert sampled.spus.value == whole.spus.value == 0


async def test_reading_stops_when_its_time_is_over(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        await tenant.upload(f"{number}.txt", prose("whales", 5, first=10 * number))
    await tenant.drain()
    monkeypatch.setattr("analytiq.ingestion.knowledge_bases.forecast.READ_SECONDS", 0.0)
    found = await forecast(tenant)
    assert (found.is_estimated, found.sampled_documents, found.documents) == (True, 1, 5)
    assert found.chunks.low <= 25 <= found.chunks.high


async def test_long_text_is_read_in_part(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    await tenant.document("long.txt", prose("whales", 200))
    monkeypatch.setattr("analytiq.ingestion.knowledge_bases.forecast.CHARACTERS_READ", 3000)
    part = await forecast(tenant)
    # Up to the chunk that the end of the reading cut.
    assert part.is_estimated
    assert 2500 < part.sampled_characters < 3000
    assert 190 <= part.chunks.value <= 210
    assert part.chunks.low <= 200 <= part.chunks.high


async def test_what_is_not_extracted_is_counted_and_named_and_others_documents_are_not(tenant: Tenant) -> None:
    other = await new_tenant(tenant.services)
    await other.document("theirs.txt", prose("whales", 3))
    await tenant.document("mine.txt", prose("birds", 3))
    await tenant.upload("waiting.txt", prose("trees", 3))
    found = await forecast(tenant)
    assert (found.documents, found.unknown_documents, found.chunks.value) == (1, 1, 3)
    assert [(item.document_name, item.state.value) for item in found.named_unknown] == [("waiting.txt", "uploaded")]
    nothing = await forecast(tenant, tag_ids=(other.tag.id,))
    assert (nothing.documents, nothing.unknown_documents, nothing.chunks.value, nothing.spus.value) == (0, 0, 0, 0)


async def test_local_model_costs_no_money(tenant: Tenant) -> None:
    await tenant.document("mine.txt", prose("birds", 3))
    found = await forecast(tenant, embedding_model="local/all-minilm-l6-v2")
    assert (found.spus.value, found.token_usd, found.is_cache_known) == (3, 0.0, True)


async def test_price_of_the_list_is_told_for_the_provider_itself_and_not_for_a_server_of_ones_own(
    tenant: Tenant, migrated: MongoConnection, secret_key: SecretStr
) -> None:
    await tenant.document("mine.txt", prose("birds", 3))
    now = clock.now()
    key = Vault(secret_key).encrypt(SecretStr("a key that is never sent"))
    await ProviderRepository(migrated).put_if_absent(
        LlmProvider(
            id=new_id(), organization_id=tenant.id, litellm_provider="voyage", token=key, created_at=now, updated_at=now
        )
    )
    found = await forecast(tenant, embedding_model="voyage/voyage-3")
    assert (found.token_usd, found.spus.value) == (6e-08, 3)
    assert (await forecast(tenant, embedding_model="text-embedding-3-small")).token_usd is None


async def test_chunker_that_compares_sentences_is_forecast_too(tenant: Tenant, migrated: MongoConnection) -> None:
    await tenant.document("mine.txt", "\n".join(prose(name, 5) for name in ("birds", "ships", "songs")))
    found = await forecast(tenant, chunker_type="semantic", chunk_size=128)
    await tenant.knowledge_base(chunker_type="semantic", chunk_size=128)
    await tenant.drain()
    assert await charged(migrated, tenant.id) == found.spus.value >= 1


async def test_wrong_chunker_is_refused(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError, match="chunker_type"):
        await forecast(tenant, chunker_type="nonsense")


async def test_forecast_of_a_move_is_exact_with_context_and_metadata(tenant: Tenant, migrated: MongoConnection) -> None:
    for name in ("whales", "birds"):
        await tenant.document(f"{name}.txt", prose(name, 6), metadata={"customer": f"Customer of {name}"})
    kb = await tenant.knowledge_base()
    await tenant.drain()
    found = await forecast(tenant, context=True, searched_metadata=("customer",))
    before = await charged(migrated, tenant.id)
    settings = IndexSettings(searched_metadata=("customer",))
    await tenant.services.ingestion.knowledge_bases.move(tenant.id, kb.id, settings)
    await tenant.drain()
    assert await charged(migrated, tenant.id) - before == found.spus.value > 0
