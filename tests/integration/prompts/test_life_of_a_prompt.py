"""Versions, what prompts name, cancelling, deleting; and what erasures and backups make of it all."""

import asyncio
from typing import Any

import pytest

from analytiq.errors import ConflictError, InvalidInputError, NotFoundError
from analytiq.ingestion.prompt_uses import OnUse
from analytiq.models.document import Document
from analytiq.models.erasure import ErasureOptions, LedgerFate
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.prompt import PromptConfiguration
from analytiq.models.prompt_run import RunStatus
from analytiq.settings import ErasureSettings, LlmSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.prompts import PromptQuery
from tests.fakes.chat_server import ChatServer, Say, Slow
from tests.integration.backup.archiving import archive_of, restore_from, tags_of
from tests.integration.conftest import Compose, EventuallyTrue
from tests.integration.prompts.prompting import ANSWER, MODEL, SCHEMA, Prompting, says, search_for, tools_of
from tests.integration.tenant import new_tenant, prose

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")


async def rows_of(tenant: Prompting, name: str) -> int:
    return await tenant.services.connection.database[name].count_documents({"organization_id": tenant.id})


async def test_versions_never_change(tenant: Prompting) -> None:
    prompt = await tenant.prompt(text="First?", schema=SCHEMA)
    change = tenant.services.assistants.prompts.change
    changed = await change(tenant.organization, prompt.id, name="Renamed", changes={"text": "Second?"})
    assert (changed.version, changed.name, changed.configuration.text) == (2, "Renamed", "Second?")
    assert changed.configuration.answer_schema == prompt.configuration.answer_schema
    await change(tenant.organization, prompt.id, changes={"text": "Second?"})
    versions, count = await tenant.services.assistants.prompts.versions(tenant.id, prompt.id, skip=0, limit=10)
    assert [(item.version, item.configuration.text) for item in versions] == [(2, "Second?"), (1, "First?")]
    assert count == 2


async def test_two_changes_at_once_are_one_version_and_one_conflict(tenant: Prompting) -> None:
    prompt = await tenant.prompt()
    change = tenant.services.assistants.prompts.change
    outcomes = await asyncio.gather(
        *(change(tenant.organization, prompt.id, changes={"text": f"Number {number}?"}) for number in range(2)),
        return_exceptions=True,
    )
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) <= 1
    _, count = await tenant.services.assistants.prompts.versions(tenant.id, prompt.id, skip=0, limit=10)
    assert count == 1 + sum(not isinstance(outcome, BaseException) for outcome in outcomes)


async def test_name_is_unique_in_the_organization(tenant: Prompting) -> None:
    await tenant.prompt(name="Terms")
    with pytest.raises(ConflictError, match="'Terms'"):
        await tenant.prompt(name="Terms")
    other = await tenant.prompt(name="Other")
    with pytest.raises(ConflictError, match="'Terms'"):
        await tenant.services.assistants.prompts.change(tenant.organization, other.id, name="Terms", changes={})


async def test_what_a_prompt_names_has_to_be_the_organizations_own(tenant: Prompting, kb: KnowledgeBase) -> None:
    other = await new_tenant(tenant.services)
    foreign = await other.knowledge_base()
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"kb_id": foreign.id}, "kb_id"),
        ({"tag_ids": (other.tag.id,)}, "tag_ids"),
        ({"metadata_filter": "{}"}, "metadata_filter"),
        ({"model": "anthropic/claude-haiku-4-5"}, "model"),
    )
    for fields, field in wrong:
        with pytest.raises(InvalidInputError) as refused:
            await tenant.prompt(**fields)
        assert [error.field for error in refused.value.errors] == [field]
    document = await other.document("secret.txt", "Secret.")
    with pytest.raises(InvalidInputError) as refused:
        await tenant.ask_for_run(await tenant.prompt(kb_id=kb.id), document)
    assert [error.field for error in refused.value.errors] == ["document_ids[0]"]


async def test_knowledge_base_that_a_prompt_searches_is_deleted_only_by_choice(
    tenant: Prompting, kb: KnowledgeBase
) -> None:
    prompt = await tenant.prompt(name="Terms", kb_id=kb.id)
    delete = tenant.services.ingestion.knowledge_bases.delete
    with pytest.raises(ConflictError, match="'Terms'") as refused:
        await delete(tenant.id, kb.id)
    assert refused.value.code == "knowledge_base_in_use"
    assert await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)
    await delete(tenant.id, kb.id, on_use=OnUse.DETACH)
    detached = await tenant.services.assistants.prompts.get(tenant.id, prompt.id)
    assert (detached.version, detached.configuration.kb_id) == (2, None)
    first = await tenant.services.assistants.prompts.version(tenant.id, prompt.id, 1)
    assert first.configuration.kb_id == kb.id


