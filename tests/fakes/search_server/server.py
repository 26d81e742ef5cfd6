"""Connections: what is handed on to mongod, and what is answered here."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pymongo import AsyncMongoClient
from pymongo.errors import OperationFailure

from tests.fakes.search_server import vectors, words
from tests.fakes.search_server.catalog import Behaviour, Catalog, Index, Namespace
from tests.fakes.search_server.definitions import VectorDefinition, WordDefinition
from tests.fakes.search_server.errors import RefusedError, unknown_keys
from tests.fakes.search_server.wire import OP_COMPRESSED, OP_MSG, OP_REPLY, Message, read_message, reply

SEARCH_STAGES = ("$vectorSearch", "$search", "$searchMeta", "$listSearchIndexes")
_INDEX_COMMANDS = ("createSearchIndexes", "updateSearchIndex", "dropSearchIndex")
_SCORES = {"$vectorSearch": "vectorSearchScore", "$search": "searchScore"}
_FOUND = "__found"
_EVERY_COMMAND = {
    "$db",
    "lsid",
    "$clusterTime",
    "$readPreference",
    "comment",
    "maxTimeMS",
    "readConcern",
    "writeConcern",
}

Address = tuple[str, int]


class SearchServer:
    """The emulator; see the package. `answered`: how often, by command or stage."""

    def __init__(self, uri: str) -> None:
        self.behaviour = Behaviour()
        self.answered: dict[str, int] = {}
        self._given_uri = uri
        self._client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
            uri, tz_aware=True, uuidRepresentation="standard"
        )
        self._catalog = Catalog(self._client, self.behaviour)
        self._behind: Address = ("", 0)
        self._own: Address = ("", 0)
        self._connections: set[asyncio.Task[Any]] = set()

    @classmethod
    @asynccontextmanager
    async def running(cls, uri: str, *, port: int = 0) -> AsyncGenerator["SearchServer"]:
        """Listen while the block runs. `uri`: of a replica set of one node, with a user that may read all."""
        server = cls(uri)
        try:
            await server._client.admin.command("ping")
            behind = await server._client.address
            assert behind is not None
            server._behind = (str(behind[0]), int(behind[1]))
            listener = await asyncio.start_server(server._accept, "127.0.0.1", port)
            server._own = ("127.0.0.1", listener.sockets[0].getsockname()[1])
            try:
                yield server
            finally:
                listener.close()
                for task in server._connections:
                    task.cancel()
                if server._connections:
                    await asyncio.wait(server._connections)
        finally:
            await server._catalog.close()
            await server._client.close()

    @property
    def uri(self) -> str:
        """The address to give to a driver: the given one, with this server in the place of mongod."""
        scheme, _, rest = self._given_uri.partition("://")
        credentials, at, hosts = rest.rpartition("@")
        _, slash, options = hosts.partition("/")
        return f"{scheme}://{credentials}{at}{self._own[0]}:{self._own[1]}{slash}{options}"

    async def indexes(self, database: str, collection: str) -> dict[str, Index]:
        """The search indexes of a collection, for tests to look at."""
        return await self._catalog.of((database, collection))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection(*self._behind)
        back = asyncio.create_task(self._hand_back(behind_reader, writer))
        try:
            while (message := await read_message(reader)) is not None:
                if message.operation == OP_COMPRESSED:
                    raise ConnectionError("compressed messages are not understood; set no compressors")
                answer = await self._answer(message)
                if answer is None:
                    behind_writer.write(message.raw)
                    await behind_writer.drain()
                else:
                    writer.write(answer)
                    await writer.drain()
        finally:
            back.cancel()
            await asyncio.wait([back])
            behind_writer.close()

    async def _hand_back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Everything that mongod says, unasked for answers of a streaming `hello` as well."""
        with contextlib.suppress(ConnectionError):
            while (message := await read_message(reader)) is not None:
                raw = message.raw
                # Drivers go where `hello` sends them, which must not be past this server.
                if message.operation in (OP_MSG, OP_REPLY) and b"hosts\0" in raw and b"setName\0" in raw:
                    raw = message.with_body(self._with_own_address)
                writer.write(raw)
                await writer.drain()
        writer.close()

    def _with_own_address(self, hello: dict[str, Any]) -> dict[str, Any]:
        own = f"{self._own[0]}:{self._own[1]}"
        for key in ("me", "primary"):
            if key in hello:
                hello[key] = own
        if "hosts" in hello:
            assert len(hello["hosts"]) == 1, "only a replica set of one node can be stood in for"
            hello["hosts"] = [own]
        return hello

    async def _answer(self, message: Message) -> bytes | None:
        """The answer to what a search server answers; None for everything else."""
        if message.operation != OP_MSG or message.command not in ("aggregate", *_INDEX_COMMANDS):
            return None
        command = message.body
        name = message.command
        if name == "aggregate":
            first = next(iter(command.get("pipeline") or [{}]))
            name = next(iter(first), "")
            if name not in SEARCH_STAGES or not isinstance(command["aggregate"], str):
                return None
        self.answered[name] = self.answered.get(name, 0) + 1
        try:
            document = {**await self._run(name, command), "ok": 1.0}
        except RefusedError as error:
            document = {"ok": 0.0, "errmsg": error.message, "code": error.code, "codeName": error.name}
        except OperationFailure as error:  # of mongod, about the rest of the pipeline
            document = {"ok": 0.0, "errmsg": str(error), "code": error.code or 8, "codeName": "Location"}
        return reply(message, document)

    async def _run(self, name: str, command: Mapping[str, Any]) -> dict[str, Any]:
        if self.behaviour.is_down:
            raise RefusedError("Error connecting to the search server", code=6, name="HostUnreachable")
        if "autocommit" in command:
            raise RefusedError(
                f"{name} cannot be used in a transaction", code=263, name="OperationNotSupportedInTransaction"
            )
        if command.get("apiStrict"):
            raise RefusedError(f"{name} is not in API version 1", code=323, name="APIStrictError")
        namespace = (command["$db"], command[next(iter(command))])
        match name:
            case "createSearchIndexes":
                unknown_keys(name, set(command), {name, "indexes", *_EVERY_COMMAND})
                return await self._catalog.create(namespace, command["indexes"])
            case "updateSearchIndex":
                unknown_keys(name, set(command), {name, "name", "id", "definition", *_EVERY_COMMAND})
                return await self._catalog.update(namespace, command)
            case "dropSearchIndex":
                unknown_keys(name, set(command), {name, "name", "id", *_EVERY_COMMAND})
                return await self._catalog.drop(namespace, command)
            case _:
                return await self._aggregate(namespace, name, command)

    async def _aggregate(self, namespace: Namespace, name: str, command: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(command.get("cursor"), Mapping):
            raise RefusedError("The 'cursor' option is required", code=9, name="FailedToParse")
        stage, rest = command["pipeline"][0][name], command["pipeline"][1:]
        if name == "$listSearchIndexes":
            listed = await self._catalog.listed(namespace, stage)
            first = [{"$documents": {"$literal": listed}}]
            batch = await self._rest(namespace, first, rest) if rest and listed else listed
        else:
            batch = await self._search(namespace, name, stage, rest)
        return {"cursor": {"firstBatch": batch, "id": 0, "ns": ".".join(namespace)}}

    async def _search(
        self, namespace: Namespace, name: str, stage: Mapping[str, Any], rest: list[Any]
    ) -> list[dict[str, Any]]:
        if name == "$vectorSearch":
            vectors.check(stage)
        index = (await self._catalog.of(namespace)).get(stage.get("index", "default"))
        if index is None:
            return []  # neither a missing collection nor a misspelt index is an error
        kind = "vectorSearch" if name == "$vectorSearch" else "search"
        if index.kind != kind:
            raise RefusedError(f"Cannot execute {name} over {index.kind} index '{index.name}'")
        served = index.served
        if served is None:
            what = "vector index" if kind == "vectorSearch" else "search index"
            raise RefusedError(f"cannot query {what} {index.name} while in state {index.status}")
        documents = self._catalog.documents(namespace)
        found: list[dict[str, Any]]
        if isinstance(served, VectorDefinition):
            found = [{"key": key, "score": score} for key, score in vectors.run(stage, served, documents)]
        else:
            assert isinstance(served, WordDefinition)
            by_words = words.run(stage, served, documents)
            if name == "$searchMeta":
                return [{"count": words.count_of(stage, len(by_words))}]
            found = [{"key": one.identifier, "score": one.score} for one in by_words]
        if not found:
            return []
        return await self._rest(namespace, _reread(namespace, found), _without_meta(rest, _SCORES[name]))

    async def _rest(self, namespace: Namespace, first: list[Any], rest: list[Any]) -> list[dict[str, Any]]:
        """Let mongod do the other stages."""
        database = self._client[namespace[0]]
        cursor = await database.aggregate([*first, *rest, {"$unset": _FOUND}])
        return [row async for row in cursor]


def _reread(namespace: Namespace, found: list[dict[str, Any]]) -> list[Any]:
    """Return the found rows, read anew by _id in the same order: contents are of now, and deleted rows are missing."""
    return [
        {"$documents": {"$literal": found}},
        {"$lookup": {"from": namespace[1], "localField": "key", "foreignField": "_id", "as": "row"}},
        {"$unwind": "$row"},
        {"$replaceRoot": {"newRoot": {"$mergeObjects": ["$row", {_FOUND: "$$ROOT"}]}}},
        {"$unset": f"{_FOUND}.row"},
    ]


def _without_meta(value: Any, score: str) -> Any:
    """The stages with `$meta` replaced by where the emulator put it; another search's score is an error."""
    if isinstance(value, list):
        return [_without_meta(item, score) for item in value]
    if not isinstance(value, Mapping):
        return value
    if set(value) != {"$meta"}:
        return {key: _without_meta(item, score) for key, item in value.items()}
    if value["$meta"] == score:
        return f"${_FOUND}.score"
    raise RefusedError(
        f"query requires {value['$meta']} metadata, but it is not available", code=40218, name="Location40218"
    )
