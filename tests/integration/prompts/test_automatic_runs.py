"""Prompts that run by themselves: on which documents, and how often."""

import asyncio

import pytest

from analytiq.ingestion.membership import document_changed
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job import JobKind
from analytiq.models.prompt_run import RunStatus
from analytiq.storage.ids import new_id
from tests.fakes.chat_server import ChatServer, Say
from tests.integration.prompts.prompting import ANSWER, SCHEMA, Prompting, says

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")


async def test_prompt_runs_by_itself_once_a_document_with_its_tag_has_been_read(
    tenant: Prompting, chat_server: ChatServer
) -> None:
    prompt = await tenant.prompt(tag_ids=(tenant.tag.id,), schema=SCHEMA)
    chat_server.script(says(ANSWER))
    document = await tenant.document("birds.txt", "Birds in 1007.")
    (run,) = await tenant.runs()
    assert (run.document_id, run.is_automatic, run.status) == (document.id, True, RunStatus.SUCCEEDED)
    assert "Birds in 1007." in chat_server.requests[0]["messages"][1]["content"]
    result = await tenant.services.assistants.results.get(tenant.id, prompt.id, 1, document.id)
    assert (result.run_id, result.text_hash) == (run.id, document.text_hash)


async def test_document_without_the_tag_is_left_alone_until_it_has_it(
    tenant: Prompting, chat_server: ChatServer
) -> None:
    await tenant.prompt(tag_ids=(tenant.tag.id,))
    document = await tenant.document("birds.txt", "Birds.", tags=[])
    assert await tenant.runs() == []
    await tenant.set_tags(document, [tenant.tag.id])
    await tenant.drain()
    assert [run.document_id for run in await tenant.runs()] == [document.id]


async def test_triggers_that_come_again_run_nothing_again(tenant: Prompting, chat_server: ChatServer) -> None:
    await tenant.prompt(tag_ids=(tenant.tag.id,))
    document = await tenant.document("birds.txt", "Birds.")
    other = await tenant.new_tag("other")
    await tenant.set_tags(document, [tenant.tag.id, other.id])
    await tenant.services.ingestion.documents.extract_again(tenant.id, document.id)
    await tenant.drain()
    assert (len(await tenant.runs()), chat_server.calls) == (1, 1)


async def test_triggers_at_the_same_moment_ask_for_one_run(tenant: Prompting, chat_server: ChatServer) -> None:
    document = await tenant.document("birds.txt", "Birds.")
    await tenant.prompt(tag_ids=(tenant.tag.id,))
    services = tenant.services
    await services.repositories.jobs.enqueue([document_changed(tenant.id, document.id)])
    job = await services.repositories.jobs.claim(
        [JobKind.MEMBERSHIP_DOCUMENT], worker="w", lease_token=new_id(), lease_seconds=60
    )
    assert job is not None
    handle = services.jobs.handlers[JobKind.MEMBERSHIP_DOCUMENT]
    await asyncio.gather(*(handle(RunningJob(job, services.repositories.jobs)) for _ in range(8)))
    assert len(await tenant.runs()) == 1


async def test_failed_run_is_not_repeated_by_triggers(tenant: Prompting, chat_server: ChatServer) -> None:
    await tenant.prompt(tag_ids=(tenant.tag.id,), schema=SCHEMA)
    chat_server.script(Say("no"), Say("no"))
    document = await tenant.document("birds.txt", "Birds.")
    await tenant.services.ingestion.documents.extract_again(tenant.id, document.id)
    await tenant.drain()
    assert [run.status for run in await tenant.runs()] == [RunStatus.FAILED]


async def test_changed_text_is_run_again(tenant: Prompting, chat_server: ChatServer) -> None:
    prompt = await tenant.prompt(tag_ids=(tenant.tag.id,))
    chat_server.script(Say("of birds"), Say("of whales"))
    document = await tenant.document("animals.txt", "Birds.")
    await tenant.replace("animals.txt", "Whales.")
    await tenant.drain()
    runs = await tenant.runs()
    assert [run.answer for run in runs] == ["of birds", "of whales"]
    result = await tenant.services.assistants.results.get(tenant.id, prompt.id, 1, document.id)
    assert (result.answer, result.run_id) == ("of whales", runs[1].id)


async def test_further_version_is_run_on_what_is_there_unless_told_otherwise(
    tenant: Prompting, chat_server: ChatServer
) -> None:
    prompt = await tenant.prompt(tag_ids=(tenant.tag.id,))
    await tenant.document("a.txt", "Birds.")
    await tenant.document("b.txt", "Whales.")
    change = tenant.services.assistants.prompts.change
    await change(tenant.organization, prompt.id, changes={"text": "Which bird?"})
    await tenant.drain()
    assert sorted(run.version for run in await tenant.runs()) == [1, 1, 2, 2]
    await change(tenant.organization, prompt.id, changes={"text": "Which whale?"}, runs_on_existing=False)
    await change(tenant.organization, prompt.id, changes={"text": "Which whale?"})
    await tenant.drain()
    assert sorted(run.version for run in await tenant.runs()) == [1, 1, 2, 2]


async def test_run_that_waits_is_dropped_where_the_prompt_has_changed_meanwhile(
    tenant: Prompting, chat_server: ChatServer
) -> None:
    prompt = await tenant.prompt(tag_ids=(tenant.tag.id,))
    document = await tenant.document("a.txt", "Birds.", tags=[])
    await tenant.set_tags(document, [tenant.tag.id])
    runner = tenant.services.jobs.new_runner()
    job = await tenant.services.repositories.jobs.claim(
        [kind for kind in tenant.services.jobs.handlers if kind.value == "membership_document"],
        worker=runner.worker, lease_token="f" * 24, lease_seconds=30,
    )  # fmt: skip
    assert job is not None
    await runner._run_job(job)  # the run is asked for, and waits
    change = tenant.services.assistants.prompts.change
    await change(tenant.organization, prompt.id, changes={"text": "Which bird?"}, runs_on_existing=False)
    await tenant.drain()
    (run,) = await tenant.runs()
    assert run.error is not None
    assert (run.status, run.error.code, chat_server.calls) == (RunStatus.CANCELLED, "superseded", 0)
