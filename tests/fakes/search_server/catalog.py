"""Indexes and their life; the documents as the indexes see them, some time behind the collection."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bson import ObjectId
from pymongo import AsyncMongoClient
from pymongo.errors import PyMongoError

from tests.fakes.search_server import definitions
from tests.fakes.search_server.definitions import VectorDefinition, WordDefinition
from tests.fakes.search_server.errors import RefusedError, unknown_keys

Namespace = tuple[str, str]
"""Database and collection."""

NAMESPACE_NOT_FOUND, INDEX_NOT_FOUND, INDEX_ALREADY_EXISTS, INVALID_OPTION = 26, 27, 68, 197


@dataclass(slots=True)
class Behaviour:
    """Settings that tests change at any time.

    `visibility_delay_seconds`: from a write until searches go by it; scores and filters are stale until then.
    `builds`: cleared, an index stays BUILDING. `most_indexes`: as a cluster's limit. `is_down`: mongod answers, but for
    what it would ask its search server.
    """

    visibility_delay_seconds: float = 0.0
    most_indexes: int = 2_500
    is_down: bool = False
    builds: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.builds.set()


@dataclass(slots=True)
class Index:
    """One search index. `served` is the definition that searches go by: the old one while a new one is being built."""

    id: str
    name: str
    kind: str
    definition: Mapping[str, Any]
    version: int = 0
    status: str = "PENDING"
    served: VectorDefinition | WordDefinition | None = None
    building: asyncio.Task[None] | None = None

    @property
    def listed(self) -> dict[str, Any]:
        """Return its description by `$listSearchIndexes`."""
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "queryable": self.served is not None,
            "latestDefinitionVersion": {"version": self.version},
            "latestDefinition": definitions.shown(self.kind, self.definition),
            "statusDetail": [],
        }


class Followed:
    """A collection as its indexes see it: `documents` is brought up to what may be seen by now when it is asked for."""

    def __init__(self, client: AsyncMongoClient[dict[str, Any]], namespace: Namespace, behaviour: Behaviour) -> None:
        self._collection = client[namespace[0]][namespace[1]]
        self._behaviour = behaviour
        self._documents: dict[Any, dict[str, Any]] = {}
        self._waiting: deque[tuple[float, Any, dict[str, Any] | None]] = deque()
        self._task: asyncio.Task[None] | None = None
        self.is_scanned = asyncio.Event()
        self.is_gone = False

    def start(self) -> None:
        """Scan the collection, then follow it."""
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Follow no longer."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    @property
    def documents(self) -> Mapping[Any, dict[str, Any]]:
        """By _id, in the order of indexing."""
        seen_until = asyncio.get_running_loop().time() - self._behaviour.visibility_delay_seconds
        while self._waiting and self._waiting[0][0] <= seen_until:
            _, identifier, document = self._waiting.popleft()
            if document is None:
                self._documents.pop(identifier, None)
            else:
                self._documents[identifier] = document
        return self._documents

    async def _follow(self) -> None:
        try:
            # Opened before the scan, so that nothing falls between the two.
            async with await self._collection.watch(full_document="updateLookup") as changes:
                async for document in self._collection.find():
                    self._documents[document["_id"]] = document
                self.is_scanned.set()
                async for change in changes:
                    if change["operationType"] in ("drop", "rename", "dropDatabase", "invalidate"):
                        break
                    now = asyncio.get_running_loop().time()
                    self._waiting.append((now, change["documentKey"]["_id"], change.get("fullDocument")))
        except PyMongoError:
            if not self.is_scanned.is_set():
                raise
        self.is_gone = True


class Catalog:
    """All search indexes."""

    def __init__(self, client: AsyncMongoClient[dict[str, Any]], behaviour: Behaviour) -> None:
        self._client = client
        self._behaviour = behaviour
        self._indexes: dict[Namespace, dict[str, Index]] = {}
        self._followed: dict[Namespace, Followed] = {}

    async def close(self) -> None:
        """Build and follow no longer."""
        for indexes in self._indexes.values():
            for index in indexes.values():
                await _cancel(index)
        for followed in self._followed.values():
            await followed.stop()

    async def of(self, namespace: Namespace) -> dict[str, Index]:
        """The indexes of a collection by name; those of a dropped one are gone."""
        followed = self._followed.get(namespace)
        if followed is not None and followed.is_gone:
            await self._forget(namespace)
        return self._indexes.get(namespace, {})

    def documents(self, namespace: Namespace) -> Mapping[Any, dict[str, Any]]:
        """The documents of an indexed collection, as searches see them."""
        return self._followed[namespace].documents

    async def listed(self, namespace: Namespace, stage: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Answer `$listSearchIndexes`."""
        unknown_keys("$listSearchIndexes", set(stage), {"name", "id"})
        if len(stage) > 1:
            raise RefusedError("Cannot set both 'name' and 'id' for $listSearchIndexes.")
        indexes = (await self.of(namespace)).values()
        return [
            index.listed
            for index in indexes
            if stage.get("name") in (None, index.name) and stage.get("id") in (None, index.id)
        ]

    async def create(self, namespace: Namespace, wanted: list[Mapping[str, Any]]) -> dict[str, Any]:
        """Answer `createSearchIndexes`; building goes on afterwards."""
        database = self._client[namespace[0]]
        if namespace[1] not in await database.list_collection_names(filter={"name": namespace[1]}):
            raise RefusedError(
                f"Collection '{'.'.join(namespace)}' does not exist.",
                code=NAMESPACE_NOT_FOUND,
                name="NamespaceNotFound",
            )
        created: list[dict[str, Any]] = []
        for item in wanted:
            unknown_keys("indexes", set(item), {"name", "type", "definition"})
            name, kind = item.get("name", "default"), item.get("type", "search")
            definitions.parse(kind, item.get("definition"))
            index = (await self.of(namespace)).get(name)
            if index is not None and (index.kind, index.definition) != (kind, item["definition"]):
                raise RefusedError(
                    f"Index {name} already exists with a different definition.",
                    code=INDEX_ALREADY_EXISTS,
                    name="IndexAlreadyExists",
                )
            if index is None:
                index = self._add(namespace, Index(str(ObjectId()), name, kind, item["definition"]))
            created.append({"id": index.id, "name": name})
        return {"indexesCreated": created}

    async def update(self, namespace: Namespace, command: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `updateSearchIndex`; the old definition serves until the new one is built."""
        index = await self._named(namespace, command)
        try:
            definitions.parse(index.kind, command.get("definition"))
        except RefusedError as error:
            raise RefusedError(error.message, code=INVALID_OPTION, name="InvalidIndexSpecificationOption") from error
        index.definition = command["definition"]
        index.version += 1
        self._build(namespace, index)
        return {}

    async def drop(self, namespace: Namespace, command: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `dropSearchIndex`."""
        index = await self._named(namespace, command)
        await _cancel(index)
        del self._indexes[namespace][index.name]
        if not self._indexes[namespace]:
            await self._forget(namespace)
        return {}

    async def _named(self, namespace: Namespace, command: Mapping[str, Any]) -> Index:
        if ("name" in command) == ("id" in command):
            raise RefusedError("exactly one of 'name' and 'id' is wanted")
        for index in (await self.of(namespace)).values():
            if command.get("name") == index.name or command.get("id") == index.id:
                return index
        wanted = command.get("name") or command.get("id")
        raise RefusedError(f"Index {wanted} does not exist.", code=INDEX_NOT_FOUND, name="IndexNotFound")

    def _add(self, namespace: Namespace, index: Index) -> Index:
        if sum(len(indexes) for indexes in self._indexes.values()) >= self._behaviour.most_indexes:
            raise RefusedError("The maximum number of indexes has been reached for this instance size.")
        if namespace not in self._followed:
            self._followed[namespace] = Followed(self._client, namespace, self._behaviour)
            self._followed[namespace].start()
        self._indexes.setdefault(namespace, {})[index.name] = index
        self._build(namespace, index)
        return index

    def _build(self, namespace: Namespace, index: Index) -> None:
        if index.building is not None:
            index.building.cancel()

        async def build() -> None:
            index.status = "BUILDING"
            await self._followed[namespace].is_scanned.wait()
            await self._behaviour.builds.wait()
            index.served = definitions.parse(index.kind, index.definition)
            index.status = "READY"

        index.building = asyncio.create_task(build())

    async def _forget(self, namespace: Namespace) -> None:
        for index in self._indexes.pop(namespace, {}).values():
            await _cancel(index)
        followed = self._followed.pop(namespace, None)
        if followed is not None:
            await followed.stop()


async def _cancel(index: Index) -> None:
    if index.building is not None:
        index.building.cancel()
        await asyncio.wait([index.building])
