"""Wishes: the call of each, and its change of the model once its transaction is committed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from analytiq.errors import NotFoundError
from analytiq.ingestion.documents.naming import identity_of
from analytiq.ingestion.upload.store import StagedFile
from analytiq.models.upload import DuplicatePolicy
from tests.property import decisions
from tests.property.decisions import TO_THE_END, Reach, TagSet, Wish
from tests.property.model import Content, DocumentTruth, KnowledgeBaseTruth
from tests.property.processes import commit, create_knowledge_base, stage
from tests.property.world import Client, World


@dataclass(frozen=True, slots=True)
class Call:
    """A wish made good: `run` is the call, `note` what follows from its commit."""

    run: Callable[[Client], Awaitable[object]]
    note: Callable[[Client], Awaitable[None]]
    is_search: bool = False


async def ask(world: World, client: int, wish: Wish, reach: Reach) -> None:
    """Let a client's process make a wish good, as far as `reach`; one that has no object does nothing."""
    await world.move_client(client, TO_THE_END)
    call = _call(world, wish)
    if call is not None:
        await world.ask(client, str(wish), call.run, call.note, reach, is_search=call.is_search)


def _call(world: World, wish: Wish) -> Call | None:
    match wish:
        case decisions.Upload():
            return _upload(world, wish)
        case decisions.CreateKnowledgeBase(slot, tags):
            return None if slot in world.kb_slots else _create_knowledge_base(world, slot, tags)
        case (
            decisions.TagKnowledgeBase(slot) | decisions.RenameKnowledgeBase(slot) | decisions.DeleteKnowledgeBase(slot)
        ):
            kb_id = world.kb_slots.get(slot)
            return None if kb_id is None else _about_knowledge_base(world, wish, slot, kb_id)
        case decisions.SearchSlowly(slot):
            kb_id = world.kb_slots.get(slot)
            return None if kb_id is None else _search(world, kb_id)
        case _:
            document_id = world.document_slots.get(wish.document)
            return None if document_id is None else _about_document(world, wish, wish.document, document_id)


# ── Documents ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _upload(world: World, wish: decisions.Upload) -> Call:
    slot = wish.document
    document_id = world.document_slots.get(slot)
    if document_id is not None:
        known = world.model.documents[document_id]
        name, content = known.name, known.content
    else:
        # The same bytes for every first upload of a slot: two that race must become one document.
        content = world.first_contents.setdefault(slot, Content(world.next_number(), wish.lines))
        name = f"document {slot} of {content.number}.txt"
    return _upload_of(world, slot, name, content, world.tags_of(wish.tags), DuplicatePolicy.RETURN)


def _replace(world: World, slot: int, document_id: str, lines: int, tags: TagSet | None) -> Call:
    name = world.model.documents[document_id].name
    tag_ids = None if tags is None else world.tags_of(tags)
    return _upload_of(world, slot, name, Content(world.next_number(), lines), tag_ids, DuplicatePolicy.REPLACE)


def _upload_of(
    world: World, slot: int, name: str, content: Content, tag_ids: tuple[str, ...] | None, policy: DuplicatePolicy
) -> Call:
    organization_id = world.organization.id
    staged: list[StagedFile] = []

    async def run(client: Client) -> object:
        upload = await stage(client.services, organization_id, name, content)
        staged.append(upload)
        return await commit(client.services, upload, tag_ids=tag_ids, policy=policy)

    async def note(client: Client) -> None:
        docs = world.connection.database["docs"]
        row = await docs.find_one({"file_id": staged[0].upload.file_id})
        if row is None:
            assert policy is DuplicatePolicy.RETURN
            identity = identity_of(name, staged[0].stored.sha256)
            assert await docs.find_one({"organization_id": organization_id, "identity": identity}) is not None
            return
        document_id = str(row["_id"])
        known = world.model.documents.get(document_id)
        if known is None:
            world.model.documents[document_id] = DocumentTruth(organization_id, name, tag_ids or (), [content])
            world.document_slots.setdefault(slot, document_id)
            world.first_contents.pop(slot, None)
        else:
            assert policy is DuplicatePolicy.REPLACE
            known.contents.append(content)
            known.tag_ids = known.tag_ids if tag_ids is None else tag_ids
        world.changed()

    return Call(run, note)


