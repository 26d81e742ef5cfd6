"""The two search indexes of a collection of vectors: their definitions and life cycle."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import structlog
from pymongo.errors import OperationFailure
from pymongo.operations import SearchIndexModel

from analytiq.errors import ConflictError, InvalidInputError, StoreLoadingError, TransientError
from analytiq.storage.client import MongoConnection, translated
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.vectors import collection_name
from analytiq.storage.search.predicates import Path

log = structlog.get_logger(__name__)

VECTOR_INDEX = "analytiq_vectors"
WORD_INDEX = "analytiq_words"
EMBEDDING = "embedding"
CHUNK_TEXT = "chunk_text"
CONTEXT = "context"
CHARACTER_PAIRS, WHOLE = "character_pairs", "whole"
"""Further analyzers of a text, besides English stems: pairs of characters, and whole codes."""

MOST_DIMENSIONS = 8192
BITS_PER_BYTE = 8
FIRST_POLL_SECONDS = 0.05
LONGEST_POLL_SECONDS = 1.0
INDEX_ALREADY_EXISTS = 68
INDEX_NOT_FOUND = 27
NAMESPACE_NOT_FOUND = 26
UNKNOWN_STAGE = 40324
NO_SEARCH = "this MongoDB comes without one, so vectors are searched in memory"
"""Message for a server without the stage: the usual case, and no error."""

AWAY = frozenset([6, 7, 50, 89, 125, 202, 9001])
"""Error codes for an unreachable search server: of the network (HostUnreachable,
HostNotFound, NetworkTimeout, SocketException), of time (MaxTimeMSExpired, NetworkInterfaceExceededTimeLimit), and
CommandFailed. All others (31082 SearchNotEnabled, 6047401, 40324 for an unknown stage, and unknown ones) mean
that there is none."""

Quantization = Literal["none", "scalar", "binary"]

_TOKENS = (
    Path.ORGANIZATION_ID, Path.DOCUMENT_ID, Path.GENERATION_ID, Path.DOCUMENT_NAME, Path.TAG_IDS, Path.CONTENT_TYPE,
    Path.TERMS,
)  # fmt: skip
_NUMBERS = (Path.CHUNK_INDEX, Path.FIRST_PAGE, Path.LAST_PAGE)
_DEFAULTS: tuple[object, ...] = (None, False, "none", [], {})
"""Values that a server may omit when it returns a definition."""
_WORD_ENDS = r"^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$"


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """A wanted index. `kind`: one of the server's two kinds."""

    name: str
    kind: Literal["vectorSearch", "search"]
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchIndexState:
    """An index as the server reports it. With the status STALE, or BUILDING again, it may still be `queryable`."""

    name: str
    status: str
    is_queryable: bool
    definition: Mapping[str, Any]
    detail: str


@dataclass(frozen=True, slots=True)
class SearchServer:
    """The presence of a search server behind MongoDB, and MongoDB's message; `is_away`: present, but unreachable."""

    is_there: bool
    answer: str
    is_away: bool = False


def vector_index(dimensions: int, quantization: Quantization) -> SearchIndex:
    """Return the index of the embeddings, with every path used by filters.

    Raises:
        InvalidInputError: MongoDB cannot index vectors of this many dimensions in that way.
    """
    if dimensions > MOST_DIMENSIONS:
        raise InvalidInputError.of_field(
            "embedding_model",
            f"Its vectors have {dimensions} dimensions, and MongoDB's vector search takes at most"
            f" {MOST_DIMENSIONS}. Choose another model, or ANALYTIQ_SEARCH__VECTOR_STORE=local.",
        )
    if quantization == "binary" and dimensions % BITS_PER_BYTE:
        raise InvalidInputError.of_field(
            "embedding_model",
            f"Its vectors have {dimensions} dimensions, and binary quantization needs a multiple of"
            f" {BITS_PER_BYTE}. Choose another model, or ANALYTIQ_SEARCH__QUANTIZATION=scalar.",
        )
    vector: Row = {"type": "vector", "path": EMBEDDING, "numDimensions": dimensions, "similarity": "cosine"}
    vector["quantization"] = quantization
    filters = [{"type": "filter", "path": path.value} for path in Path]
    return SearchIndex(VECTOR_INDEX, "vectorSearch", {"fields": [vector, *filters]})


