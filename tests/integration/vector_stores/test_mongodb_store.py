"""The whole library over the emulator of MongoDB's search server: indexes, visibility, filters, words."""

import asyncio
from typing import Any

import pytest

from analytiq import clock
from analytiq.errors import ConflictError, InvalidInputError, StoreLoadingError, TransientError
from analytiq.models.job import JobState
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.backends.mongodb import hits
from analytiq.retrieval.filters.projection import projection_of, value_term
from analytiq.retrieval.filters.tree import BuiltInField, Comparator, Comparison, Filter, In, MetadataField
from analytiq.retrieval.pipeline.request import Mode
from analytiq.settings import SearchSettings
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.vectors import collection_name
from analytiq.storage.search.indexes import VECTOR_INDEX, WORD_INDEX
from analytiq.storage.search.questions import clauses_of
from tests.fakes.search_server import SearchServer, definitions
from tests.integration.conftest import Compose, EventuallyTrue
from tests.integration.tenant import Tenant, new_tenant, prose
from tests.integration.vector_stores.conftest import ComposeOnServer

QUESTION = "whales in the year"


@pytest.fixture
def tenant(tenant_on_server: Tenant) -> Tenant:
    return tenant_on_server


async def states(server: SearchServer, tenant: Tenant, kb: KnowledgeBase) -> dict[str, str]:
    database = tenant.services.connection.database.name
    return {name: index.status for name, index in (await server.indexes(database, collection_name(kb.id))).items()}


async def test_a_knowledge_base_gets_indexes_which_go_with_it(server: SearchServer, tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    assert kb.vector_store == "mongodb"
    assert (await states(server, tenant, kb)).keys() == {VECTOR_INDEX, WORD_INDEX}
    document = await tenant.document("a.txt", prose("whales", 5))
    assert await tenant.found(kb.id, QUESTION, mode=Mode.VECTOR) == [document.id]
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    await tenant.drain()
    assert await states(server, tenant, kb) == {}
    assert server.answered["dropSearchIndex"] == 2


async def test_vectors_are_found_by_the_search_server_and_not_by_the_local_store(
    server: SearchServer, tenant: Tenant
) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 20))
    asked = server.answered["$vectorSearch"]
    answer = await tenant.search(kb.id, "Sentence number 3 tells of whales in the year 1003", mode=Mode.VECTOR)
    assert server.answered["$vectorSearch"] > asked
    assert answer.results[0].document_id == document.id
    assert answer.results[0].chunk_index == 3
    assert answer.total_count == 20


async def test_a_document_is_found_at_every_moment_of_its_reindexing_under_a_visibility_delay(
    server: SearchServer, tenant: Tenant
) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 6))
    server.behaviour.visibility_delay_seconds = 2.0
    searches: list[str] = []
    is_done = asyncio.Event()

    async def read() -> None:
        while not is_done.is_set():
            for mode in (Mode.VECTOR, Mode.LEXICAL, Mode.HYBRID):
                answer = await tenant.search(kb.id, QUESTION, mode=mode, top_k=50)
                assert answer.degraded == ()
                text = " ".join(result.content for result in sorted(answer.results, key=lambda one: one.chunk_index))
                searches.append(text)
            await asyncio.sleep(0)

    reader = asyncio.create_task(read())
    try:
        await tenant.replace("a.txt", prose("whales", 9, first=100))
        await tenant.drain()
        replaced_at = len(searches)
        # The generation before is swept at once here, and its rows are gone before the server knows.
        for _ in range(3):
            searched = len(searches)
            while len(searches) < searched + 6 and not reader.done():
                await asyncio.sleep(0.01)
    finally:
        is_done.set()
        await reader
    before = " ".join(line for line in prose("whales", 6).splitlines())
    after = " ".join(line for line in prose("whales", 9, first=100).splitlines())
    assert set(searches) == {before, after}, set(searches) - {before, after}
    assert replaced_at > 3
    assert set(searches[replaced_at:]) == {after}
    assert await tenant.found(kb.id, QUESTION) == [document.id]


