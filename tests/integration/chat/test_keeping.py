"""Conversations in archives, and what erasing leaves of them."""

import asyncio
import json

import pytest

from analytiq.assistants.chat.threads import Reader
from analytiq.models.chat import AnswerState
from analytiq.models.erasure import DocumentSelection, ErasureState
from analytiq.models.organization import Organization
from tests.fakes.chat_server import ChatServer, Say, Slow
from tests.integration.backup.archiving import archive_of, lose, restore_from
from tests.integration.chat.conftest import OWNER, Begin, Process, Talk

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")

QUESTION = "Which sentence tells of whales in the year 1007?"
READER = Reader(OWNER, is_administrator=False)


async def conversation(begin: Begin, server: ChatServer) -> Talk:
    server.script(Say("It is sentence 7 [1]."))
    talk = await begin()
    assert (await talk.answered(QUESTION)).is_grounded
    return talk


async def test_restored_conversation_is_the_same_and_goes_on(begin: Begin, chat_server: ChatServer) -> None:
    talk = await conversation(begin, chat_server)
    services = talk.tenant.services
    before = await talk.chats.messages(talk.tenant.id, talk.thread.id, skip=0, limit=10)
    archive, _ = await archive_of(services.connection, [talk.tenant.id])
    await lose(services.connection, talk.tenant.id)
    assert await talk.chats.page(talk.tenant.id, READER, kb_id=None, skip=0, limit=10) == ([], 0)
    await restore_from(services.connection, archive)
    assert await talk.chats.messages(talk.tenant.id, talk.thread.id, skip=0, limit=10) == before
    chat_server.script(Say(json.dumps({"question": QUESTION, "passage": ""})), Say("Still 7 [1]."))
    assert (await talk.answered("And now?")).is_grounded


async def test_copy_under_fresh_ids_talks_about_its_own_documents(begin: Begin, chat_server: ChatServer) -> None:
    talk = await conversation(begin, chat_server)
    services = talk.tenant.services
    archive, _ = await archive_of(services.connection, [talk.tenant.id])
    [restored] = await restore_from(services.connection, archive, is_fresh=True)
    copy: Organization = await services.tenancy.organizations.get(restored.organization_id)
    [thread], _ = await talk.chats.page(copy.id, READER, kb_id=None, skip=0, limit=10)
    (_, answer), _ = await talk.chats.messages(copy.id, thread.id, skip=0, limit=10)
    [citation] = answer.citations
    assert (await services.ingestion.documents.get(copy.id, citation.document_id)).document_name == "whales.txt"
    assert citation.document_id in answer.document_ids
    assert {item.kb_id for item in answer.passages} == set(thread.kb_ids)
    rows = services.connection.database
    for row in [*await rows["chat_threads"].find({"organization_id": copy.id}).to_list(),
                *await rows["chat_messages"].find({"organization_id": copy.id}).to_list()]:  # fmt: skip
        for id_ in (talk.tenant.id, talk.thread.id, talk.kb.id):
            assert id_ not in repr(row)


async def test_answer_that_was_being_given_when_the_archive_was_made_is_over_after_the_restore(
    begin: Begin, process: Process, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say("one two three"), pieces=2))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    await asyncio.to_thread(chat_server.wait_for_slow)
    services = talk.tenant.services
    archive, _ = await archive_of(services.connection, [talk.tenant.id])
    await talk.chats.close()
    talk = talk.seen_by(await process())
    await lose(services.connection, talk.tenant.id)
    await restore_from(services.connection, archive)
    database = services.connection.database
    # As the clock would: half a minute later.
    await database["chat_messages"].update_many({}, [{"$set": {"heartbeat_at": {"$subtract": ["$$NOW", 60_000]}}}])
    await database["chat_threads"].update_many({}, [{"$set": {"running_until": {"$subtract": ["$$NOW", 60_000]}}}])
    message = await talk.message(answer)
    assert (message.state, message.error and message.error.code) == (AnswerState.FAILED, "interrupted")
    chat_server.script(Say("Seven [1]."))
    assert (await talk.answered(QUESTION)).state is AnswerState.DONE


async def test_erased_document_is_in_no_conversation_any_more(begin: Begin, chat_server: ChatServer) -> None:
    talk = await conversation(begin, chat_server)
    services = talk.tenant.services
    selection = DocumentSelection(name_contains="whales.txt")
    erasure = await services.operations.erasures.request_documents(talk.tenant.id, selection, requested_by="test")
    erasing = asyncio.create_task(services.operations.erasures.run(erasure.id))
    while not erasing.done():
        await talk.tenant.drain()
        await asyncio.wait([erasing], timeout=0.05)
    assert (await erasing).state is ErasureState.DONE
    rows = await services.connection.database["chat_messages"].find({"role": "assistant"}).to_list()
    assert len(rows) == 1
    assert "whales" not in repr(rows)


async def test_erased_organization_leaves_no_conversation(begin: Begin, chat_server: ChatServer) -> None:
    talk = await conversation(begin, chat_server)
    services = talk.tenant.services
    await lose(services.connection, talk.tenant.id)
    for name in ("chat_threads", "chat_messages"):
        assert await services.connection.database[name].count_documents({}) == 0
