"""The platform's keys follow the environment; the default models do not follow a key."""

from collections.abc import Awaitable, Callable

import pytest
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.platform_keys import KeyChange, PlatformKeys
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.providers.default_models import DefaultModels
from analytiq.settings import LlmSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.providers import ProviderRepository
from analytiq.storage.repositories.workers import RuntimeSettingRepository
from tests.integration.tenant import REMOTE_MODEL, Tenant, new_tenant

Compose = Callable[..., Awaitable[Services]]

LOCAL = "local/all-minilm-l6-v2"


@pytest.fixture
def vault() -> Vault:
    return Vault(SecretStr(new_secret_key()))


@pytest.fixture
def keys(migrated: MongoConnection, vault: Vault) -> PlatformKeys:
    return PlatformKeys(ProviderRepository(migrated), vault)


def environment(**keys: str) -> dict[str, tuple[SecretStr, str | None]]:
    return {name: (SecretStr(key), None) for name, key in keys.items()}


async def test_key_of_the_environment_is_stored_replaced_and_removed_at_starts(
    keys: PlatformKeys, migrated: MongoConnection, vault: Vault
) -> None:
    credentials = Credentials(ProviderRepository(migrated), vault)

    async def key() -> str | None:
        found = await credentials.find(new_id(), "openai")
        return None if found is None else found.api_key.get_secret_value()

    for present, change, counts in (
        (environment(openai="sk-one"), KeyChange.STORED, "sk-one"),
        (environment(openai="sk-one"), None, "sk-one"),
        (environment(openai="sk-two"), KeyChange.REPLACED, "sk-two"),
        (environment(), KeyChange.REMOVED, None),
    ):
        planned = await keys.plan(present)
        assert planned == await keys.follow(present)
        assert [item.change for item in planned] == ([] if change is None else [change])
        assert await key() == counts


async def test_new_address_of_the_environment_replaces_the_old_one(keys: PlatformKeys) -> None:
    await keys.follow({"openai": (SecretStr("no-key"), "http://one.test/v1")})
    (change,) = await keys.follow({"openai": (SecretStr("no-key"), "http://two.test/v1")})
    assert (change.change, change.is_address_new) == (KeyChange.REPLACED, True)
    (row,) = await keys.all()
    assert row.api_base == "http://two.test/v1"


async def test_key_that_a_command_has_stored_stays_until_a_command_removes_it(keys: PlatformKeys) -> None:
    await keys.follow(environment(openai="sk-one"))
    await keys.put("openai", api_key=SecretStr("sk-typed"), api_base=None)
    assert await keys.follow(environment()) == []
    (told,) = await keys.follow(environment(openai="sk-other"))
    assert told.change is KeyChange.KEPT
    await keys.delete("openai")
    with pytest.raises(NotFoundError):
        await keys.delete("openai")
    (stored,) = await keys.follow(environment(openai="sk-other"))
    assert stored.change is KeyChange.STORED


async def test_key_that_another_secret_key_has_encrypted_is_replaced_by_the_environments(
    keys: PlatformKeys, migrated: MongoConnection
) -> None:
    await keys.follow(environment(openai="sk-one"))
    other = PlatformKeys(ProviderRepository(migrated), Vault(SecretStr(new_secret_key())))
    (change,) = await other.follow(environment(openai="sk-one"))
    assert change.change is KeyChange.REPLACED
    assert await other.plan(environment(openai="sk-one")) == []


async def test_key_alone_changes_no_default_model(tenant: Tenant) -> None:
    await tenant.services.inference.provider_accounts.put(
        tenant.id, "openai", api_key=SecretStr("sk-an-own-key-0123456789"), api_base=None
    )
    assert await tenant.services.inference.embedding_models.default_model() == LOCAL
    kb = await tenant.knowledge_base(embedding_model=None)
    assert kb.embedding_model == LOCAL
    there = await tenant.services.inference.destinations.of(tenant.id, kb.embedding_model)
    assert not there.leaves_machine


async def test_default_that_a_start_has_named_is_kept_for_later_ones(
    migrated: MongoConnection, compose_services: Compose
) -> None:
    defaults = DefaultModels(RuntimeSettingRepository(migrated))
    (first,) = await defaults.keep(embedding=REMOTE_MODEL, chat=None)
    assert (first.before, first.now) == (None, REMOTE_MODEL)
    assert await defaults.keep(embedding=None, chat=None) == []
    tenant = await new_tenant(await compose_services())
    kb = await tenant.knowledge_base(embedding_model=None)
    assert kb.embedding_model == REMOTE_MODEL
    (back,) = await defaults.keep(embedding=LOCAL, chat=None)
    assert back.before == REMOTE_MODEL
    assert await tenant.services.inference.embedding_models.default_model() == LOCAL


async def test_chat_at_a_server_of_ones_own_has_no_default_but_the_one_that_is_named(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    chat = tenant.services.inference.chat_models
    assert await chat.default_model(tenant.organization) is None
    await DefaultModels(RuntimeSettingRepository(migrated)).keep(embedding=None, chat="openai/llama3")
    assert await chat.default_model(tenant.organization) == "openai/llama3"
    assert (await chat.choose(tenant.organization, None)).model == "openai/llama3"


async def test_refused_chat_model_names_the_setting_that_allows_it(tenant: Tenant, compose_services: Compose) -> None:
    with pytest.raises(InvalidInputError, match="ANALYTIQ_LLM__PLATFORM_MODELS"):
        await tenant.services.inference.chat_models.choose(tenant.organization, "openai/llama3")
    allowed = await compose_services(llm=LlmSettings(platform_models=("openai/llama3",)))
    assert (await allowed.inference.chat_models.choose(tenant.organization, "openai/llama3")).model == "openai/llama3"


async def test_where_texts_go_is_told_for_each_kind_of_server(
    tenant: Tenant,
) -> None:
    destinations, accounts = tenant.services.inference.destinations, tenant.services.inference.provider_accounts
    operators = await destinations.of(tenant.id, REMOTE_MODEL)
    assert (operators.leaves_machine, operators.address, operators.is_operators_server) == (False, None, True)
    await accounts.put(tenant.id, "openai", api_key=SecretStr("sk-own-0123456789"), api_base=None)
    openai = await destinations.of(tenant.id, "text-embedding-3-small")
    assert (openai.leaves_machine, openai.address) == (True, "https://api.openai.com/v1")
    await accounts.put(
        tenant.id, "openai", api_key=SecretStr("sk-own-0123456789"), api_base="https://models.example.com/v1"
    )
    own = await destinations.of(tenant.id, REMOTE_MODEL)
    assert (own.leaves_machine, own.address) == (True, "https://models.example.com/v1")
