"""Runs that were not over when an archive was made: they go on where it is restored, and not twice in a copy."""

import pytest

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.prompt_run import PromptRun, RunStatus
from analytiq.storage.client import MongoConnection
from tests.fakes.chat_server import ChatServer, Fail, Say
from tests.integration.backup.archiving import archive_of, lose, restore_from, tags_of
from tests.integration.prompts.prompting import Prompting, search_for, tools_of

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")


async def begun_and_waiting(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer
) -> tuple[PromptRun, PromptRun]:
    """A run that has searched and meets an outage, and one that waits for its turn."""
    chat_server.script(Say(tool_calls=[search_for("birds")]), *(Fail(500) for _ in range(3)))
    begun = await tenant.ask_for_run(await tenant.prompt(kb_id=kb.id), "When?")
    await tenant.drain()
    assert (await tenant.again(begun)).status is RunStatus.RUNNING
    waiting = await tenant.ask_for_run(await tenant.prompt(), await tenant.document("note.txt", "In 1007.", tags=[]))
    return begun, waiting


async def test_runs_that_were_not_over_go_on_after_a_restore_with_what_they_have_paid_for(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer, migrated: MongoConnection
) -> None:
    begun, waiting = await begun_and_waiting(tenant, kb, chat_server)
    archive, _ = await archive_of(migrated, [tenant.id])
    await lose(migrated, tenant.id)
    await restore_from(migrated, archive)
    asked = chat_server.calls
    await tenant.drain()
    for run in (begun, waiting):
        ended = await tenant.again(run)
        assert (ended.status, ended.error) == (RunStatus.SUCCEEDED, None)
    assert [step.error for step in tools_of(await tenant.again(begun))] == [None], (
        "what was found is not searched again"
    )
    assert chat_server.calls == asked + 2


async def test_copy_tells_of_runs_that_were_not_over_and_pays_for_none(
    tenant: Prompting, kb: KnowledgeBase, chat_server: ChatServer, migrated: MongoConnection
) -> None:
    await begun_and_waiting(tenant, kb, chat_server)
    await migrated.database["jobs"].delete_many({"organization_id": tenant.id})
    asked = chat_server.calls
    archive, _ = await archive_of(migrated, [tenant.id])
    (restored,) = await restore_from(migrated, archive, is_fresh=True, name="Copy")
    organization = await tenant.services.tenancy.organizations.get(restored.organization_id)
    copy = Prompting(tenant.services, organization, (await tags_of(tenant.services, organization.id))[0])
    await copy.drain()
    runs = await copy.runs()
    assert [(run.status, run.error and run.error.code) for run in runs] == [(RunStatus.CANCELLED, "not_copied")] * 2
    assert chat_server.calls == asked
    prompt = await tenant.services.assistants.prompts.get(copy.id, runs[1].prompt_id)
    assert (await copy.run(prompt, "When?")).status is RunStatus.SUCCEEDED
