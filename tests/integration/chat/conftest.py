"""A tenant with a chat model: the scripted provider, over real HTTP through the real LiteLLM."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import SecretStr

from analytiq.assistants.chat.events import Event, Position
from analytiq.assistants.chat.threads import NewThread
from analytiq.composition import Services
from analytiq.models.chat import ChatMessage, ChatThread
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.settings import ChatSettings, LlmSettings
from tests.fakes.chat_server import ChatServer
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant, prose

MODEL = "hosted_vllm/fake-chat"
OWNER = "user:64b000000000000000000001"
Process = Callable[..., Awaitable[Services]]


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
async def process(compose_services: Compose, chat_server: ChatServer) -> AsyncIterator[Process]:
    """Start a process on the same database; keyword arguments are of the settings of chats."""
    started: list[Services] = []

    async def start(**chat: Any) -> Services:
        services = await compose_services(llm=LlmSettings(default_model=MODEL), chat=ChatSettings(**chat))
        await services.inference.credentials.store_platform_defaults(
            {"hosted_vllm": (SecretStr(chat_server.api_key), chat_server.url)}
        )
        started.append(services)
        return services

    yield start
    for services in started:
        await services.assistants.conversations.close()


@dataclass(slots=True)
class Talk:
    """A thread as its owner uses it, through one process."""

    tenant: Tenant
    kb: KnowledgeBase
    thread: ChatThread

    def seen_by(self, services: Services) -> "Talk":
        """The same thread in another process."""
        return Talk(self.tenant.seen_by(services), self.kb, self.thread)

    @property
    def chats(self) -> Any:
        return self.tenant.services.assistants.conversations

    async def ask(self, question: str) -> ChatMessage:
        """Ask; the answer as it begins."""
        _, answer = await self.chats.ask(self.tenant.organization, self.thread.id, question)
        return answer

    async def events(self, answer: ChatMessage, position: Position | None = None) -> list[Event]:
        """Everything that a reader is told, to the end."""
        told: list[Event] = []
        following = self.chats.follow(self.tenant.id, self.thread.id, answer.id, position or Position())
        async for events, _ in following:
            told += events
        return told

    async def answered(self, question: str) -> ChatMessage:
        """Ask, and read the answer to its end."""
        answer = await self.ask(question)
        await self.events(answer)
        return await self.message(answer)

    async def message(self, answer: ChatMessage) -> ChatMessage:
        return await self.chats.message(self.tenant.id, self.thread.id, answer.id)

    async def current(self) -> ChatThread:
        return await self.chats.get(self.tenant.id, self.thread.id)


Begin = Callable[..., Awaitable[Talk]]


@pytest.fixture
async def begin(process: Process) -> Begin:
    """Begin a thread with a knowledge base of whales and birds; arguments are of the thread, `chat` of the settings."""

    async def talk(chat: dict[str, Any] | None = None, **wanted: Any) -> Talk:
        tenant = await new_tenant(await process(**(chat or {})))
        kb = await tenant.knowledge_base()
        await tenant.document("whales.txt", prose("whales", 10))
        await tenant.document("birds.txt", prose("birds", 10))
        # The fake embedder's vectors go by shared words: what is foreign to it has none.
        fields: dict[str, Any] = {"kb_ids": (kb.id,), "score_threshold": 0.6, "top_k": 3, **wanted}
        new = NewThread(**fields)
        return Talk(
            tenant, kb, await tenant.services.assistants.conversations.create(tenant.organization, new, owner=OWNER)
        )

    return talk