def _about_document(world: World, wish: Wish, slot: int, document_id: str) -> Call:
    match wish:
        case decisions.Replace(_, lines, tags):
            return _replace(world, slot, document_id, lines, tags)
        case decisions.TagDocument(_, tags):
            return _change_document(world, document_id, tag_ids=world.tags_of(tags))
        case decisions.RenameDocument():
            return _change_document(world, document_id, document_name=f"renamed {world.next_number()}.txt")
        case decisions.DescribeDocument():
            return _change_document(world, document_id, metadata={"number": world.next_number()})
        case decisions.ExtractAgain():
            return _extract_again(world, document_id)
        case decisions.DeleteDocument():
            return _delete_document(world, slot, document_id)
        case _:
            raise AssertionError(f"{wish} is not about a document")


def _change_document(world: World, document_id: str, **changes: Any) -> Call:
    async def run(client: Client) -> object:
        return await client.services.ingestion.documents.change(world.organization.id, document_id, **changes)

    async def note(client: Client) -> None:
        known = world.model.documents[document_id]
        known.tag_ids = changes.get("tag_ids", known.tag_ids)
        known.name = changes.get("document_name", known.name)
        known.metadata = changes.get("metadata", known.metadata)
        world.changed()

    return Call(run, note)


def _extract_again(world: World, document_id: str) -> Call:
    async def run(client: Client) -> object:
        return await client.services.ingestion.documents.extract_again(world.organization.id, document_id)

    async def note(client: Client) -> None:
        assert document_id in world.model.documents

    return Call(run, note)


def _delete_document(world: World, slot: int, document_id: str) -> Call:
    async def run(client: Client) -> object:
        return await client.services.ingestion.documents.delete(world.organization.id, document_id)

    async def note(client: Client) -> None:
        del world.model.documents[document_id]
        world.document_slots.pop(slot, None)
        world.changed()

    return Call(run, note)


# ── Knowledge bases ─────────────────────────────────────────────────────────────────────────────────────────────────


def _create_knowledge_base(world: World, slot: int, tags: TagSet) -> Call:
    name = f"kb {slot} of {world.next_number()}"
    tag_ids = world.tags_of(tags)

    async def run(client: Client) -> object:
        return await create_knowledge_base(client.services, world.organization, name, tag_ids)

    async def note(client: Client) -> None:
        row = await world.connection.database["knowledge_bases"].find_one({"name": name})
        assert row is not None
        kb_id = str(row["_id"])
        world.model.knowledge_bases[kb_id] = KnowledgeBaseTruth(world.organization.id, name, tag_ids)
        world.kb_slots.setdefault(slot, kb_id)
        world.changed()

    return Call(run, note)


def _about_knowledge_base(world: World, wish: Wish, slot: int, kb_id: str) -> Call:
    match wish:
        case decisions.TagKnowledgeBase(_, tags):
            return _change_knowledge_base(world, kb_id, tag_ids=world.tags_of(tags))
        case decisions.RenameKnowledgeBase():
            return _change_knowledge_base(world, kb_id, name=f"renamed {world.next_number()}")
        case _:
            return _delete_knowledge_base(world, slot, kb_id)


def _change_knowledge_base(world: World, kb_id: str, **changes: Any) -> Call:
    async def run(client: Client) -> object:
        return await client.services.ingestion.knowledge_bases.change(world.organization.id, kb_id, changes)

    async def note(client: Client) -> None:
        known = world.model.knowledge_bases[kb_id]
        known.tag_ids = changes.get("tag_ids", known.tag_ids)
        known.name = changes.get("name", known.name)
        world.changed()

    return Call(run, note)


def _delete_knowledge_base(world: World, slot: int, kb_id: str) -> Call:
    async def run(client: Client) -> object:
        return await client.services.ingestion.knowledge_bases.delete(world.organization.id, kb_id)

    async def note(client: Client) -> None:
        del world.model.knowledge_bases[kb_id]
        if world.kb_slots.get(slot) == kb_id:
            del world.kb_slots[slot]
        world.changed()

    return Call(run, note)


def _search(world: World, kb_id: str) -> Call:
    watch = world.model.watch(kb_id)

    async def run(client: Client) -> object:
        try:
            results = await world.watching.search(client.services, world.organization.id, kb_id)
        except NotFoundError:
            assert watch.is_deleted, "a search said that the knowledge base is unknown, and it was there all the time"
        else:
            world.watching.judge(watch, results)
        finally:
            world.model.watches.remove(watch)
        return None

    async def note(client: Client) -> None:
        """The vector of a new question was kept and charged."""

    return Call(run, note, is_search=True)
