"""Rows of an exceptionally large organization, written directly into the database."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle, islice
from typing import Any

from bson import ObjectId
from pymongo.database import Database

from analytiq import clock
from analytiq.inference.embedding.providers.local import LOCAL_DIMENSIONS, LOCAL_MODEL
from analytiq.ingestion.documents.naming import identity_of
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.rows import decode

Row = dict[str, Any]

SUBJECTS = ("invoice", "agreement", "note", "manual", "report", "letter", "offer", "scan", "contract", "résumé")
PLACES = ("Zürich", "Lyon", "Austin", "Osaka", "Porto", "Leeds", "Graz", "Turku", "Bergen", "Quito")
TYPES = (
    ("pdf", "application/pdf"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
)
COLOURS = ("#2D5BD0", "#D2764A", "#003E2A", "#934F71", "#5E6571")
STATES = ("extracted",) * 970 + ("failed",) * 20 + ("uploaded",) * 5 + ("extracting",) * 5
DEAD_JOBS = 2_000
DAYS = 60
ROWS_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Seeded:
    """The created content: a tag that many documents have."""

    tag_id: str
    kb_id: str
    document_id: str


def seed(database: Database[Row], organization_id: str, *, documents: int, knowledge_bases: int) -> Seeded:
    """Fill an empty organization: the same rows at every run, except for ids and times."""
    chance = random.Random(7)
    now = clock.now()
    tags = _tags(organization_id, max(50, knowledge_bases // 2), now)
    bases = _knowledge_bases(organization_id, knowledge_bases, tags, now, chance)
    bases_of: dict[str, list[str]] = {}
    for base in bases:
        bases_of.setdefault(base["tag_ids"][0], []).append(str(base["_id"]))
    counts: dict[str, list[int]] = {str(base["_id"]): [0, 0] for base in bases}
    configuration_hash = decode(KnowledgeBase, bases[0]).configuration_hash
    _insert(database, "tags", iter(tags))
    some_failed: list[Row] = []
    for batch in _batches(_documents(organization_id, documents, tags, now, chance)):
        database["docs"].insert_many(batch, ordered=False)
        some_failed += [row for row in batch if row["state"] == "extracted"][: DEAD_JOBS - len(some_failed)]
        entries = list(_entries(organization_id, batch, bases_of, counts, configuration_hash, now))
        if entries:
            database["document_index"].insert_many(entries, ordered=False)
    for base in bases:
        base["document_count"], base["chunk_count"] = counts[str(base["_id"])]
    _insert(database, "knowledge_bases", iter(bases))
    _insert(database, "kb_epochs", ({"_id": base["_id"], "epoch": 1, "commit_id": new_id()} for base in bases))
    kb_ids = [str(base["_id"]) for base in bases]
    _insert(database, "jobs", _dead_jobs(organization_id, some_failed, kb_ids, now))
    _insert(database, "spu_ledger", _charges(organization_id, kb_ids, now, chance))
    document = database["docs"].find_one({"organization_id": organization_id, "state": "extracted"}) or {}
    return Seeded(str(tags[0]["_id"]), kb_ids[0], str(document["_id"]))


def seeded(database: Database[Row], organization_id: str) -> Seeded:
    """Return the content of an earlier run."""
    own = {"organization_id": organization_id}
    tag, base, document = (database[name].find_one(own) or {} for name in ("tags", "knowledge_bases", "docs"))
    return Seeded(str(tag["_id"]), str(base["_id"]), str(document["_id"]))


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        yield batch


def _insert(database: Database[Row], name: str, rows: Iterator[Row]) -> None:
    for batch in _batches(rows):
        database[name].insert_many(batch, ordered=False)


def _tags(organization_id: str, count: int, now: datetime) -> list[Row]:
    colours = cycle(COLOURS)
    return [
        {
            "_id": ObjectId(), "organization_id": organization_id, "name": f"{SUBJECTS[number % 10]}s {number:04}",
            "color": next(colours), "description": "", "created_at": now, "updated_at": now,
        }
        for number in range(count)
    ]  # fmt: skip


def _knowledge_bases(
    organization_id: str, count: int, tags: list[Row], now: datetime, chance: random.Random
) -> list[Row]:
    return [
        {
            "_id": ObjectId(), "organization_id": organization_id, "name": f"{chance.choice(PLACES)} {number:04}",
            "description": "", "tag_ids": [str(tags[number % len(tags)]["_id"])], "chunker_type": "recursive",
            "chunk_size": 512, "chunk_overlap": 128, "embedding_model": LOCAL_MODEL,
            "embedding_dimensions": LOCAL_DIMENSIONS, "coalesce_neighbors": 0, "status": "active",
            "vectors_uuid": new_id(), "vector_store": "local", "first_membership_at": now, "last_indexed_at": now,
            "counted_epoch": 1,
            "created_at": now - timedelta(minutes=number), "updated_at": now,
        }
        for number in range(count)
    ]  # fmt: skip


def _documents(
    organization_id: str, count: int, tags: list[Row], now: datetime, chance: random.Random
) -> Iterator[Row]:
    for number in range(count):
        suffix, content_type = TYPES[number % len(TYPES)]
        name = f"{SUBJECTS[number % 10]} {chance.choice(PLACES)} {number:06}.{suffix}"
        sha256, state = f"{number:064x}", STATES[chance.randrange(len(STATES))]
        # Few tags have many documents, most have few: a power law, as usual.
        chosen = {int(len(tags) * chance.random() ** 3) for _ in range(chance.randint(1, 3))}
        at = now - timedelta(seconds=30 * number)
        is_read = state == "extracted"
        failure = {"code": "encrypted_file", "detail": "The file opens only with a password.", "at": at}
        yield {
            "_id": ObjectId(), "organization_id": organization_id, "document_name": name,
            "identity": identity_of(name, sha256), "sha256": sha256, "byte_size": chance.randint(2_000, 9_000_000),
            "content_type": content_type, "file_id": new_id(), "state": state,
            "error": failure if state == "failed" else None, "warnings": [],
            "tag_ids": [str(tags[at_]["_id"]) for at_ in sorted(chosen)],
            "metadata": {"year": 2000 + number % 26, "customer": f"customer {number % 400}"},
            "text_id": new_id() if is_read else None, "text_hash": sha256 if is_read else None,
            "page_count": chance.randint(1, 80) if is_read else None,
            "character_count": chance.randint(900, 200_000) if is_read else None,
            "rev": 1, "created_at": at, "updated_at": at,
        }  # fmt: skip


def _entries(
    organization_id: str,
    documents: list[Row],
    bases_of: dict[str, list[str]],
    counts: dict[str, list[int]],
    configuration_hash: str,
    now: datetime,
) -> Iterator[Row]:
    for document in documents:
        if document["state"] != "extracted":
            continue
        chunks = document["page_count"] * 3
        for kb_id in {kb_id for tag_id in document["tag_ids"] for kb_id in bases_of.get(tag_id, ())}:
            counts[kb_id][0] += 1
            counts[kb_id][1] += chunks
            yield {
                "_id": ObjectId(), "organization_id": organization_id, "kb_id": kb_id,
                "document_id": str(document["_id"]), "generation_id": new_id(), "text_hash": document["text_hash"],
                "configuration_hash": configuration_hash, "chunk_count": chunks, "indexed_at": now,
            }  # fmt: skip


def _dead_jobs(organization_id: str, documents: list[Row], kb_ids: list[str], now: datetime) -> Iterator[Row]:
    error = {"code": "provider_refused", "detail": "The provider refuses the key.", "at": now}
    for number, document in enumerate(documents):
        kb_id, document_id = kb_ids[number % len(kb_ids)], str(document["_id"])
        yield {
            "_id": f"sync:{kb_id}:{document_id}", "kind": "sync", "organization_id": organization_id,
            "lane": f"{organization_id}:{kb_id}:sync", "subject": {"kb_id": kb_id, "document_id": document_id},
            "state": "dead", "priority": 0, "run_at": now, "wanted": 1, "served": 1, "attempt": 12, "deaths": 0,
            "error": error, "created_at": now, "updated_at": now - timedelta(seconds=number),
        }  # fmt: skip


def _charges(organization_id: str, kb_ids: list[str], now: datetime, chance: random.Random) -> Iterator[Row]:
    for kb_id in kb_ids:
        for day in range(0, DAYS, 2):
            yield {
                "_id": ObjectId(), "organization_id": organization_id, "kb_id": kb_id, "operation": "index",
                "embedding_model": LOCAL_MODEL, "spus": chance.randint(1, 900), "unconfirmed_spus": 0,
                "charged_at": now - timedelta(days=day),
            }  # fmt: skip
