"""The chunks of one knowledge base in a SQLite file, with FTS5 over the terms of `analytiq.retrieval.terms`."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analytiq.models.knowledge_base import Epoch
from analytiq.retrieval.backends.base import KeywordHit, Query, VectorHit
from analytiq.retrieval.filters.selection import ChunkFilter, contains
from analytiq.retrieval.terms.analysis import asked_terms, chunk_terms

MOST_TERMS = 256
TIE_DECIMALS = 6
Served = Collection[str]
"""The generations of one version."""
_TABLES = """
    CREATE TABLE IF NOT EXISTS chunks (
        id INTEGER PRIMARY KEY, generation TEXT, document TEXT, place INTEGER, first INTEGER, last INTEGER, vector BLOB,
        UNIQUE (generation, place)
    );
    CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(content);
    CREATE VIRTUAL TABLE IF NOT EXISTS contexts USING fts5(content);
    CREATE TABLE IF NOT EXISTS served (generation TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS version (epoch INTEGER, commit_id TEXT);
"""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk as it is kept."""

    generation_id: str
    document_id: str
    chunk_index: int
    first_page: int
    last_page: int
    text: str
    embedding: Query
    context: str = ""


class SqliteIndex:
    """Chunks of any generation, and the generations that searches see."""

    def __init__(self, path: Path, kb_id: str) -> None:
        self._kb_id = kb_id
        self._database = sqlite3.connect(path)
        self._database.executescript(_TABLES)

    @property
    def version(self) -> Epoch | None:
        row = self._database.execute("SELECT epoch, commit_id FROM version").fetchone()
        return None if row is None else Epoch(kb_id=self._kb_id, epoch=row[0], commit_id=row[1])

    def add(self, chunks: Iterable[Chunk]) -> None:
        with self._database:
            for chunk in chunks:
                row = self._database.execute(
                    "INSERT OR REPLACE INTO chunks (generation, document, place, first, last, vector)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (
                        chunk.generation_id, chunk.document_id, chunk.chunk_index, chunk.first_page, chunk.last_page,
                        np.asarray(chunk.embedding, np.float32).tobytes(),
                    ),
                )  # fmt: skip
                self._database.execute(
                    "INSERT INTO terms (rowid, content) VALUES (?, ?)", (row.lastrowid, _terms_of(chunk.text))
                )
                self._database.execute(
                    "INSERT INTO contexts (rowid, content) VALUES (?, ?)", (row.lastrowid, _terms_of(chunk.context))
                )

    def remove(self, generation_ids: Iterable[str]) -> None:
        with self._database:
            for generation_id in generation_ids:
                for table in ("terms", "contexts"):
                    self._database.execute(
                        f"DELETE FROM {table} WHERE rowid IN (SELECT id FROM chunks WHERE generation = ?)",  # noqa: S608
                        (generation_id,),
                    )
                self._database.execute("DELETE FROM chunks WHERE generation = ?", (generation_id,))

    def clear(self) -> None:
        """Forget everything: the history is another one."""
        with self._database:
            for table in ("terms", "contexts", "chunks", "served", "version"):
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608

    def has(self, generation_id: str, chunk_index: int) -> bool:
        row = self._database.execute(
            "SELECT 1 FROM chunks WHERE generation = ? AND place = ?", (generation_id, chunk_index)
        )
        return row.fetchone() is not None

    def served_generations(self) -> set[str]:
        return {row[0] for row in self._database.execute("SELECT generation FROM served")}

    def serve(self, generation_ids: Iterable[str], version: Epoch) -> None:
        """Show these generations and no others, at this version."""
        with self._database:
            self._database.execute("DELETE FROM served")
            self._database.executemany("INSERT INTO served VALUES (?)", [(each,) for each in generation_ids])
            self._database.execute("DELETE FROM version")
            self._database.execute("INSERT INTO version VALUES (?, ?)", (version.epoch, version.commit_id))

    def chunks_of(self, served: Served, chunk_filter: ChunkFilter | None) -> list[tuple[str, str, int, bytes]]:
        rows = self._database.execute("SELECT generation, document, place, first, last, vector FROM chunks")
        return [
            (row[0], row[1], row[2], row[5])
            for row in rows
            if row[0] in served and _passes(chunk_filter, row[1], row[3], row[4], row[2])
        ]

    def nearest(self, query: Query, served: Served, chunk_filter: ChunkFilter | None) -> list[VectorHit]:
        rows = self.chunks_of(served, chunk_filter)
        if not rows:
            return []
        matrix = np.stack([np.frombuffer(row[3], np.float32) for row in rows])
        lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
        cosines = np.round((matrix @ query) / np.where(lengths == 0, 1.0, lengths), TIE_DECIMALS)
        hits = [
            VectorHit(row[0], row[1], row[2], min(1.0, max(0.0, (1 + float(cosine)) / 2)))
            for row, cosine in zip(rows, cosines, strict=True)
        ]
        return sorted(hits, key=lambda hit: (-hit.relevance, hit.document_id, hit.chunk_index))

    def matching(self, question: str, served: Served, chunk_filter: ChunkFilter | None) -> list[KeywordHit]:
        scores: dict[int, float] = {}
        for term in _terms_asked(question):
            for row_id, score in self._best_of_both(term).items():
                scores[row_id] = scores.get(row_id, 0.0) + score
        rows = self._database.execute("SELECT generation, document, place, first, last, id FROM chunks")
        hits = [
            KeywordHit(row[0], row[1], row[2], scores[row[5]])
            for row in rows
            if row[5] in scores and row[0] in served and _passes(chunk_filter, row[1], row[3], row[4], row[2])
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.document_id, hit.chunk_index))

    def _best_of_both(self, term: str) -> dict[int, float]:
        """Score the rows with a term in their text or context by the better of the two."""
        scores: dict[int, float] = {}
        for table in ("terms", "contexts"):
            query = f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ?"  # noqa: S608
            found = self._database.execute(query, (term,))
            for row_id, score in found:
                scores[row_id] = max(scores.get(row_id, 0.0), score)
        return scores

    def close(self) -> None:
        self._database.close()


def _passes(
    chunk_filter: ChunkFilter | None, document_id: str, first_page: int, last_page: int, chunk_index: int
) -> bool:
    return chunk_filter is None or contains(
        chunk_filter.selection, document_id, first_page, last_page, chunk_index=chunk_index
    )


def _terms_of(text: str) -> str:
    terms = chunk_terms(text)
    return " ".join(_encoded([*terms.words.split(), *terms.exact.split(), *terms.characters.split()]))


def _terms_asked(question: str) -> list[str]:
    asked = asked_terms(question, ())
    words = [stem for word in (*asked.words, *asked.joined) for stem in (*word.stems, word.exact or "")]
    terms = [
        *words,
        *(term for code in asked.codes for term in (*code.spellings, *code.numbers)),
        *asked.characters,
        *asked.stopped,
    ]
    return _encoded(list(dict.fromkeys(filter(None, terms)))[:MOST_TERMS])


def _encoded(terms: Sequence[str]) -> list[str]:
    """FTS5's tokenizer would take codes apart: a term becomes one word of letters and digits."""
    return [f"t{term.encode('utf-8', 'surrogatepass').hex()}" for term in terms]
