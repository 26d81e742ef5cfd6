"""A worker that dies in the middle of a run: another goes on with what was recorded, and nothing paid is forgotten."""

import json
from collections.abc import Iterator

import pytest

from analytiq.errors import LeaseLostError
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job import JobKind
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.prompt_run import PromptRun, RunStatus
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.llm_usage import LlmUsageRepository
from analytiq.telemetry import checkpoints
from analytiq.telemetry.checkpoints import PROMPT_CHECKPOINTS
from tests.fakes.chat_server import ChatServer, Say
from tests.integration.prompts.prompting import ANSWER, SCHEMA, Prompting, says, search_for

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")


PLACES = [
    (name, time) for name in PROMPT_CHECKPOINTS for time in (1, 2) if time == 1 or not name.startswith("prompts.")
]
"""Checkpoints, and which time that a run passes them; those of the job are passed once."""


class Died(BaseException):
    """In the place of a SIGKILL: nothing of ours catches it."""


@pytest.fixture
def hook() -> Iterator[None]:
    """Whatever a test installs is taken away."""
    yield
    checkpoints.install(None)


async def die_at(tenant: Prompting, name: str, *, time: int) -> None:
    """Claim the waiting run as a worker that dies when it passes the checkpoint so often."""
    passed = 0

    async def kill(place: str) -> None:
        nonlocal passed
        passed += place == name
        if passed == time and place == name:
            raise Died

    services = tenant.services
    job = await services.repositories.jobs.claim(
        [JobKind.RUN_PROMPT], worker="dies", lease_token=new_id(), lease_seconds=-1
    )
    assert job is not None
    checkpoints.install(kill)
    with pytest.raises(Died):
        await services.jobs.handlers[JobKind.RUN_PROMPT](RunningJob(job, services.repositories.jobs))
    checkpoints.install(None)
    await services.repositories.jobs.rescue(max_deaths=10)


@pytest.mark.usefixtures("hook")
@pytest.mark.parametrize(("name", "time"), PLACES)
async def test_worker_that_dies_at_any_place_of_a_run_costs_at_most_the_call_that_it_died_in(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer, name: str, time: int
) -> None:
    prompt = await tenant.prompt(schema=SCHEMA, kb_id=kb.id)
    document = await tenant.document("letter.txt", "A letter.", tags=[])
    searches = [Say(tool_calls=[search_for(f"birds {year}")]) for year in (1001, 1002)]
    is_unheard = name == "agent.answered"
    heard_twice = searches[time - 1 : time] if is_unheard else []
    chat_server.script(*searches[:time], *heard_twice, *searches[time:], says(ANSWER))
    run = await tenant.ask_for_run(prompt, document)
    await die_at(tenant, name, time=time)
    await tenant.drain()
    ended: PromptRun = await tenant.again(run)
    assert (ended.status, ended.usage.searches) == (RunStatus.SUCCEEDED, 2)
    assert chat_server.calls == (4 if is_unheard else 3)
    noted = await LlmUsageRepository(tenant.services.connection).of_run(tenant.id, run.id)
    assert (ended.usage.model_calls, ended.usage.tokens) == (noted.model_calls, noted.tokens)
    assert noted.model_calls == chat_server.calls
    result = await tenant.services.assistants.results.get(tenant.id, prompt.id, 1, document.id)
    assert json.loads(result.answer) == ANSWER
    assert chat_server.refusals == []


@pytest.mark.usefixtures("hook")
async def test_what_a_dead_worker_has_paid_counts_against_the_budget(
    tenant: Prompting, chat_server: ChatServer
) -> None:
    prompt = await tenant.prompt(token_budget=600)
    run = await tenant.ask_for_run(prompt, "When?")
    chat_server.script(Say("word " * 1200))
    await die_at(tenant, "agent.answered", time=1)
    await tenant.drain()
    ended = await tenant.again(run)
    assert ended.error is not None
    assert (ended.status, ended.error.code) == (RunStatus.FAILED, "token_budget_exceeded")
    assert chat_server.calls == 1


@pytest.mark.usefixtures("hook")
async def test_two_workers_of_one_run_record_each_step_once(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    run = await tenant.ask_for_run(await tenant.prompt(kb_id=kb.id), "When?")
    runs = tenant.services.connection.database["prompt_runs"]
    job = await tenant.services.repositories.jobs.claim(
        [JobKind.RUN_PROMPT], worker="w", lease_token=new_id(), lease_seconds=60
    )
    assert job is not None

    async def other_worker(place: str) -> None:
        if place == "agent.answered":
            step = {"kind": "model", "text": "by another", "at": run.created_at}
            await runs.update_one({"prompt_id": run.prompt_id}, {"$push": {"steps": step}})

    checkpoints.install(other_worker)
    with pytest.raises(LeaseLostError):
        await tenant.services.jobs.handlers[JobKind.RUN_PROMPT](RunningJob(job, tenant.services.repositories.jobs))
    checkpoints.install(None)
    assert [step.text for step in (await tenant.again(run)).steps] == ["by another"]
