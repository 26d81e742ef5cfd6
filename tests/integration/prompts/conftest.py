"""Fixtures of the tests of prompts: a tenant with a knowledge base, and a scripted chat model over HTTP."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.settings import LlmSettings
from tests.fakes.chat_server import ChatServer
from tests.integration.conftest import Compose
from tests.integration.prompts.prompting import MODEL, Prompting
from tests.integration.tenant import new_tenant, prose


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
async def tenant(compose_services: Compose, chat_server: ChatServer) -> Prompting:
    """An organization whose default chat model is the scripted one."""
    services = await compose_services(llm=LlmSettings(default_model=MODEL))
    key = SecretStr(chat_server.api_key)
    await services.inference.credentials.store_platform_defaults({"hosted_vllm": (key, chat_server.url)})
    plain = await new_tenant(services)
    return Prompting(services, plain.organization, plain.tag)


@pytest.fixture
async def kb(tenant: Prompting) -> KnowledgeBase:
    """A knowledge base with two documents."""
    kb = await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 10), metadata={"customer": "Acme"})
    await tenant.document("birds.txt", prose("birds", 10), metadata={"customer": "Other"})
    return kb
