"""The emulator of MongoDB's search server keeps the rules that it stands in for."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import numpy as np
import pytest
from bson.binary import Binary
from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure
from pymongo.operations import SearchIndexModel

from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.vectors import to_bindata
from tests.fakes.search_server import SearchServer
from tests.integration.conftest import EventuallyTrue

Collection = AsyncCollection[dict[str, Any]]

VECTOR = {"type": "vector", "path": "v", "numDimensions": 2, "similarity": "cosine"}
FILTERS = [{"type": "filter", "path": path} for path in ("kind", "size", "tags", "inner.name")]
DEFINITION = {"fields": [VECTOR, *FILTERS]}
NEAR = {"index": "vectors", "path": "v", "queryVector": [1.0, 0.0], "limit": 10, "numCandidates": 100}
TEXT = {
    "type": "string",
    "analyzer": "lucene.standard",
    "multi": {"en": {"type": "string", "analyzer": "lucene.english"}},
}
WORDS = {
    "mappings": {
        "dynamic": False,
        "fields": {
            "text": TEXT,
            "kind": {"type": "token"},
            "size": {"type": "number"},
        },
    }
}


@pytest.fixture
async def client(server: SearchServer) -> AsyncIterator[AsyncMongoClient[dict[str, Any]]]:
    connected: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(server.uri)
    yield connected
    await connected.close()


@pytest.fixture
async def collection(client: AsyncMongoClient[dict[str, Any]], database: MongoConnection) -> Collection:
    """An empty collection, seen through the emulator."""
    await database.database.create_collection("things")
    return client[database.database.name]["things"]


@pytest.fixture
async def indexed(collection: Collection, eventually: EventuallyTrue) -> Collection:
    """Three documents, of which one has no vector that can be indexed, and a vector index that can be asked."""
    await collection.insert_many(
        [
            {"_id": 1, "v": [1.0, 0.0], "kind": "a", "size": 1, "tags": ["x", "y"], "inner": {"name": "n"}},
            {"_id": 2, "v": to_bindata(np.array([0.0, 1.0], dtype=np.float32)), "kind": "b", "size": 2.5, "none": None},
            {"_id": 3, "v": [0.0, 0.0], "kind": "a"},
        ]
    )
    await collection.create_search_index(SearchIndexModel(DEFINITION, name="vectors", type="vectorSearch"))
    await eventually(lambda: is_queryable(collection, "vectors"))
    return collection


async def is_queryable(collection: Collection, name: str) -> bool:
    return any([index["queryable"] async for index in await collection.list_search_indexes(name)])


async def near(collection: Collection, *rest: Mapping[str, Any], **changes: Any) -> list[dict[str, Any]]:
    stage = {key: value for key, value in {**NEAR, **changes}.items() if value is not None}
    shown = {"$project": {"score": {"$meta": "vectorSearchScore"}}}
    return [row async for row in await collection.aggregate([{"$vectorSearch": stage}, *(rest or [shown])])]


async def ids(collection: Collection, **changes: Any) -> list[int]:
    return [row["_id"] for row in await near(collection, **changes)]


async def test_drivers_reach_mongod_through_it_and_stay_with_it(
    server: SearchServer, client: AsyncMongoClient[dict[str, Any]], collection: Collection
) -> None:
    await collection.insert_one({"_id": 7})
    async with client.start_session() as session, await session.start_transaction():
        await collection.insert_one({"_id": 8}, session=session)
    assert {row["_id"] async for row in collection.find()} == {7, 8}
    address = await client.address
    assert address is not None
    assert f"{address[0]}:{address[1]}" in server.uri
    assert client.topology_description.server_descriptions().keys() == {address}


async def test_score_is_half_of_one_plus_the_cosine_and_zero_vectors_are_left_out(indexed: Collection) -> None:
    assert await near(indexed) == [{"_id": 1, "score": 1.0}, {"_id": 2, "score": 0.5}]
    assert await ids(indexed, limit=1) == [1]
    assert await ids(indexed, exact=True, numCandidates=None) == [1, 2]
    assert await ids(indexed, queryVector=Binary(b"\x27\x00" + np.array([0, 1], np.float32).tobytes(), 9)) == [2, 1]


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"filters": {"kind": "a"}}, "unrecognized fields"),
    ({"limit": 0}, '"limit" must be positive'),
    ({"limit": "1"}, '"limit" must be a number'),
    ({"limit": 101}, "limit should be less than or equal to numCandidates"),
    ({"numCandidates": None}, "numCandidates is required for approximate vector search"),
    ({"numCandidates": 10_001}, "within bounds"),
    ({"exact": True}, '"numCandidates" must be omitted when "exact" is set to true'),
    ({"query": "text"}, "Exactly one and only one of query and queryVector can be present"),
    ({"queryVector": None}, "Exactly one and only one of query and queryVector can be present"),
    ({"queryVector": [1.0]}, "indexed with 2 dimensions but queried with 1"),
    ({"queryVector": [0.0, 0.0]}, "zero vector"),
    ({"queryVector": [float("nan"), 0.0]}, "finite"),
    ({"queryVector": [1e300, 0.0]}, "finite"),
    ({"path": "kind"}, "kind is not indexed as vector"),
    ({"index": ""}, '"index" must be a non-empty string'),
    ({"filter": {"other": 1}}, "Path 'other' needs to be indexed as filter"),
    ({"filter": {"_id": 1}}, "Path '_id' needs to be indexed as filter"),
    ({"filter": {"kind": {"$regex": "a"}}}, "not a supported operator"),
    ({"filter": {"$expr": True}}, "not a supported operator"),
    ({"filter": {"$and": []}}, "non-empty array"),
    ({"filter": {"kind": {"$in": []}}}, "non-empty array"),
    ({"filter": {"kind": {"$in": ["a", 1]}}}, "one type"),
    ({"filter": {"kind": {"$in": ["a", None]}}}, "cannot be compared"),
    ({"filter": {"kind": ["a"]}}, "cannot be compared"),
    ({"filter": {"kind": {"a": 1}}}, "cannot be compared to a document"),
    ({"filter": {"kind": {}}}, "empty document"),
    ({"filter": {"kind": "a", "$or": [{"kind": "b"}]}}, "side by side"),
    ({"filter": {"kind": {"$not": "a"}}}, "document of operators"),
    ({"filter": {"kind": {"$gt": None}}}, "cannot be compared"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSALS, ids=lambda value: str(value)[:60])
async def test_what_the_stage_does_not_have_is_refused(
    indexed: Collection, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(OperationFailure, match=message):
        await near(indexed, **changes)


FOUND: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2]),
    ({"kind": "a"}, [1]),
    ({"kind": {"$ne": "a"}}, [2]),
    ({"kind": {"$nin": ["b"]}}, [1]),
    ({"size": {"$gte": 1.0, "$lt": 2}}, [1]),
    ({"size": {"$gt": 2}}, [2]),
    ({"tags": "y"}, [1]),
    ({"tags": {"$nin": ["y"]}}, [2]),
    ({"inner.name": {"$exists": True}}, [1]),
    ({"inner.name": {"$exists": False}}, [2]),
    ({"inner.name": {"$not": {"$eq": "n"}}}, [2]),
    ({"none": None}, [2]),
    ({"kind": None}, []),
    ({"$nor": [{"kind": "a"}]}, [2]),
    ({"$or": [{"kind": "a"}, {"size": 2.5}]}, [1, 2]),
]


@pytest.mark.parametrize(("given", "expected"), FOUND, ids=lambda value: str(value)[:60])
async def test_filters_let_through_what_the_documentation_says(
    indexed: Collection, given: dict[str, Any], expected: list[int]
) -> None:
    assert sorted(await ids(indexed, filter=given)) == expected


async def test_a_misspelt_index_or_a_missing_collection_finds_nothing(indexed: Collection) -> None:
    assert await ids(indexed, index="vektors") == []
    assert await ids(indexed.database["missing"]) == []


async def test_writes_are_searched_only_after_the_delay_but_rows_are_read_as_they_are(
    server: SearchServer, indexed: Collection, eventually: EventuallyTrue
) -> None:
    server.behaviour.visibility_delay_seconds = 3600.0
    await indexed.insert_one({"_id": 4, "v": [1.0, 0.0], "kind": "a"})
    await indexed.update_one({"_id": 1}, {"$set": {"kind": "z", "v": [0.0, 1.0]}})
    await indexed.delete_one({"_id": 2})
    # Filter and score are stale, contents are not; what was deleted is missing, also from the limit.
    found = await near(
        indexed, {"$project": {"kind": 1, "score": {"$meta": "vectorSearchScore"}}}, filter={"kind": "a"}
    )
    assert found == [{"_id": 1, "kind": "z", "score": 1.0}]
    assert await ids(indexed, filter={"kind": "b"}) == []
    server.behaviour.visibility_delay_seconds = 0.0

    async def is_seen() -> bool:
        return await ids(indexed) == [4, 1]

    await eventually(is_seen)
    assert await ids(indexed, filter={"kind": "a"}) == [4]


async def test_an_index_is_built_before_it_can_be_asked_and_serves_while_it_is_rebuilt(
    server: SearchServer, collection: Collection, eventually: EventuallyTrue
) -> None:
    server.behaviour.builds.clear()
    await collection.insert_one({"_id": 1, "v": [1.0, 0.0], "kind": "a"})
    model = SearchIndexModel({"fields": [VECTOR]}, name="vectors", type="vectorSearch")
    await collection.create_search_index(model)
    assert not await is_queryable(collection, "vectors")
    with pytest.raises(OperationFailure, match=r"while in state (PENDING|BUILDING)"):
        await ids(collection)
    server.behaviour.builds.set()
    await eventually(lambda: is_queryable(collection, "vectors"))
    server.behaviour.builds.clear()
    await collection.update_search_index("vectors", DEFINITION)
    assert await is_queryable(collection, "vectors")
    with pytest.raises(OperationFailure, match="needs to be indexed as filter"):
        await ids(collection, filter={"kind": "a"})
    server.behaviour.builds.set()

    async def is_rebuilt() -> bool:
        listed = [index async for index in await collection.list_search_indexes("vectors")]
        return listed[0]["status"] == "READY" and listed[0]["latestDefinition"]["fields"][1:] == FILTERS

    await eventually(is_rebuilt)
    assert await ids(collection, filter={"kind": "a"}) == [1]


async def test_index_commands_answer_with_the_servers_codes(indexed: Collection) -> None:
    same = SearchIndexModel(DEFINITION, name="vectors", type="vectorSearch")
    assert await indexed.create_search_index(same) == "vectors"
    other = SearchIndexModel({"fields": [VECTOR]}, name="vectors", type="vectorSearch")
    missing = indexed.database["missing"]
    failing = [
        (indexed.create_search_index(other), 68),
        (indexed.update_search_index("other", DEFINITION), 27),
        (indexed.drop_search_index("other"), 27),
        (indexed.update_search_index("vectors", WORDS), 197),
        (missing.create_search_index(same), 26),
    ]
    for call, code in failing:
        with pytest.raises(OperationFailure) as failure:
            await call
        assert failure.value.code == code
    await indexed.drop_search_index("vectors")
    assert [index async for index in await indexed.list_search_indexes()] == []


@pytest.mark.parametrize(
    "fields",
    [
        [],
        FILTERS,
        [VECTOR, VECTOR],
        [{**VECTOR, "numDimensions": 8193}],
        [{**VECTOR, "similarity": "manhattan"}],
        [{**VECTOR, "quantization": "binary"}],
        [{**VECTOR, "quantisation": "scalar"}],
        [VECTOR, {"type": "filter", "path": "kind", "extra": 1}],
        [VECTOR, {"type": "token", "path": "kind"}],
    ],
    ids=lambda fields: str(fields)[:80],
)
async def test_definitions_are_read_strictly(collection: Collection, fields: list[dict[str, Any]]) -> None:
    model = SearchIndexModel({"fields": fields}, name="vectors", type="vectorSearch")
    with pytest.raises(OperationFailure):
        await collection.create_search_index(model)


async def test_searching_in_a_transaction_is_refused(
    client: AsyncMongoClient[dict[str, Any]], indexed: Collection
) -> None:
    async with client.start_session() as session:
        await session.start_transaction()
        with pytest.raises(OperationFailure, match="in a transaction"):
            await indexed.aggregate([{"$vectorSearch": NEAR}], session=session)


async def test_the_score_of_another_search_is_an_error(indexed: Collection) -> None:
    with pytest.raises(OperationFailure, match="searchScore"):
        await near(indexed, {"$project": {"score": {"$meta": "searchScore"}}})


async def test_indexes_go_with_their_collection(indexed: Collection, eventually: EventuallyTrue) -> None:
    await indexed.drop()

    async def are_gone() -> bool:
        return [index async for index in await indexed.list_search_indexes()] == []

    await eventually(are_gone)


async def test_words_are_found_ranked_filtered_and_counted(collection: Collection, eventually: EventuallyTrue) -> None:
    await collection.insert_many(
        [
            {"_id": 1, "text": "Whales are singing. Whales!", "kind": "a", "size": 1},
            {"_id": 2, "text": "A whale, and a ship that costs $5.", "kind": "b", "size": 2},
            {"_id": 3, "text": "Birds", "kind": "a", "size": 3},
        ]
    )
    await collection.create_search_index(SearchIndexModel(WORDS, name="words", type="search"))
    await eventually(lambda: is_queryable(collection, "words"))
    english = {"value": "text", "multi": "en"}

    async def found(**operators: Any) -> list[Any]:
        stage = {"index": "words", **operators}
        return [row["_id"] async for row in await collection.aggregate([{"$search": stage}, {"$limit": 10}])]

    assert await found(text={"query": "whales", "path": "text"}) == [1]
    assert await found(text={"query": "whales", "path": english}) == [1, 2]
    text = {"text": {"query": "whale", "path": english}}
    kind = {"equals": {"path": "kind", "value": "b"}}
    assert await found(compound={"should": [text], "minimumShouldMatch": 1, "filter": [kind]}) == [2]
    assert await found(compound={"must": [text], "mustNot": [kind]}) == [1]
    assert await found(compound={"mustNot": [kind]}) == []
    assert await found(range={"path": "size", "gte": 2, "lt": 3}) == [2]
    for wrong in [{"equals": {"path": "text", "value": "a"}}, {"regex": {}}, {"in": {"path": "kind", "value": []}}]:
        with pytest.raises(OperationFailure):
            await found(**wrong)
    shown = {"score": {"$meta": "searchScore"}}
    stages = [{"$search": {"index": "words", **text}}, {"$project": shown}]
    rows = [row async for row in await collection.aggregate(stages)]
    assert rows[0]["score"] > rows[1]["score"] > 0
    counted = {"$searchMeta": {"index": "words", **text, "count": {"type": "total"}}}
    assert [row async for row in await collection.aggregate([counted])] == [{"count": {"total": 2}}]
    with pytest.raises(OperationFailure, match=r"Cannot execute \$vectorSearch over search index"):
        await ids(collection, index="words")
