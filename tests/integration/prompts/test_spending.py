"""Money: a run asks no model that it must not, and what was broken off is counted."""

import asyncio

import pytest

from analytiq.assistants.prompts import recorder
from analytiq.assistants.prompts.requests import run_request
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job import JobKind
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.prompt_run import UNFINISHED, RunStatus
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.llm_usage import LlmUsageRepository
from tests.fakes.chat_server import Call, ChatServer, Say, Slow
from tests.integration.prompts.prompting import Prompting, search_for, tools_of

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")


async def test_run_that_may_search_asks_nothing_without_spus_and_goes_on_with_them(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    used = (await tenant.services.tenancy.metering.account(tenant.id)).used
    await tenant.services.tenancy.metering.set_quota(tenant.id, used)
    run = await tenant.run(await tenant.prompt(kb_id=kb.id), "When?")
    assert run.status in UNFINISHED
    assert chat_server.calls == 0
    job = await tenant.services.repositories.jobs.get(run_request(run).deduplication_key)
    assert job is not None
    assert job.error is not None
    assert job.error.code == "quota_exceeded"
    chat_server.script(Say(tool_calls=[search_for("birds")]), Say("In 1007."))
    await tenant.services.tenancy.metering.top_up(tenant.id, 10)
    await tenant.drain()
    assert (await tenant.again(run)).status is RunStatus.SUCCEEDED


async def test_call_of_a_run_that_is_broken_off_is_counted(tenant: Prompting, chat_server: ChatServer) -> None:
    chat_server.script(Slow(Say("In 1007.")))
    run = await tenant.ask_for_run(await tenant.prompt(), "When?")
    services = tenant.services
    job = await services.repositories.jobs.claim(
        [JobKind.RUN_PROMPT], worker="w", lease_token=new_id(), lease_seconds=60
    )
    assert job is not None
    making = asyncio.ensure_future(
        services.jobs.handlers[JobKind.RUN_PROMPT](RunningJob(job, services.repositories.jobs))
    )
    await asyncio.to_thread(chat_server.wait_for_slow)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    usage = await LlmUsageRepository(services.connection).of_run(tenant.id, run.id)
    assert usage.model_calls == 1
    assert usage.prompt_tokens > 50
    chat_server.release()


async def test_run_that_grows_beyond_what_a_row_holds_ends_before_the_next_call(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_RECORDED_BYTES", 100_000)
    chat_server.script(Say(tool_calls=[Call("search_knowledge_base", "x" * 20_000)] * 10))
    run = await tenant.run(await tenant.prompt(kb_id=kb.id), "When?")
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.code == "run_too_long"
    assert chat_server.calls == 1


async def test_a_thousand_calls_of_ten_megabytes_neither_end_nor_burst_a_run(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    calls = [search_for("birds"), Call("search_knowledge_base", "x" * 10_000_000), *[search_for("whales")] * 998]
    chat_server.script(Say(tool_calls=calls), Say("In 1007."))
    run = await tenant.run(await tenant.prompt(kb_id=kb.id), "When?")
    assert run.status is RunStatus.SUCCEEDED
    errors = [step.error for step in tools_of(run)]
    assert errors[:3] == [None, "invalid_arguments", None]
    assert errors.count("too_many_calls") == len(errors) - 8
    assert chat_server.refusals == []
