"""An organization's providers on a real mongod: keys go in, work, and never come out."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator

import pytest
import structlog
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.errors import AccessDeniedError, InvalidInputError, NotFoundError, RateLimitedError
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.embedding.provider_accounts import ProviderAccounts
from analytiq.settings import ProviderSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.providers import ProviderRepository
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant

Compose = Callable[..., Awaitable[Services]]

KEY = "sk-an-own-key-of-the-organization-7x9q"


@pytest.fixture
def own_server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(api_key=KEY, dimensions=32) as server:
        yield server


def accounts(tenant: Tenant) -> ProviderAccounts:
    return tenant.services.inference.provider_accounts


async def put(tenant: Tenant, server: EmbeddingServer, provider: str = "openai") -> None:
    await accounts(tenant).put(tenant.id, provider, api_key=SecretStr(server.api_key), api_base=server.url)


async def test_own_key_counts_before_the_platforms_and_only_for_its_organization(
    tenant: Tenant, own_server: EmbeddingServer, embedding_server: EmbeddingServer
) -> None:
    other = await new_tenant(tenant.services)
    await put(tenant, own_server)
    assert (await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)).dimensions == 32
    assert (await accounts(tenant).test(other.organization, "openai", REMOTE_MODEL)).dimensions == 64
    await accounts(tenant).delete(tenant.id, "openai")
    assert (await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)).dimensions == 64
    assert (own_server.calls, embedding_server.calls) == (1, 2)


async def test_list_shows_whose_key_counts_and_the_end_of_ones_own_alone(
    tenant: Tenant, own_server: EmbeddingServer
) -> None:
    (before,), _ = await accounts(tenant).page(tenant.id, skip=0, limit=10)
    assert (before.litellm_provider, before.is_own, before.key_hint, before.api_base) == ("openai", False, None, None)
    await put(tenant, own_server)
    await accounts(tenant).put(tenant.id, "cohere", api_key=SecretStr("short"), api_base=None)
    listed, total = await accounts(tenant).page(tenant.id, skip=0, limit=10)
    assert total == 2
    assert [(item.litellm_provider, item.is_own, item.key_hint) for item in listed] == [
        ("cohere", True, None),
        ("openai", True, "7x9q"),
    ]
    assert listed[1].api_base == own_server.url
    assert [item.litellm_provider for item in (await accounts(tenant).page(tenant.id, skip=1, limit=10))[0]] == [
        "openai"
    ]
    assert KEY not in repr(listed)


async def test_key_put_again_replaces_the_one_before_and_keeps_when_it_was_first_stored(
    tenant: Tenant, own_server: EmbeddingServer
) -> None:
    first = await accounts(tenant).put(tenant.id, "openai", api_key=SecretStr("a-wrong-one"), api_base=None)
    second = await accounts(tenant).put(
        tenant.id, "openai", api_key=SecretStr(own_server.api_key), api_base=own_server.url
    )
    assert second.created_at == first.created_at
    assert second.updated_at >= first.updated_at
    assert (await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)).is_working


async def test_keys_put_at_the_same_moment_leave_one(tenant: Tenant, migrated: MongoConnection) -> None:
    puts = [
        accounts(tenant).put(tenant.id, "cohere", api_key=SecretStr(f"key-number-{number}"), api_base=None)
        for number in range(12)
    ]
    await asyncio.gather(*puts)
    assert await migrated.database["llm_providers"].count_documents({"organization_id": tenant.id}) == 1


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (Failure.UNAUTHORIZED, "provider_refused", "refuses the API key"),
        (Failure.REFUSED, "provider_refused", "refuses the call"),
        (Failure.RATE_LIMITED, "rate_limited", "asks to slow down"),
        (Failure.SERVER_ERROR, "provider_unavailable", "HTTP 500"),
        (Failure.CUT, "provider_unavailable", "broke the connection off"),
        (Failure.NOT_A_NUMBER, "malformed_answer", "not finite"),
    ],
)
async def test_connection_that_fails_is_told_in_words_without_the_key(
    tenant: Tenant, own_server: EmbeddingServer, failure: Failure, code: str, words: str
) -> None:
    await put(tenant, own_server)
    own_server.script(failure, failure)  # a refused call is made once more without `encoding_format`
    result = await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)
    assert (result.is_working, result.dimensions, result.code) == (False, None, code)
    assert words in result.detail
    assert KEY[:6] not in result.detail
    assert KEY[-6:] not in result.detail


async def test_connection_test_is_free(tenant: Tenant, own_server: EmbeddingServer, migrated: MongoConnection) -> None:
    await put(tenant, own_server)
    await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)
    assert await migrated.database["spu_ledger"].count_documents({}) == 0
    assert await migrated.database["embedding_cache"].count_documents({}) == 0


async def test_connection_test_that_is_told_to_wait_keeps_the_workers_from_calling_until_a_test_is_good(
    tenant: Tenant, own_server: EmbeddingServer
) -> None:
    await put(tenant, own_server)
    own_server.retry_after = "120"
    own_server.script(Failure.RATE_LIMITED)
    await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)
    with pytest.raises(RateLimitedError):
        await tenant.knowledge_base()
    assert len(own_server.requests) == 1
    again = await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)
    assert again.is_working
    await tenant.knowledge_base()


async def test_test_of_what_cannot_be_tried_says_what_is_missing(tenant: Tenant) -> None:
    with pytest.raises(NotFoundError, match="no key for the provider 'cohere'"):
        await accounts(tenant).test(tenant.organization, "cohere", None)
    with pytest.raises(InvalidInputError, match="Did you mean 'openai'"):
        await accounts(tenant).test(tenant.organization, "opnai", None)
    with pytest.raises(InvalidInputError, match="a model of 'cohere'"):
        await accounts(tenant).test(tenant.organization, "openai", "embed-english-v3.0")
    with pytest.raises(InvalidInputError, match="No provider is known"):
        await accounts(tenant).test(tenant.organization, "openai", "nobodys-model")
    with pytest.raises(InvalidInputError, match="is not a model name"):
        await accounts(tenant).test(tenant.organization, "openai", "openai/http://127.0.0.1/")
    await accounts(tenant).put(tenant.id, "fireworks_ai", api_key=SecretStr("key"), api_base=None)
    with pytest.raises(InvalidInputError, match="Name one to test"):
        await accounts(tenant).test(tenant.organization, "fireworks_ai", None)


@pytest.mark.parametrize("key", ["", "with space", "line\nbreak", "tab\t", "schlüssel", "x" * 5000])
async def test_key_that_cannot_be_one_is_refused_and_not_repeated(tenant: Tenant, key: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await accounts(tenant).put(tenant.id, "openai", api_key=SecretStr(key), api_base=None)
    assert [item.field for item in caught.value.errors] == ["api_key"]
    assert not key or key not in caught.value.detail


async def test_provider_that_is_not_allowed_is_not_stored(tenant: Tenant) -> None:
    for name in ("nobody", "local", "$where", "../openai", "oobabooga", "sagemaker", "bedrock", "huggingface"):
        with pytest.raises(InvalidInputError, match="Allowed: anthropic"):
            await accounts(tenant).put(tenant.id, name, api_key=SecretStr("key"), api_base=None)


async def test_own_key_goes_to_no_address_of_the_operators(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError, match="address for each customer"):
        await accounts(tenant).put(tenant.id, "azure", api_key=SecretStr("key"), api_base=None)


async def test_provider_that_was_stored_before_it_was_forbidden_is_not_called_and_can_be_deleted(
    tenant: Tenant, migrated: MongoConnection, own_server: EmbeddingServer
) -> None:
    await put(tenant, own_server)
    await migrated.database["llm_providers"].update_many(
        {"organization_id": tenant.id}, {"$set": {"litellm_provider": "oobabooga"}}
    )
    with pytest.raises(InvalidInputError, match="is not allowed"):
        await accounts(tenant).test(tenant.organization, "oobabooga", "oobabooga/m")
    listed, _ = await accounts(tenant).page(tenant.id, skip=0, limit=10)
    assert [account.litellm_provider for account in listed] == ["oobabooga", "openai"]
    await accounts(tenant).delete(tenant.id, "oobabooga")
    assert own_server.connections == 0


async def test_metadata_of_a_cloud_is_refused_also_where_the_operator_allows_private_addresses(tenant: Tenant) -> None:
    for address in ("http://169.254.169.254/v1", "http://168.63.129.16", "http://[fd00:ec2::254]/v1"):
        with pytest.raises(InvalidInputError) as caught:
            await accounts(tenant).put(tenant.id, "openai", api_key=SecretStr("key"), api_base=address)
        assert caught.value.code == "provider_address_forbidden"


async def test_key_is_encrypted_at_rest_and_in_no_log(tenant: Tenant, own_server: EmbeddingServer) -> None:
    logged = io.StringIO()
    configured = structlog.get_config()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(logged))
    try:
        await put(tenant, own_server)
        own_server.script(Failure.UNAUTHORIZED, Failure.REFUSED, Failure.SERVER_ERROR)
        for _ in range(3):
            await accounts(tenant).test(tenant.organization, "openai", REMOTE_MODEL)
        await accounts(tenant).delete(tenant.id, "openai")
    finally:
        structlog.configure(**configured)
    assert "credentials.stored" in logged.getvalue()
    assert KEY not in logged.getvalue()
    await put(tenant, own_server)
    rows = tenant.services.connection.database["llm_providers"]
    assert KEY not in str([row async for row in rows.find({})])


async def test_address_inside_is_refused_unless_the_operator_allows_it(
    compose_services: Compose, own_server: EmbeddingServer
) -> None:
    strict = await new_tenant(await compose_services(providers=ProviderSettings()))
    for address in (own_server.url, "http://169.254.169.254/v1", "http://localhost:8080", "http://[::1]:80"):
        with pytest.raises(InvalidInputError) as caught:
            await accounts(strict).put(strict.id, "openai", api_key=SecretStr("key"), api_base=address)
        assert [item.field for item in caught.value.errors] == ["api_base"]
    assert own_server.connections == 0


async def test_address_inside_that_was_stored_before_it_was_forbidden_is_not_called(
    tenant: Tenant, compose_services: Compose, own_server: EmbeddingServer
) -> None:
    await put(tenant, own_server)
    strict = tenant.seen_by(await compose_services(providers=ProviderSettings()))
    result = await accounts(strict).test(strict.organization, "openai", REMOTE_MODEL)
    assert (result.is_working, result.code) == (False, "provider_address_forbidden")
    assert own_server.connections == 0
    await strict.services.inference.embedding_models.close()


async def test_key_under_a_lost_secret_key_is_shown_as_such_and_replaced_by_a_new_one(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    lost = Credentials(ProviderRepository(migrated), Vault(SecretStr(new_secret_key())))
    await lost.put(tenant.id, "cohere", api_key=SecretStr(KEY), api_base=None)
    listed, _ = await accounts(tenant).page(tenant.id, skip=0, limit=10)
    assert (listed[0].litellm_provider, listed[0].is_readable, listed[0].key_hint) == ("cohere", False, None)
    with pytest.raises(AccessDeniedError):
        await accounts(tenant).test(tenant.organization, "cohere", None)
    replaced = await accounts(tenant).put(tenant.id, "cohere", api_key=SecretStr(KEY), api_base=None)
    assert replaced.is_readable


async def test_delete_of_what_is_not_ones_own_is_unknown(tenant: Tenant) -> None:
    with pytest.raises(NotFoundError):
        await accounts(tenant).delete(tenant.id, "openai")
    with pytest.raises(NotFoundError):
        await accounts(tenant).delete(new_id(), "openai")