def word_index(*, has_context: bool = False) -> SearchIndex:
    """Return the index of the texts: English stems, pairs of characters, and literal codes.

    `has_context`: chunks have contexts to search. Without them the definition stays, and no index is built again.
    """
    whole = {
        "name": WHOLE,
        "tokenizer": {"type": "whitespace"},
        "tokenFilters": [
            {"type": "lowercase"},
            {"type": "regex", "pattern": _WORD_ENDS, "replacement": "", "matches": "all"},
        ],
    }
    analyzers = {CHARACTER_PAIRS: "lucene.cjk", WHOLE: WHOLE}
    text = {
        "type": "string",
        "analyzer": "lucene.english",
        "multi": {name: {"type": "string", "analyzer": analyzer} for name, analyzer in analyzers.items()},
    }
    texts = (CHUNK_TEXT, CONTEXT) if has_context else (CHUNK_TEXT,)
    fields: Row = {**dict.fromkeys(texts, text), **{path.value: {"type": "token"} for path in _TOKENS}}
    fields |= {path.value: {"type": "number"} for path in _NUMBERS}
    fields |= {Path.UPLOAD_DATE.value: {"type": "date"}, Path.IS_PARTIAL.value: {"type": "boolean"}}
    mappings = {"dynamic": False, "fields": _nested(fields)}
    return SearchIndex(WORD_INDEX, "search", {"mappings": mappings, "analyzers": [whole]})


def serves(state: SearchIndexState, wanted: SearchIndex) -> bool:
    """Return True if an index contains the wanted definition; extra fields and explicit defaults are allowed."""
    return _has(state.definition, wanted.definition)


class SearchIndexes:
    """Creates, inspects and drops the search indexes of knowledge bases."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database
        self._changed: set[tuple[str, str]] = set()

    async def server(self) -> SearchServer:
        """Ask MongoDB whether it has a search server.

        Raises:
            TransientError: MongoDB does not answer.
        """
        try:
            await self._list("knowledge_bases")
        except OperationFailure as error:
            is_away = error.code in AWAY
            answer = NO_SEARCH if error.code == UNKNOWN_STAGE else said(error)
            return SearchServer(is_there=is_away, answer=answer, is_away=is_away)
        return SearchServer(is_there=True, answer="it lists search indexes")

    async def states(self, kb_id: str) -> dict[str, SearchIndexState]:
        """Return the state by name of the collection's indexes.

        Raises:
            TransientError: the search server does not answer.
        """
        try:
            return await self._list(collection_name(kb_id))
        except OperationFailure as error:
            raise TransientError(
                f"MongoDB does not list the search indexes of the knowledge base {kb_id}: {said(error)}",
                code="search_server_unavailable",
            ) from error

    async def ensure(self, kb_id: str, wanted: Sequence[SearchIndex]) -> None:
        """Create missing indexes and change outdated ones; the server builds them afterwards.

        Raises:
            ConflictError: the server refuses, for example because of too many indexes.
        """
        collection = self._database[collection_name(kb_id)]
        present = await self.states(kb_id)
        for index in wanted:
            state = present.get(index.name)
            if state is not None and (serves(state, index) or (kb_id, index.name) in self._changed):
                # Already changed by this process: a server that rewords the definition would rebuild it forever.
                continue
            try:
                with translated():
                    if state is None:
                        await self._create(kb_id, index)
                    else:
                        await collection.update_search_index(index.name, index.definition)
                        self._changed.add((kb_id, index.name))
            except OperationFailure as error:
                raise ConflictError(
                    f"MongoDB refuses the search index {index.name!r} of the knowledge base {kb_id}:"
                    f" {said(error)}. Where there are too many, delete knowledge bases, choose a larger cluster, or"
                    " set ANALYTIQ_SEARCH__VECTOR_STORE=local.",
                    code="search_index_refused",
                ) from error
            log.info("search_indexes.wanted", kb_id=kb_id, index=index.name, is_new=state is None)

    async def await_queryable(self, kb_id: str, wanted: Sequence[SearchIndex], *, seconds: float) -> None:
        """Wait until all indexes are queryable; an index being rebuilt is queryable without being READY.

        Missing indexes and those of an earlier release are created first: one listing if there are none.

        Raises:
            StoreLoadingError: an index is not queryable after `seconds`.
            ConflictError: see `ensure`.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        pause = FIRST_POLL_SECONDS
        states = await self.states(kb_id)
        if not all(index.name in states and serves(states[index.name], index) for index in wanted):
            await self.ensure(kb_id, wanted)
        while waiting := [index.name for index in wanted if not _is_queryable(states.get(index.name))]:
            if asyncio.get_running_loop().time() >= deadline:
                raise not_queryable(kb_id, waiting[0], states.get(waiting[0]))
            await asyncio.sleep(pause)
            pause = min(LONGEST_POLL_SECONDS, pause * 2)
            states = await self.states(kb_id)

    async def drop(self, kb_id: str) -> None:
        """Remove both indexes if the search server allows it: dropping their collection removes them anyway."""
        collection = self._database[collection_name(kb_id)]
        for name in (VECTOR_INDEX, WORD_INDEX):
            try:
                with translated():
                    await collection.drop_search_index(name)
            except OperationFailure as error:
                if error.code not in (INDEX_NOT_FOUND, NAMESPACE_NOT_FOUND):
                    log.warning("search_indexes.not_dropped", kb_id=kb_id, index=name, code=error.code)

    async def _create(self, kb_id: str, index: SearchIndex) -> None:
        collection = self._database[collection_name(kb_id)]
        model = SearchIndexModel(index.definition, name=index.name, type=index.kind)
        try:
            await collection.create_search_index(model)
        except OperationFailure as error:
            # Another process was faster, with another release's definition.
            if error.code != INDEX_ALREADY_EXISTS:
                raise
            await collection.update_search_index(index.name, index.definition)

    async def _list(self, collection: str) -> dict[str, SearchIndexState]:
        with translated():
            cursor = await self._database[collection].list_search_indexes()
            rows = [row async for row in cursor]
        return {str(row["name"]): _state(row) for row in rows}


