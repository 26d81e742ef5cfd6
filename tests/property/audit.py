"""Reads every collection once all work is done, without the library, and finds whatever nothing needs."""

from collections import Counter
from typing import Any

from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.models.text import unstructured
from tests.property.model import Content, Pair
from tests.property.world import World

Rows = list[dict[str, Any]]


async def audit(world: World) -> None:
    """Require that the database holds what the model says, and nothing else."""
    stored = _Stored(world)
    await stored.read()
    _require_documents(world, stored)
    _require_knowledge_bases(world, stored)
    _require_pairs(world, stored)
    _require_charges(stored)
    if not world.crashes:
        # What a worker was about to write when it died is of no use to anybody, and expires.
        kept = {row["subject"]["document_id"] for row in stored.job_history} - {None}
        assert kept <= world.model.documents.keys(), f"history of deleted documents: {kept}"


async def require_pairs(world: World) -> None:
    """Require an index entry for each document that is to be found, and no other; search would hide others."""
    entries = world.connection.database["document_index"].find()
    found = {(entry["kb_id"], entry["document_id"]) async for entry in entries}
    assert found == _expected_pairs(world).keys()


def _expected_pairs(world: World) -> dict[Pair, Content]:
    return {
        (kb_id, document_id): content
        for kb_id in world.model.knowledge_bases
        for document_id, content in world.model.indexed(kb_id).items()
    }


class _Stored:
    """All rows, by collection."""

    def __init__(self, world: World) -> None:
        self._database = world.connection.database

    async def read(self) -> None:
        self.docs = await self._rows("docs")
        self.files = await self._rows("fs.files")
        self.file_chunks = await self._rows("fs.chunks")
        self.texts = await self._rows("document_texts")
        self.segments = await self._rows("document_text_segments")
        self.uploads = await self._rows("uploads")
        self.knowledge_bases = await self._rows("knowledge_bases")
        self.epochs = await self._rows("kb_epochs")
        self.kb_changes = await self._rows("kb_changes")
        self.entries = await self._rows("document_index")
        self.generations = await self._rows("generations")
        self.jobs = await self._rows("jobs")
        self.job_history = await self._rows("job_history")
        self.cache = await self._rows("embedding_cache")
        self.ledger = await self._rows("spu_ledger")
        names = await self._database.list_collection_names()
        collections = [name for name in names if name.startswith("kb_vectors_")]
        self.vectors = {name.removeprefix("kb_vectors_"): await self._rows(name) for name in collections}

    async def _rows(self, collection: str) -> Rows:
        return [row async for row in self._database[collection].find()]


def _ids(rows: Rows, field: str = "_id") -> set[str]:
    return {str(row[field]) for row in rows}


def _require_documents(world: World, stored: _Stored) -> None:
    documents = world.model.documents
    assert _ids(stored.docs) == documents.keys()
    for row in stored.docs:
        known = documents[str(row["_id"])]
        assert (row["organization_id"], row["document_name"]) == (known.organization_id, known.name)
        assert set(row["tag_ids"]) == set(known.tag_ids)
        assert row["metadata"] == known.metadata
        assert row["byte_size"] == len(known.content.text), f"{known} is not stored with its latest bytes"
        assert (row["state"], row["error"]) == ("extracted", None), f"{known} is {row['state']}: {row['error']}"
    assert _ids(stored.files) == _ids(stored.docs, "file_id")
    assert _ids(stored.file_chunks, "files_id") == _ids(stored.files)
    assert _ids(stored.texts) == _ids(stored.docs, "text_id")
    assert {row["state"] for row in stored.texts} <= {"current"}
    for row in stored.texts:
        assert row["text"].split() == documents[row["document_id"]].content.text.split()
    assert (stored.segments, stored.uploads, stored.jobs) == ([], [], [])


def _require_knowledge_bases(world: World, stored: _Stored) -> None:
    known = world.model.knowledge_bases
    assert _ids(stored.knowledge_bases) == known.keys()
    assert stored.vectors.keys() == known.keys(), "collections of vectors without a knowledge base"
    assert _ids(stored.epochs) == known.keys()
    assert _ids(stored.kb_changes, "kb_id") <= known.keys()
    epoch_of = {str(row["_id"]): row["epoch"] for row in stored.epochs}
    for row in stored.knowledge_bases:
        kb_id = str(row["_id"])
        entries = [entry for entry in stored.entries if entry["kb_id"] == kb_id]
        assert (row["name"], set(row["tag_ids"])) == (known[kb_id].name, set(known[kb_id].tag_ids))
        assert row["status"] == "active", f"{row['name']} is {row['status']}"
        counts = (len(entries), sum(entry["chunk_count"] for entry in entries))
        assert (row["document_count"], row["chunk_count"]) == counts, f"{row['name']} is counted wrongly"
        epochs = sorted(change["epoch"] for change in stored.kb_changes if change["kb_id"] == kb_id)
        assert epochs == list(range(1, epoch_of[kb_id] + 1))


def _require_pairs(world: World, stored: _Stored) -> None:
    expected = _expected_pairs(world)
    assert {(row["kb_id"], row["document_id"]) for row in stored.entries} == expected.keys()
    assert _ids(stored.generations) == _ids(stored.entries, "generation_id")
    assert {row["state"] for row in stored.generations} <= {"current"}
    text_hash_of = {str(row["_id"]): row["text_hash"] for row in stored.docs}
    chunker = create_chunker("token", chunk_size=12, chunk_overlap=0, embed_texts=lambda texts: _never(texts))
    for entry in stored.entries:
        chunks = chunker.chunk(unstructured(expected[entry["kb_id"], entry["document_id"]].text))
        vectors = [row for row in stored.vectors[entry["kb_id"]] if row["generation_id"] == entry["generation_id"]]
        assert sorted(row["chunk_index"] for row in vectors) == list(range(len(chunks)))
        assert {row["chunk_text"] for row in vectors} == {chunk.text for chunk in chunks}
        assert (entry["chunk_count"], entry["text_hash"]) == (len(chunks), text_hash_of[entry["document_id"]])
    rows = sum(len(vectors) for vectors in stored.vectors.values())
    assert rows == sum(entry["chunk_count"] for entry in stored.entries), "vectors that no index entry names"


def _never(texts: object) -> Any:
    raise AssertionError(f"no chunker of this test embeds, and {texts} was to be embedded")


def _require_charges(stored: _Stored) -> None:
    """For each payer, operation and model: SPUs = the cache rows that it first stored."""
    spus: Counter[tuple[str, str, str]] = Counter()
    for row in stored.ledger:
        spus[row["organization_id"], row["operation"], row["embedding_model"]] += row["spus"]
    kept = Counter((row["payer_organization_id"], row["operation"], row["embedding_model"]) for row in stored.cache)
    assert spus == kept
