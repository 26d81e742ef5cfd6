"""Gives an organization of the running system a key for a provider that tests can make fail."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from pydantic import SecretStr

from analytiq import clock
from analytiq.inference.credentials.encryption import Vault
from analytiq.models.provider import LlmProvider
from analytiq.standalone.embedded_address import address_of_running_database
from analytiq.storage.client import connect
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.providers import ProviderRepository
from tests.e2e.running_platform import Running
from tests.fakes.embedding_server import EmbeddingServer

MODEL = "text-embedding-3-small"


def give_key(running: Running, organization_id: str, provider: EmbeddingServer) -> None:
    """From now on knowledge bases of MODEL embed with the provider, as if it were OpenAI."""
    secret_key = (running.data_dir / "secret.key").read_text(encoding="utf-8").strip()

    async def store() -> None:
        connection = await connect(address_of_running_database(running.data_dir), "analytiq")
        now = clock.now()
        await ProviderRepository(connection).put_if_absent(
            LlmProvider(
                id=new_id(),
                organization_id=organization_id,
                litellm_provider="openai",
                token=Vault(SecretStr(secret_key)).encrypt(SecretStr(provider.api_key)),
                api_base=provider.url,
                created_at=now,
                updated_at=now,
            )
        )
        await connection.close()

    # In a thread: an event loop made here would take the place of the one that asynchronous tests share.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, store()).result()
