"""Changing the secret key on a real mongod: nothing is lost, wherever it stops and whatever is stored meanwhile."""

import asyncio
from datetime import timedelta

import pytest
from pydantic import SecretStr

from analytiq import clock
from analytiq.cli import secret_keys
from analytiq.errors import AccessDeniedError
from analytiq.inference.credentials import rotation
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.credentials.rotation import Rotation, RotationReport
from analytiq.models.idempotency import KeptAnswer
from analytiq.models.inbound import InboundAddress, InboundSecret
from analytiq.models.provider import LlmProvider
from analytiq.settings import MongoSettings, Settings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.idempotency import IdempotencyRepository
from analytiq.storage.repositories.providers import ProviderRepository

PROVIDERS = ("cohere", "openai", "mistral")


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def old_key() -> SecretStr:
    return SecretStr(new_secret_key())


@pytest.fixture
def new_key() -> SecretStr:
    return SecretStr(new_secret_key())


def key_of(organization_id: str, provider: str) -> str:
    return f"sk-{organization_id}-{provider}"


async def store(connection: MongoConnection, vault: Vault, organizations: list[str]) -> None:
    credentials = Credentials(ProviderRepository(connection), vault)
    for organization_id in organizations:
        for provider in PROVIDERS:
            await credentials.put(
                organization_id, provider, api_key=SecretStr(key_of(organization_id, provider)), api_base=None
            )
    await credentials.store_platform_defaults({"voyage": (SecretStr("platform"), None)})


async def keep_answer(connection: MongoConnection, vault: Vault, body: str) -> str:
    rows = IdempotencyRepository(connection)
    now = clock.now()
    wanted = KeptAnswer(
        id=new_id(),
        organization_id=new_id(),
        body_hash="h",
        expires_at=now + timedelta(days=1),
        lease_expires_at=now + timedelta(minutes=1),
    )
    await rows.begin(wanted, lease_seconds=60)
    await rows.keep(wanted, status=201, content_type="application/json", body=vault.encrypt(SecretStr(body)).encode())
    return wanted.id


def rotation_of(connection: MongoConnection, vault: Vault) -> Rotation:
    return Rotation(Repositories(connection), vault)


async def are_readable(connection: MongoConnection, vault: Vault, organizations: list[str]) -> bool:
    credentials = Credentials(ProviderRepository(connection), vault)
    for organization_id in organizations:
        for provider in PROVIDERS:
            found = await credentials.find(organization_id, provider)
            assert found is not None
            assert found.api_key.get_secret_value() == key_of(organization_id, provider)
    return True


async def test_everything_is_readable_with_the_new_key_alone_afterwards(
    migrated: MongoConnection, old_key: SecretStr, new_key: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "BATCH", 4)
    organizations = [new_id() for _ in range(5)]
    await store(migrated, Vault(old_key), organizations)
    answer_id = await keep_answer(migrated, Vault(old_key), '{"token": "shown once"}')
    report = await rotation_of(migrated, Vault(new_key, [old_key])).run()
    assert report == RotationReport(renewed=17)
    assert await are_readable(migrated, Vault(new_key), organizations)
    row = await migrated.database["idempotency_keys"].find_one({"_id": answer_id})
    assert row is not None
    assert Vault(new_key).decrypt(row["body"].decode()).get_secret_value() == '{"token": "shown once"}'
    with pytest.raises(AccessDeniedError):
        await Credentials(ProviderRepository(migrated), Vault(old_key)).find(organizations[0], "openai")


async def test_secrets_of_inbound_addresses_are_readable_with_the_new_key_alone_afterwards(
    migrated: MongoConnection, old_key: SecretStr, new_key: SecretStr
) -> None:
    now, rows = clock.now(), Repositories(migrated)
    sealed = [InboundSecret(sealed=Vault(old_key).encrypt(SecretStr(text)), created_at=now) for text in ("b", "a")]
    address = InboundAddress(
        id=new_id(), organization_id=new_id(), source_id=new_id(), address="x", secrets=tuple(sealed), created_at=now
    )
    await rows.inbound.insert(address)
    assert await rotation_of(migrated, Vault(new_key, [old_key])).run() == RotationReport(renewed=2)
    found = await rows.inbound.get(address.organization_id, address.source_id)
    assert found is not None
    assert [Vault(new_key).decrypt(each.sealed).get_secret_value() for each in found.secrets] == ["b", "a"]


