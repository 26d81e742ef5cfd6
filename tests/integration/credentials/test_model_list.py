"""The list of models: what is used where nobody names a model is in it, whatever the server's own list says."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.inference.llm.catalogue import ListedModel, ModelKind, ModelQuery
from analytiq.settings import LlmSettings
from tests.fakes.chat_server import ChatServer
from tests.integration.tenant import Tenant, new_tenant

Compose = Callable[..., Awaitable[Services]]


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


async def listed(tenant: Tenant, query: ModelQuery) -> dict[str, ListedModel]:
    page = await tenant.services.inference.catalogue.page(tenant.organization, query, skip=0, limit=1000)
    assert page.unreachable == {}
    return {model.model: model for model in page.models}


async def test_default_models_are_listed_at_an_address_of_the_operators(
    compose_services: Compose, chat_server: ChatServer
) -> None:
    tenant = await new_tenant(await compose_services(llm=LlmSettings(default_model="gpt-4o-mini")))
    rows = tenant.services.connection.database["llm_providers"]
    await rows.delete_many({})
    await tenant.services.inference.credentials.store_platform_defaults(
        {"openai": (SecretStr(chat_server.api_key), chat_server.url)}
    )
    embedding = await tenant.services.inference.embedding_models.default_model()
    models = await listed(tenant, ModelQuery())
    assert models[embedding].kind is ModelKind.EMBEDDING
    assert models["gpt-4o-mini"].kind is ModelKind.CHAT
    assert embedding in await listed(tenant, ModelQuery(kind=ModelKind.EMBEDDING))
    assert "gpt-4o-mini" not in await listed(tenant, ModelQuery(litellm_provider="cohere"))


async def test_server_that_an_organization_names_is_asked_and_its_defaults_are_listed(
    tenant: Tenant, chat_server: ChatServer
) -> None:
    await tenant.services.inference.provider_accounts.put(
        tenant.id, "openai", api_key=SecretStr(chat_server.api_key), api_base=chat_server.url
    )
    models = await listed(tenant, ModelQuery(litellm_provider="openai"))
    assert {"openai/fake-chat", "openai/fake-chat-small"} <= set(models)
    assert models["openai/fake-chat"].kind is ModelKind.UNKNOWN