async def test_a_commit_waits_until_the_server_knows_the_chunks(
    server: SearchServer, tenant: Tenant, eventually: EventuallyTrue
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    server.behaviour.visibility_delay_seconds = 3600.0
    await tenant.upload("a.txt", prose("whales", 5))
    work = asyncio.create_task(tenant.drain())
    vectors = tenant.services.connection.database[collection_name(kb.id)]
    await eventually(lambda: _has(vectors, 5))
    asked = server.answered.get("$vectorSearch", 0)
    await eventually(lambda: server.answered.get("$vectorSearch", 0) > asked + 1)
    assert await tenant.found(kb.id, QUESTION) == []
    server.behaviour.visibility_delay_seconds = 0.0
    await work
    assert len(await tenant.found(kb.id, QUESTION)) == 1


async def _has(collection: Any, count: int) -> bool:
    return await collection.count_documents({}) == count


async def test_a_server_that_stays_behind_leaves_the_present_chunks_and_the_job_for_later(
    server: SearchServer, compose_on_server: ComposeOnServer
) -> None:
    services = await compose_on_server(search=SearchSettings(visibility_seconds=0.2))
    tenant = await new_tenant(services)
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    server.behaviour.visibility_delay_seconds = 3600.0
    await tenant.replace("a.txt", prose("birds", 5))
    await tenant.drain()
    jobs = services.connection.database["jobs"]
    waiting = await jobs.find_one({"kind": "sync"})
    assert waiting is not None
    assert waiting["state"] == JobState.AVAILABLE.value
    assert waiting["error"]["code"] == "search_index_behind"
    answer = await tenant.search(kb.id, QUESTION, mode=Mode.VECTOR)
    assert {result.document_id for result in answer.results} == {document.id}
    assert all("whales" in result.content for result in answer.results)


async def test_an_index_that_is_not_built_yet_is_told_and_indexing_waits_for_it(
    server: SearchServer, tenant: Tenant, eventually: EventuallyTrue
) -> None:
    server.behaviour.builds.clear()
    kb = await tenant.knowledge_base()
    assert await tenant.found(kb.id, QUESTION) == []  # nothing was committed, so there is nothing to wait for
    await tenant.upload("a.txt", prose("whales", 5))
    work = asyncio.create_task(tenant.drain())
    asked = server.answered.get("$listSearchIndexes", 0)
    await eventually(lambda: server.answered.get("$listSearchIndexes", 0) > asked + 2)
    assert not work.done()
    server.behaviour.builds.set()
    await work
    assert len(await tenant.found(kb.id, QUESTION)) == 1


async def test_an_index_that_was_dropped_by_hand_is_made_again_by_the_next_indexing(
    server: SearchServer, tenant: Tenant
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    await tenant.services.connection.database[collection_name(kb.id)].drop_search_index(WORD_INDEX)
    await tenant.document("b.txt", prose("birds", 5))
    assert await states(server, tenant, kb) == {VECTOR_INDEX: "READY", WORD_INDEX: "READY"}


@pytest.mark.parametrize(("mode", "name"), [(Mode.VECTOR, VECTOR_INDEX), (Mode.LEXICAL, WORD_INDEX)])
async def test_an_index_that_was_dropped_is_made_again_and_told_instead_of_nothing_found(
    server: SearchServer, tenant: Tenant, eventually: EventuallyTrue, mode: Mode, name: str
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    collection = tenant.services.connection.database[collection_name(kb.id)]
    await collection.drop_search_index(name)
    if mode is Mode.VECTOR:
        with pytest.raises(StoreLoadingError, match="is not ready"):
            await tenant.search(kb.id, QUESTION, mode=mode)
    else:  # An index of words that is being built is told beside what can be answered: here nothing.
        answer = await tenant.search(kb.id, QUESTION, mode=mode)
        assert [item.code for item in answer.degraded] == ["keyword_index_building"]

    async def is_there() -> bool:
        return (await states(server, tenant, kb)).get(name) == "READY"

    await eventually(is_there)
    assert len(await tenant.found(kb.id, QUESTION, mode=mode)) == 1


async def test_a_search_server_that_is_away_does_not_hold_a_deletion_up(
    server: SearchServer, tenant: Tenant, eventually: EventuallyTrue
) -> None:
    kb = await tenant.knowledge_base()
    server.behaviour.is_down = True
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    await tenant.drain()
    names = await tenant.services.connection.database.list_collection_names()
    assert collection_name(kb.id) not in names

    async def are_gone() -> bool:
        return await states(server, tenant, kb) == {}

    await eventually(are_gone)


@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.LEXICAL, Mode.HYBRID])
async def test_a_search_server_that_is_away_is_told_and_makes_indexing_wait(
    server: SearchServer, tenant: Tenant, mode: Mode
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    server.behaviour.is_down = True
    with pytest.raises(TransientError, match=r"of the knowledge base \w+: Error connecting to the search server$"):
        await tenant.search(kb.id, QUESTION, mode=mode)
    second = await tenant.upload("b.txt", prose("birds", 5))
    await tenant.drain()
    jobs = tenant.services.connection.database["jobs"]
    await jobs.update_many({}, {"$set": {"run_at": clock.now()}})
    server.behaviour.is_down = False
    await tenant.drain()
    assert second.document.id in await tenant.found(kb.id, "birds in the year", mode=mode)


async def test_a_definition_of_an_earlier_release_is_brought_up_to_date(
    server: SearchServer, tenant: Tenant, compose_on_server: ComposeOnServer
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    collection = tenant.services.connection.database[collection_name(kb.id)]
    index = (await server.indexes(collection.database.name, collection.name))[VECTOR_INDEX]
    fields = [field for field in index.definition["fields"] if field["path"] != "projection.terms"]
    await collection.update_search_index(VECTOR_INDEX, {"fields": fields})
    later = tenant.seen_by(await compose_on_server())
    await later.document("b.txt", prose("birds", 5))
    assert len(index.definition["fields"]) == len(fields) + 1
    version = index.version
    await later.document("c.txt", prose("birds", 5, first=50))
    assert index.version == version


async def test_a_server_that_tells_of_a_definition_in_other_words_is_asked_to_change_it_once(
    server: SearchServer, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = await tenant.knowledge_base()
    monkeypatch.setattr(definitions, "shown", lambda kind, definition: {"kind": kind, "size": len(definition)})
    for name in ("a.txt", "b.txt", "c.txt"):
        await tenant.document(name, prose("whales", 3, first=len(name)))
    assert server.answered["updateSearchIndex"] == 2
    assert set((await states(server, tenant, kb)).values()) == {"READY"}


async def test_too_many_indexes_are_refused_with_what_to_do(server: SearchServer, tenant: Tenant) -> None:
    server.behaviour.most_indexes = 1
    with pytest.raises(ConflictError, match="ANALYTIQ_SEARCH__VECTOR_STORE=local") as refusal:
        await tenant.knowledge_base()
    assert refusal.value.code == "search_index_refused"
    assert await tenant.services.connection.database["knowledge_bases"].count_documents({}) == 0
    names = await tenant.services.connection.database.list_collection_names()
    assert not [name for name in names if name.startswith("kb_vectors_")]


SIZE = MetadataField(("size",))


@pytest.mark.parametrize("named", [hits.MOST_DOCUMENTS_NAMED, -1], ids=["by ids", "by what chunks carry"])
@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.LEXICAL])
async def test_a_change_of_name_tags_or_metadata_counts_without_embedding_anew(
    server: SearchServer,
    tenant: Tenant,
    eventually: EventuallyTrue,
    monkeypatch: pytest.MonkeyPatch,
    named: int,
    mode: Mode,
) -> None:
    monkeypatch.setattr(hits, "MOST_DOCUMENTS_NAMED", named)
    other_tag = await tenant.new_tag("other")
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5), metadata={"size": 1})
    other = await tenant.document("a.txt", prose("whales", 5, first=50), metadata={"size": 1})
    database = tenant.services.connection.database
    entry = await database["document_index"].find_one({"document_id": document.id})
    before: list[Filter] = [
        Comparison(SIZE, Comparator.LESS, 2),
        Comparison(BuiltInField.DOCUMENT_NAME, Comparator.EQUAL, "a.txt"),
        In(BuiltInField.TAG_IDS, (other_tag.id,), is_negated=True),
    ]
    after: list[Filter] = [
        Comparison(SIZE, Comparator.GREATER, 6.5),
        Comparison(BuiltInField.DOCUMENT_NAME, Comparator.EQUAL, "b.txt"),
        In(BuiltInField.TAG_IDS, (other_tag.id,)),
    ]

    async def found(trees: list[Filter]) -> list[list[str]]:
        return [await tenant.found(kb.id, QUESTION, mode=mode, filter=tree) for tree in trees]

    assert await found(before) == [sorted([document.id, other.id])] * 3
    assert await found(after) == [[]] * 3
    embedded = await database["embedding_cache"].count_documents({})
    await tenant.services.ingestion.documents.change(
        tenant.id, document.id, document_name="b.txt", tag_ids=[tenant.tag.id, other_tag.id], metadata={"size": 7}
    )
    assert await found(before) == [[other.id]] * 3, "what no longer matches drops at once"
    await tenant.drain()

    async def is_followed() -> bool:
        return await found(after) == [[document.id]] * 3

    await eventually(is_followed)
    assert await found(before) == [[other.id]] * 3
    assert await database["embedding_cache"].count_documents({}) == embedded
    now = await database["document_index"].find_one({"document_id": document.id})
    assert entry is not None
    assert now is not None
    assert now["generation_id"] == entry["generation_id"]
    assert now["projection_hash"] != entry["projection_hash"]