async def test_tag_that_a_prompt_runs_on_is_deleted_only_by_choice(tenant: Prompting) -> None:
    tag = await tenant.new_tag("invoices")
    prompt = await tenant.prompt(name="Terms", tag_ids=(tag.id, tenant.tag.id))
    with pytest.raises(ConflictError, match="'Terms'") as refused:
        await tenant.services.ingestion.tags.delete(tenant.id, tag.id)
    assert refused.value.code == "tag_in_use"
    await tenant.services.ingestion.tags.delete(tenant.id, tag.id, on_use=OnUse.DETACH)
    assert (await tenant.services.assistants.prompts.get(tenant.id, prompt.id)).configuration.tag_ids == (
        tenant.tag.id,
    )


async def test_prompt_that_is_made_while_its_tag_is_deleted_never_names_what_is_gone(tenant: Prompting) -> None:
    for number in range(10):
        tag = await tenant.new_tag(f"tag {number}")
        await asyncio.gather(
            tenant.services.ingestion.tags.delete(tenant.id, tag.id),
            tenant.prompt(name=f"P {number}", tag_ids=(tag.id,)),
            return_exceptions=True,
        )
        prompts = await tenant.services.connection.database["prompts"].count_documents(
            {"configuration.tag_ids": tag.id}
        )
        tags = await tenant.services.connection.database["tags"].count_documents({"name": f"tag {number}"})
        assert prompts == tags


async def test_latest_run_of_each_prompt_is_told_without_reading_the_others(
    tenant: Prompting, chat_server: ChatServer, migrated: MongoConnection
) -> None:
    first, second, never = [await tenant.prompt() for _ in range(3)]
    for prompt in (first, second):
        for number in range(4):
            await tenant.ask_for_run(prompt, f"Text {number}")
    newest = {run.prompt_id: run.id for run in await tenant.runs()}
    ids = [first.id, second.id, never.id]
    await migrated.database.command("profile", 2)
    try:
        latest = await tenant.services.assistants.runs.latest_of(tenant.id, ids)
    finally:
        await migrated.database.command("profile", 0)
    assert {prompt_id: run.id for prompt_id, run in latest.items()} == newest
    assert {run.input_text for run in latest.values()} == {None}
    ran = [row async for row in migrated.database["system.profile"].find({"command.aggregate": "prompt_runs"})]
    await migrated.database["system.profile"].drop()
    assert ran[0]["keysExamined"] <= 2 * len(ids)
    assert await tenant.services.assistants.runs.latest_of((await new_tenant(tenant.services)).id, ids) == {}


async def test_run_in_a_knowledge_base_that_is_gone_fails_clearly(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    prompt = await tenant.prompt(kb_id=kb.id)
    run = await tenant.ask_for_run(prompt, "When?")
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id, on_use=OnUse.DETACH)
    chat_server.script(Say(tool_calls=[search_for("birds")]))
    await tenant.drain()
    ended = await tenant.again(run)
    assert ended.error is not None
    assert (ended.status, ended.error.code) == (RunStatus.FAILED, "not_found")


async def test_run_that_waits_is_cancelled_before_anything_is_asked(tenant: Prompting, chat_server: ChatServer) -> None:
    run = await tenant.ask_for_run(await tenant.prompt(), "When?")
    cancelled = await tenant.services.assistants.runs.cancel(tenant.id, run.id)
    assert cancelled.status is RunStatus.CANCELLED
    await tenant.drain()
    assert ((await tenant.again(run)).status, chat_server.calls) == (RunStatus.CANCELLED, 0)
    with pytest.raises(ConflictError):
        await tenant.services.assistants.runs.cancel(tenant.id, run.id)


async def test_run_that_is_cancelled_in_the_middle_asks_nothing_more(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say(tool_calls=[search_for("birds")])), Say("never asked for"))
    run = await tenant.ask_for_run(await tenant.prompt(kb_id=kb.id), "When?")
    draining = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(chat_server.wait_for_slow)
    await tenant.services.assistants.runs.cancel(tenant.id, run.id)
    chat_server.release()
    await draining
    ended = await tenant.again(run)
    assert (ended.status, ended.steps, chat_server.calls) == (RunStatus.CANCELLED, (), 1)


async def test_call_under_way_is_broken_off_once_the_run_is_cancelled(
    tenant: Prompting, chat_server: ChatServer, eventually: EventuallyTrue
) -> None:
    chat_server.script(Slow(Say("never read")))
    run = await tenant.ask_for_run(await tenant.prompt(), "When?")
    draining = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(chat_server.wait_for_slow)
    await tenant.services.assistants.runs.cancel(tenant.id, run.id)
    await eventually(draining.done)  # without a release: the worker has gone away
    assert (await tenant.again(run)).status is RunStatus.CANCELLED


async def test_deleted_prompt_leaves_nothing(tenant: Prompting, chat_server: ChatServer) -> None:
    prompt = await tenant.prompt()
    document = await tenant.document("birds.txt", "Birds.", tags=[])
    await tenant.run(prompt, document)
    waiting = await tenant.ask_for_run(prompt, document)
    await tenant.services.assistants.prompts.delete(tenant.id, prompt.id)
    await tenant.drain()
    with pytest.raises(NotFoundError):
        await tenant.again(waiting)
    for name in ("prompts", "prompt_versions", "prompt_runs", "prompt_results"):
        assert await rows_of(tenant, name) == 0
    assert chat_server.calls == 1