class DyingProviders(ProviderRepository):
    """The process ends after so many rows."""

    def __init__(self, connection: MongoConnection, rows: int) -> None:
        super().__init__(connection)
        self._rows_left = rows

    async def replace_token(self, provider: LlmProvider, token: str) -> None:
        await super().replace_token(provider, token)
        self._rows_left -= 1
        if not self._rows_left:
            raise KilledError


@pytest.mark.parametrize("nth", [1, 3, 7])
async def test_rotation_that_dies_in_the_middle_is_finished_by_the_next(
    migrated: MongoConnection, old_key: SecretStr, new_key: SecretStr, nth: int
) -> None:
    organizations = [new_id(), new_id()]
    await store(migrated, Vault(old_key), organizations)
    await keep_answer(migrated, Vault(old_key), "{}")
    vault = Vault(new_key, [old_key])
    rows = Repositories(migrated)
    rows.providers = DyingProviders(migrated, nth)
    with pytest.raises(KilledError):
        await Rotation(rows, vault).run()
    # Meanwhile everything works for processes that have both.
    assert await are_readable(migrated, vault, organizations)
    report = await rotation_of(migrated, vault).run()
    assert report == RotationReport(renewed=8 - nth, current=nth)
    assert await are_readable(migrated, Vault(new_key), organizations)


async def test_rotation_done_twice_changes_nothing_the_second_time(
    migrated: MongoConnection, old_key: SecretStr, new_key: SecretStr
) -> None:
    await store(migrated, Vault(old_key), [new_id()])
    vault = Vault(new_key, [old_key])
    await rotation_of(migrated, vault).run()
    before = [row async for row in migrated.database["llm_providers"].find({}).sort("_id", 1)]
    assert await rotation_of(migrated, vault).run() == RotationReport(current=4)
    assert [row async for row in migrated.database["llm_providers"].find({}).sort("_id", 1)] == before


async def test_key_stored_while_the_rotation_runs_is_not_undone(
    migrated: MongoConnection, old_key: SecretStr, new_key: SecretStr
) -> None:
    organization_id = new_id()
    await store(migrated, Vault(old_key), [organization_id])
    rows = ProviderRepository(migrated)
    (read, *_) = await rows.page_of_all(None, 10)
    vault = Vault(new_key, [old_key])
    later = Credentials(rows, vault)
    await later.put(organization_id, read.litellm_provider, api_key=SecretStr("stored-meanwhile"), api_base=None)
    await rows.replace_token(read, vault.encrypted_anew(read.token) or "")
    found = await later.find(organization_id, read.litellm_provider)
    assert found is not None
    assert found.api_key.get_secret_value() == "stored-meanwhile"


async def test_what_no_key_opens_is_counted_and_left_alone(
    migrated: MongoConnection, old_key: SecretStr, new_key: SecretStr
) -> None:
    lost, organization_id = Vault(SecretStr(new_secret_key())), new_id()
    await store(migrated, lost, [organization_id])
    report = await rotation_of(migrated, Vault(new_key, [old_key])).run()
    assert report == RotationReport(unreadable=4)
    assert await are_readable(migrated, lost, [organization_id])


async def test_command_changes_the_key_of_processes_that_are_started_by_hand(
    migrated: MongoConnection,
    mongo_uri: SecretStr,
    old_key: SecretStr,
    new_key: SecretStr,
    capsys: pytest.CaptureFixture[str],
) -> None:
    organizations = [new_id()]
    await store(migrated, Vault(old_key), organizations)
    mongo = MongoSettings(uri=mongo_uri, database=migrated.database.name)

    def run(*old_secret_keys: SecretStr) -> bool:
        settings = Settings(mongo=mongo, secret_key=new_key, old_secret_keys=old_secret_keys)
        return secret_keys.rotate(settings, None)

    # The command has an event loop of its own.
    assert not await asyncio.to_thread(run)
    assert "4 cannot be read" in capsys.readouterr().err
    assert await asyncio.to_thread(run, old_key)
    assert "4 re-encrypted" in capsys.readouterr().err
    assert await are_readable(migrated, Vault(new_key), organizations)
    assert await asyncio.to_thread(run)
