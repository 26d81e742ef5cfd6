"""The least cost of keeping chunks of files up to date in MongoDB, in plain Python.

Everything that a product adds is missing: parsing, jobs, transactions, tenants, retries, metering, the check of
hits. It is a bound, not a rival: it shows the share of the processor time that the guarantees cost.

    per file   SHA-256, looked up in batches: unchanged files are done
    per chunk  SHA-256, looked up in batches: known texts are not embedded again
    writes     insert_many of chunks with BinData vectors, two indexes; the old chunks of a changed file go
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bson.binary import Binary
from pymongo import IndexModel, MongoClient, ReplaceOne

from benchmarks.corpus import TextFile
from benchmarks.hash_embedder import HashEmbedder

BATCH_FILES = 200
CHUNK_CHARACTERS = 1000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_FLOAT32_HEADER = b"\x27\x00"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Chunk:
    digest: str
    row: Row


class Floor:
    """A collection of files and one of chunks."""

    def __init__(self, client: MongoClient[Row], database: str, embedder: HashEmbedder) -> None:
        self._files = client[database]["files"]
        self._chunks = client[database]["chunks"]
        self._embedder = embedder
        self._chunks.create_indexes([IndexModel([("file", 1), ("position", 1)]), IndexModel([("sha256", 1)])])

    def ingest(self, files: Sequence[TextFile]) -> None:
        """Bring the chunks up to date with the files."""
        for start in range(0, len(files), BATCH_FILES):
            self._ingest_batch(files[start : start + BATCH_FILES])

    def stale_chunks(self, files: Sequence[TextFile]) -> int:
        """Count the chunks whose text is no longer that of their file."""
        current = {(file.name, chunk.digest) for file in files for chunk in _chunks(file.name, file.path.read_text())}
        return sum((row["file"], row["sha256"]) not in current for row in self._chunks.find({}, {"vector": 0}))

    def _ingest_batch(self, files: Sequence[TextFile]) -> None:
        contents = {file.name: file.path.read_bytes() for file in files}
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        known = {row["_id"]: row["sha256"] for row in self._files.find({"_id": {"$in": list(digests)}})}
        changed = [name for name, digest in digests.items() if known.get(name) != digest]
        if not changed:
            return
        chunks = [chunk for name in changed for chunk in _chunks(name, contents[name].decode())]
        self._embed(chunks)
        replaced = [name for name in changed if name in known]
        if replaced:
            self._chunks.delete_many({"file": {"$in": replaced}})
        self._chunks.insert_many([chunk.row for chunk in chunks], ordered=False)
        rows = [{"_id": name, "sha256": digests[name]} for name in changed]
        self._files.bulk_write([ReplaceOne({"_id": row["_id"]}, row, upsert=True) for row in rows], ordered=False)

    def _embed(self, chunks: Sequence[_Chunk]) -> None:
        wanted = {chunk.digest: chunk.row["text"] for chunk in chunks}
        query = {"sha256": {"$in": list(wanted)}}
        vectors: dict[str, Binary | bytes] = {
            row["sha256"]: row["vector"] for row in self._chunks.find(query, {"sha256": 1, "vector": 1})
        }
        missing = [digest for digest in wanted if digest not in vectors]
        for digest, vector in zip(missing, self._embedder.embed_now([wanted[item] for item in missing]), strict=True):
            vectors[digest] = Binary(_FLOAT32_HEADER + vector.tobytes(), 9)
        for chunk in chunks:
            chunk.row["vector"] = vectors[chunk.digest]


def _chunks(name: str, text: str) -> Iterator[_Chunk]:
    for position, part in enumerate(_packed(_SENTENCE_END.split(text))):
        digest = hashlib.sha256(part.encode()).hexdigest()
        yield _Chunk(digest, {"file": name, "position": position, "sha256": digest, "text": part})


def _packed(sentences: Sequence[str]) -> Iterator[str]:
    """Join sentences while they fit."""
    packed: list[str] = []
    length = 0
    for sentence in sentences:
        if packed and length + len(sentence) > CHUNK_CHARACTERS:
            yield " ".join(packed)
            packed, length = [], 0
        packed.append(sentence)
        length += len(sentence) + 1
    if packed:
        yield " ".join(packed)