async def test_deleted_document_takes_its_runs_its_results_and_its_passages_along(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    document = await tenant.document("secret.txt", prose("secrets", 3))
    prompt = await tenant.prompt(kb_id=kb.id)
    await tenant.run(prompt, document)
    chat_server.script(Say(tool_calls=[search_for("secrets 1002"), search_for("birds 1002")]), Say("Done."))
    run = await tenant.run(prompt, "Which secrets?")
    assert any(passage.document_id == document.id for step in tools_of(run) for passage in step.passages)
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    await tenant.drain()
    after = await tenant.again(run)
    shown = [passage for step in tools_of(after) for passage in step.passages]
    assert shown
    assert all(passage.document_id != document.id for passage in shown)
    assert after.has_erased_passages
    assert (await rows_of(tenant, "prompt_runs"), await rows_of(tenant, "prompt_results")) == (1, 0)


async def test_document_that_is_deleted_while_it_is_read_leaves_no_result(
    tenant: Prompting, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say("Birds.")))
    document = await tenant.document("birds.txt", "Birds.", tags=[])
    await tenant.ask_for_run(await tenant.prompt(), document)
    draining = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(chat_server.wait_for_slow)
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    chat_server.release()
    await draining
    await tenant.drain()
    assert (await rows_of(tenant, "prompt_runs"), await rows_of(tenant, "prompt_results")) == (0, 0)


async def furnished(tenant: Prompting, chat_server: ChatServer) -> Document:
    """Something in every collection of prompts; returns the document that was run on."""
    kb = await tenant.knowledge_base()
    prompt = await tenant.prompt(kb_id=kb.id, tag_ids=(tenant.tag.id,), schema=SCHEMA)
    chat_server.script(Say(tool_calls=[search_for("birds 1001")]), says(ANSWER))
    document = await tenant.document("birds.txt", prose("birds", 3), tags=[])
    await tenant.set_tags(document, [tenant.tag.id])
    await tenant.drain()
    for name in ("prompts", "prompt_versions", "prompt_runs", "prompt_results"):
        assert await rows_of(tenant, name) == 1
    version = await tenant.services.assistants.prompts.version(tenant.id, prompt.id, None)
    await tenant.services.assistants.results.change(tenant.id, version, document.id, is_verified=True)
    return document


async def test_erased_organization_has_no_prompts(
    tenant: Prompting, compose_services: Compose, chat_server: ChatServer
) -> None:
    await furnished(tenant, chat_server)
    services = await compose_services(llm=LlmSettings(default_model=MODEL), erasure=ErasureSettings(quiet_seconds=0))
    requested = await services.operations.erasures.request_organization(
        tenant.id, requested_by="test", options=ErasureOptions(ledger=LedgerFate.DELETE)
    )
    erased = await services.operations.erasures.run(requested.id)
    assert erased.left == {}
    for name in ("prompts", "prompt_versions", "prompt_runs", "prompt_results", "llm_usage"):
        assert await rows_of(tenant, name) == 0


def test_configuration_of_an_older_release_is_read_with_defaults() -> None:
    assert PromptConfiguration.model_validate({"text": "x"}).max_iterations == 5


async def test_restored_copy_has_the_prompts_under_ids_of_its_own(tenant: Prompting, chat_server: ChatServer) -> None:
    await furnished(tenant, chat_server)
    connection = tenant.services.connection
    archive, _ = await archive_of(connection, [tenant.id])
    (restored,) = await restore_from(connection, archive, is_fresh=True, name="Copy")
    old_ids = {
        str(row["_id"])
        for name in ("prompts", "prompt_versions", "prompt_runs", "prompt_results", "docs", "tags", "knowledge_bases")
        async for row in connection.database[name].find({"organization_id": tenant.id}, {"_id": 1})
    }
    organization = await tenant.services.tenancy.organizations.get(restored.organization_id)
    copy = Prompting(tenant.services, organization, (await tags_of(tenant.services, organization.id))[0])
    ((prompt,), _) = await tenant.services.assistants.prompts.page(copy.id, PromptQuery(), skip=0, limit=10)
    (run,) = await copy.runs()
    result = await tenant.services.assistants.results.get(copy.id, prompt.id, 1, run.document_id or "")
    assert (result.run_id, result.is_verified, run.prompt_id) == (run.id, True, prompt.id)
    assert prompt.configuration.tag_ids == (copy.tag.id,)
    (step,) = tools_of(run)
    assert {passage.document_id for passage in step.passages} == {run.document_id}
    for name in ("prompts", "prompt_versions", "prompt_runs", "prompt_results"):
        async for row in connection.database[name].find({"organization_id": copy.id}):
            assert [old for old in old_ids if old in repr(row)] == []
