"""Choice of the store, and doctor's report of it: over a plain MongoDB, and over the emulator of a search server."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from analytiq.cli.doctor import Finding, Verdict, check_vector_store
from analytiq.errors import InvalidInputError
from analytiq.models.knowledge_base import LOCAL_BACKEND
from analytiq.retrieval.backends.registry import MONGODB, choose
from analytiq.settings import MongoSettings, SearchSettings, Settings
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
from analytiq.storage.search.indexes import SearchIndexes
from tests.fakes.search_server import SearchServer
from tests.integration.tenant import Tenant


@pytest.fixture
async def on_server(server: SearchServer, migrated: MongoConnection) -> AsyncIterator[MongoConnection]:
    connection = await connect(SecretStr(server.uri), migrated.database.name)
    yield connection
    await connection.close()


async def test_auto_is_the_local_store_where_mongodb_knows_no_search_indexes(migrated: MongoConnection) -> None:
    choice = await choose(SearchIndexes(migrated), SearchSettings())
    assert choice.name == LOCAL_BACKEND
    assert "`auto`" in choice.reason
    assert "there is no search server" in choice.reason


async def test_auto_is_mongodbs_own_search_where_it_lists_search_indexes(on_server: MongoConnection) -> None:
    choice = await choose(SearchIndexes(on_server), SearchSettings())
    assert (choice.name, choice.is_away) == (MONGODB, False)


async def test_auto_waits_for_a_search_server_that_is_away(server: SearchServer, on_server: MongoConnection) -> None:
    server.behaviour.is_down = True
    choice = await choose(SearchIndexes(on_server), SearchSettings())
    assert (choice.name, choice.is_away) == (MONGODB, True)
    assert "Error connecting to the search server" in choice.reason


async def test_local_asks_no_server(server: SearchServer, on_server: MongoConnection) -> None:
    choice = await choose(SearchIndexes(on_server), SearchSettings(vector_store="local"))
    assert choice.name == LOCAL_BACKEND
    assert server.answered == {}


async def test_mongodb_is_refused_where_there_is_no_search_server(migrated: MongoConnection) -> None:
    with pytest.raises(InvalidInputError, match=r"MongoDB 8\.2 or newer with mongot") as refusal:
        await choose(SearchIndexes(migrated), SearchSettings(vector_store="mongodb"))
    assert refusal.value.code == "search_server_missing"


async def examined(uri: SecretStr, connection: MongoConnection, search: SearchSettings | None = None) -> Finding | str:
    settings = Settings(
        mongo=MongoSettings(uri=uri, database=connection.database.name), search=search or SearchSettings()
    )
    return await asyncio.to_thread(check_vector_store, settings, None)


async def test_doctor_tells_which_store_is_used_and_why(
    mongo_uri: SecretStr, server: SearchServer, migrated: MongoConnection, tenant: Tenant
) -> None:
    kb = await tenant.knowledge_base()
    uri = SecretStr(server.uri)
    assert kb.vector_store == LOCAL_BACKEND
    plain = await examined(mongo_uri, migrated)
    assert isinstance(plain, str)
    assert plain.startswith(
        "local, for all of 1 knowledge bases: ANALYTIQ_SEARCH__VECTOR_STORE is `auto`, and there is no"
    )
    found = await examined(uri, migrated)
    assert isinstance(found, str)
    assert found.startswith("mongodb, for 0 of 1 knowledge bases and all new ones")
    server.behaviour.is_down = True
    away = await examined(uri, migrated)
    assert isinstance(away, Finding)
    assert away.verdict is Verdict.BAD


async def test_doctor_notes_what_was_made_for_a_search_server_that_is_not_there(
    mongo_uri: SecretStr, migrated: MongoConnection, tenant: Tenant
) -> None:
    kb = await tenant.knowledge_base()
    rows = migrated.database["knowledge_bases"]
    await rows.update_one({}, {"$set": {"vector_store": "mongodb"}})
    found = await examined(mongo_uri, migrated)
    assert isinstance(found, Finding)
    assert found.verdict is Verdict.NOTE
    assert "1 were made for MongoDB's own search" in found.detail
    await rows.update_one({}, {"$unset": {"vector_store": 1}})  # as an earlier release left them
    assert await KnowledgeBaseRepository(migrated).counts_by_store() == {LOCAL_BACKEND: 1}
    assert (await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)).vector_store == LOCAL_BACKEND