async def test_a_change_that_chunks_carry_already_writes_nothing(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5), metadata={"size": 1})
    vectors = tenant.services.connection.database[collection_name(kb.id)]
    await vectors.update_many({}, {"$set": {"projection.seen": True}})
    await tenant.services.ingestion.documents.change(tenant.id, document.id, metadata={"size": 1})
    await tenant.drain()
    assert await vectors.count_documents({"projection.seen": True}) == 5
    await tenant.services.ingestion.documents.change(tenant.id, document.id, metadata={"size": 2})
    await tenant.drain()
    assert await vectors.count_documents({"projection.seen": True}) == 0


async def test_a_worker_that_dies_before_it_notes_what_it_wrote_is_made_up_for(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5), metadata={"size": 1})
    await tenant.services.ingestion.documents.change(tenant.id, document.id, metadata={"size": 2})
    with monkeypatch.context() as dying:
        dying.setattr(IndexEntryRepository, "note_projection", _die)
        await tenant.drain()
    database = tenant.services.connection.database
    assert await database["jobs"].count_documents({"kind": "sync", "state": JobState.AVAILABLE.value}) == 1
    await database["jobs"].update_many({}, {"$set": {"run_at": clock.now()}})
    await tenant.drain()
    entry = await database["document_index"].find_one({"kb_id": kb.id})
    assert entry is not None
    changed = await tenant.services.ingestion.documents.get(tenant.id, document.id)
    assert entry["projection_hash"] == projection_of(changed).hash
    row = await database[collection_name(kb.id)].find_one({})
    assert row is not None
    assert value_term(("size",), 2) in row["projection"]["terms"]


