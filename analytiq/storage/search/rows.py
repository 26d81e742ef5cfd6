"""Queries to the search server, and the fields of `kb_vectors_{kb_id}` that its filters need.

The server searches its own index, which lags behind the collection, and then reads the present rows: a deleted row is
missing from the answer, so that fewer than `limit` rows do not mean that there
are no more. The match on the organization after each search is a second fence: the server may ignore a filter that
it does not understand.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from pymongo.errors import OperationFailure

from analytiq.errors import TransientError
from analytiq.models.index_types import INDEXES_OF_A_TYPE
from analytiq.models.projection import Projection
from analytiq.storage.client import MongoConnection, translated
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.vectors import collection_name, from_bindata, to_bindata
from analytiq.storage.search.indexes import EMBEDDING, VECTOR_INDEX, WORD_INDEX, said
from analytiq.storage.search.predicates import Condition, Path, Predicate, Verdict, every, one_of
from analytiq.storage.search.rendering import Stage, search_operator, vector_search_filter

MOST_FOUND = 10_000
"""The server's own limit on `limit` and `numCandidates` of a `$vectorSearch`."""
REFUSED = "search_server_refused"
SCORE_DECIMALS = 6
"""Further decimals of equal scores differ by the order of additions."""

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that the server found.

    `score`: of `$vectorSearch` (1 + cosine) / 2, of `$search` BM25, to SCORE_DECIMALS.
    """

    generation_id: str
    document_id: str
    chunk_index: int
    first_page: int
    last_page: int
    score: float


@dataclass(frozen=True, slots=True)
class PageGroup:
    """The number of a generation's chunks of one index type on the same pages; `chunk_index`: of one of them."""

    generation_id: str
    document_id: str
    first_page: int
    last_page: int
    chunk_index: int
    chunks: int