def said(error: OperationFailure) -> str:
    """Return the server's message, without the rest of its answer."""
    return str((error.details or {}).get("errmsg") or error).rstrip(".")


def not_queryable(kb_id: str, name: str, state: SearchIndexState | None) -> StoreLoadingError:
    """Return the error for an index that is not queryable yet."""
    seen = "missing" if state is None else f"{state.status}{f' ({state.detail})' if state.detail else ''}"
    return StoreLoadingError(
        f"The search index {name!r} of the knowledge base {kb_id} is not ready: it is {seen}. Try again in a moment.",
        retry_after=2.0,
    )


def _is_queryable(state: SearchIndexState | None) -> bool:
    return state is not None and state.is_queryable


def _state(row: Mapping[str, Any]) -> SearchIndexState:
    return SearchIndexState(
        name=str(row["name"]),
        status=str(row.get("status", "")),
        is_queryable=bool(row.get("queryable")),
        definition=row.get("latestDefinition") or {},
        detail=str(row.get("message") or ""),
    )


def _has(present: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and isinstance(present, Mapping):
        has, wants = cast("Mapping[str, Any]", present), cast("Mapping[str, Any]", wanted)
        return all(_has(has[key], value) if key in has else value in _DEFAULTS for key, value in wants.items())
    if isinstance(wanted, list) and isinstance(present, list):
        items = cast("list[Any]", present)
        return all(any(_has(item, one) for item in items) for one in cast("list[Any]", wanted))
    return present == wanted


def _nested(fields: Mapping[str, Any]) -> Row:
    """Return `a.b` as the field `b` of the document `a`, as in the server's mappings."""
    nested: Row = {}
    for path, mapping in fields.items():
        parent, dot, child = path.partition(".")
        if dot:
            nested.setdefault(parent, {"type": "document", "fields": {}})["fields"][child] = mapping
        else:
            nested[parent] = mapping
    return nested