async def _die(*_: object) -> None:
    raise TransientError("the worker died here")


async def test_words_are_found_by_the_search_server(server: SearchServer, tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    text = "鯨の歌 of three singing whales. Invoice INV-2024/00123 is paid. Another one, INV-2024/00124, is unpaid."
    document = await tenant.document("a.txt", text)
    expected = {"INV-2024/00123": "00123", "INV-2024/00124": "00124", "whale": "whales", "鯨の": "鯨の歌"}
    for question, content in expected.items():
        answer = await tenant.search(kb.id, question, mode=Mode.LEXICAL)
        assert content in answer.results[0].content, question
        assert answer.results[0].document_id == document.id
        assert answer.degraded == ()
    assert await tenant.found(kb.id, "absent", mode=Mode.LEXICAL) == []
    assert await tenant.found(kb.id, "?!", mode=Mode.LEXICAL) == []
    assert server.answered["$search"] > 0


async def test_leaving_is_immediate(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    await tenant.set_tags(document, [])
    assert await tenant.found(kb.id, QUESTION) == []
    await tenant.set_tags(document, [tenant.tag.id])
    assert await tenant.found(kb.id, QUESTION) == [document.id]
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    assert await tenant.found(kb.id, QUESTION) == []


async def test_rows_that_vanish_before_the_server_knows_do_not_hide_others(
    server: SearchServer, tenant: Tenant
) -> None:
    kb = await tenant.knowledge_base()
    near = await tenant.document("a.txt", prose("whales", 400))
    far = await tenant.document("b.txt", prose("birds", 3))
    server.behaviour.visibility_delay_seconds = 3600.0
    await tenant.services.ingestion.documents.delete(tenant.id, near.id)
    await tenant.drain()
    for mode in (Mode.VECTOR, Mode.LEXICAL):
        assert await tenant.found(kb.id, "Sentence tells of whales quite plainly", mode=mode, top_k=3) == [far.id]


async def test_a_knowledge_base_of_one_store_is_served_when_the_setting_changes(
    server: SearchServer, tenant: Tenant, compose_on_server: ComposeOnServer, compose_services: Compose
) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    without_server = tenant.seen_by(await compose_services())
    forced_local = tenant.seen_by(await compose_on_server(search=SearchSettings(vector_store="local")))
    asked = server.answered["$vectorSearch"]
    for process in (without_server, forced_local):
        assert await process.found(kb.id, QUESTION) == [document.id]
    assert server.answered["$vectorSearch"] == asked
    local = await without_server.knowledge_base()
    assert local.vector_store == "local"
    await without_server.drain()
    assert await tenant.found(local.id, QUESTION) == [document.id]
    assert server.answered["$vectorSearch"] == asked
    # What was written while nobody looked at the server is found by it afterwards.
    second = await without_server.document("b.txt", prose("birds", 5))
    assert await tenant.found(kb.id, QUESTION) == sorted([document.id, second.id])
    await without_server.services.retrieval.backends.close()


async def test_asking_for_a_search_server_that_is_not_there_is_told_at_the_start(compose_services: Compose) -> None:
    with pytest.raises(InvalidInputError, match="ANALYTIQ_SEARCH__VECTOR_STORE"):
        await compose_services(search=SearchSettings(vector_store="mongodb"))


async def test_a_process_that_starts_while_the_search_server_is_away_leaves_its_knowledge_bases_to_it(
    server: SearchServer, tenant: Tenant, compose_on_server: ComposeOnServer
) -> None:
    kb = await tenant.knowledge_base()
    document = await tenant.document("a.txt", prose("whales", 5))
    server.behaviour.is_down = True
    later = tenant.seen_by(await compose_on_server())
    with pytest.raises(TransientError):
        await later.search(kb.id, QUESTION)
    server.behaviour.is_down = False
    asked = server.answered["$vectorSearch"]
    assert await later.found(kb.id, QUESTION) == [document.id]
    assert server.answered["$vectorSearch"] > asked


async def test_another_organization_finds_nothing_even_where_the_filter_is_lost(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    monkeypatch.setattr("analytiq.storage.search.rows.vector_search_filter", lambda _: {})
    monkeypatch.setattr(
        "analytiq.storage.search.rows.search_operator", lambda _: {"exists": {"path": "organization_id"}}
    )
    foreign = kb.model_copy(update={"organization_id": (await new_tenant(tenant.services)).id})
    rows = tenant.services.retrieval.backends.of(kb)._rows  # type: ignore[attr-defined]
    query = await tenant.services.inference.embedding.embed_query(tenant.organization, kb, QUESTION)
    found = await rows.nearest(kb.organization_id, kb.id, query, verdict=True, limit=5, candidates=None)
    assert len(found) == 5
    assert await rows.nearest(foreign.organization_id, kb.id, query, verdict=True, limit=5, candidates=None) == []
    assert await rows.by_words(foreign.organization_id, kb.id, clauses_of("whales"), verdict=True, limit=5) == []