class SearchRowRepository:
    """The chunks of one organization's knowledge base, through the search server."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database

    async def nearest(
        self,
        organization_id: str,
        kb_id: str,
        query: Vector,
        *,
        verdict: Verdict,
        limit: int,
        candidates: int | None,
    ) -> list[FoundChunk]:
        """Return the nearest chunks, best first; `candidates` None: by an exact scan.

        Raises:
            TransientError: the server refuses or does not answer; with the code REFUSED its index may not
                be ready.
        """
        predicate = _within(organization_id, verdict)
        if predicate is None:
            return []
        stage: Stage = {
            "index": VECTOR_INDEX,
            "path": EMBEDDING,
            "queryVector": to_bindata(query),
            "limit": limit,
            "filter": vector_search_filter(predicate),
        }
        stage |= {"exact": True} if candidates is None else {"numCandidates": candidates}
        return await self._found(organization_id, kb_id, [{"$vectorSearch": stage}], "vectorSearchScore")

    async def by_words(
        self, organization_id: str, kb_id: str, clauses: Sequence[Stage], *, verdict: Verdict, limit: int
    ) -> list[FoundChunk]:
        """Return the chunks with the highest scores by a question's clauses, best first.

        Raises:
            TransientError: see `nearest`.
        """
        stage = _word_stage(organization_id, clauses, verdict)
        if stage is None:
            return []
        return await self._found(organization_id, kb_id, [{"$search": stage}, {"$limit": limit}], "searchScore")

    async def count_by_words(
        self, organization_id: str, kb_id: str, clauses: Sequence[Stage], *, verdict: Verdict
    ) -> int:
        """Count the chunks in the server's index, including those deleted from the collection since.

        Raises:
            TransientError: see `nearest`.
        """
        stage = _word_stage(organization_id, clauses, verdict)
        if stage is None:
            return 0
        pipeline: list[Stage] = [{"$searchMeta": {**stage, "count": {"type": "total"}}}]
        rows = await self._aggregate(kb_id, pipeline)
        return int(rows[0]["count"]["total"]) if rows else 0

    async def count_visible(
        self,
        organization_id: str,
        kb_id: str,
        generation_id: str,
        chunk_indexes: Sequence[int],
        *,
        dimensions: int,
        with_words: bool,
    ) -> int:
        """Count the chunks known to the vector index and, `with_words`, to the keyword index too.

        Raises:
            TransientError: see `nearest`.
        """
        predicate = every(
            [
                Condition(Path.GENERATION_ID, "$eq", generation_id),
                one_of(Path.CHUNK_INDEX, chunk_indexes),
            ]
        )
        anything = np.ones(dimensions, dtype=np.float32)
        limit = len(chunk_indexes)
        by_vector = await self.nearest(
            organization_id, kb_id, anything, verdict=predicate, limit=limit, candidates=None
        )
        inside = _within(organization_id, predicate)
        if not with_words or inside is None:
            return len(by_vector)
        stage: Stage = {"index": WORD_INDEX, **search_operator(inside)}
        by_word = await self._found(organization_id, kb_id, [{"$search": stage}, {"$limit": limit}], "searchScore")
        return min(len(by_vector), len(by_word))

    async def embeddings(
        self, organization_id: str, kb_id: str, wanted: Collection[tuple[str, int]]
    ) -> dict[tuple[str, int], Vector]:
        """Return the existing embeddings by (generation id, chunk index)."""
        by_generation: dict[str, list[int]] = {}
        for generation_id, chunk_index in wanted:
            by_generation.setdefault(generation_id, []).append(chunk_index)
        if not by_generation:
            return {}
        branches = [
            {"generation_id": generation_id, "chunk_index": {"$in": indexes}}
            for generation_id, indexes in by_generation.items()
        ]
        with translated():
            cursor = self._database[collection_name(kb_id)].find(
                {"$or": branches, "organization_id": organization_id},
                {"_id": 0, "generation_id": 1, "chunk_index": 1, EMBEDDING: 1},
            )
            return {
                (str(row["generation_id"]), int(row["chunk_index"])): from_bindata(row[EMBEDDING])
                async for row in cursor
            }

    async def page_groups(
        self, organization_id: str, kb_id: str, document_ids: Collection[str] | None
    ) -> list[PageGroup]:
        """Count the chunks by pages and index type, of these documents or of all, of every generation."""
        match: Row = {"organization_id": organization_id}
        if document_ids is not None:
            match["document_id"] = {"$in": list(document_ids)}
        keys = ("generation_id", "document_id", "first_page", "last_page")
        of_type: Row = {"type": {"$floor": {"$divide": ["$chunk_index", INDEXES_OF_A_TYPE]}}}
        place: Row = {"chunk_index": {"$min": "$chunk_index"}}
        with translated():
            cursor = await self._database[collection_name(kb_id)].aggregate(
                [
                    {"$match": match},
                    {"$group": {"_id": {key: f"${key}" for key in keys} | of_type, "chunks": {"$sum": 1}, **place}},
                ]
            )
            return [
                PageGroup(
                    **{key: row["_id"][key] for key in keys},
                    chunk_index=int(row["chunk_index"]),
                    chunks=int(row["chunks"]),
                )
                async for row in cursor
            ]

    async def project(self, organization_id: str, kb_id: str, generation_id: str, projection: Projection) -> int:
        """Store the document's projection in a generation's chunks; return the number of changed chunks."""
        with translated():
            result = await self._database[collection_name(kb_id)].update_many(
                {"generation_id": generation_id, "organization_id": organization_id},
                {"$set": {"projection": asdict(projection)}},
            )
        return result.modified_count

    async def _found(self, organization_id: str, kb_id: str, search: list[Stage], score: str) -> list[FoundChunk]:
        shown: Row = {"_id": 0, "generation_id": 1, "document_id": 1, "chunk_index": 1}
        shown |= {"first_page": 1, "last_page": 1, "score": {"$meta": score}}
        pipeline = [*search, {"$match": {"organization_id": organization_id}}, {"$project": shown}]
        return [_found_chunk(row) for row in await self._aggregate(kb_id, pipeline)]

    async def _aggregate(self, kb_id: str, pipeline: list[Stage]) -> list[Row]:
        try:
            with translated():
                cursor = await self._database[collection_name(kb_id)].aggregate(pipeline)
                return [row async for row in cursor]
        except OperationFailure as error:
            raise TransientError(
                f"MongoDB's search server refuses to search the knowledge base {kb_id}: {said(error)}", code=REFUSED
            ) from error


def _word_stage(organization_id: str, clauses: Sequence[Stage], verdict: Verdict) -> Stage | None:
    """Build the `$search` stage; None if nothing can match."""
    predicate = _within(organization_id, verdict)
    if predicate is None or not clauses:
        return None
    compound = {"should": list(clauses), "minimumShouldMatch": 1, "filter": [search_operator(predicate)]}
    return {"index": WORD_INDEX, "compound": compound}


def _within(organization_id: str, verdict: Verdict) -> Predicate | None:
    """Return the organization's chunks among those that pass; None if there are none."""
    own = Condition(Path.ORGANIZATION_ID, "$eq", organization_id)
    within = every([own, verdict])
    return None if isinstance(within, bool) else within


def _found_chunk(row: Row) -> FoundChunk:
    return FoundChunk(
        generation_id=str(row["generation_id"]),
        document_id=str(row["document_id"]),
        chunk_index=int(row["chunk_index"]),
        first_page=int(row["first_page"]),
        last_page=int(row["last_page"]),
        score=round(float(row["score"]), SCORE_DECIMALS),
    )
