"""Collections `document_texts` (one head a text) and `document_text_segments`.

A text may exceed a BSON document (16 MB), so it is stored in segments. A short text is stored in
its head, which also has the offsets of pages.
Like vectors, a text is staged under a fresh id, and becomes current once the document points at it.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from pymongo import IndexModel

from analytiq import clock
from analytiq.errors import TransientError
from analytiq.models.blocks import Block
from analytiq.models.text import DocumentText, PageSpan, TextSource
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id, object_ids
from analytiq.storage.repositories.rows import Row
from analytiq.storage.repositories.stored_blocks import blocks_digest, packed_blocks, unpacked_blocks
from analytiq.storage.repositories.stored_flaws import flaws_digest, packed_flaws, unpacked_flaws
from analytiq.storage.session import Session

SEGMENT_CHARACTERS = 1_000_000
"""At most 4 MB of UTF-8, well under the limit of a document and of a message."""

HEAD_CHARACTERS = 100_000
"""Longest text stored in the head: one command instead of two, to write it and to read it."""

INDEXES = {
    "document_texts": [
        IndexModel([("document_id", 1), ("state", 1)]),
        IndexModel([("state", 1), ("created_at", 1)]),
        IndexModel([("organization_id", 1)]),
    ],
    "document_text_segments": [
        IndexModel([("text_id", 1), ("segment_index", 1)], unique=True),
        IndexModel([("document_id", 1)]),
        IndexModel([("organization_id", 1)]),
    ],
}


@dataclass(frozen=True, slots=True)
class StagedText:
    """A text without readers yet, with its owner."""

    organization_id: str
    document_id: str
    text_id: str


class WholeText(NamedTuple):
    """The owner of a complete text, and the number of its segments."""

    document_id: str
    segment_count: int


class TextRepository:
    """Extracted texts."""

    def __init__(self, connection: MongoConnection) -> None:
        self._heads = connection.database["document_texts"]
        self._segments = connection.database["document_text_segments"]

    async def stage(self, organization_id: str, document_id: str, text: DocumentText) -> tuple[str, str]:
        """Write a text without readers yet; return (text id, text hash)."""
        text_id = new_id()
        segments = _segments(text.text)
        await self._heads.insert_one(
            _head(organization_id, document_id, text_id, text, segment_count=len(segments), state="staging")
        )
        for index, segment in enumerate(segments):
            await self._segments.insert_one(
                {
                    "organization_id": organization_id,
                    "document_id": document_id,
                    "text_id": text_id,
                    "segment_index": index,
                    "start": index * SEGMENT_CHARACTERS,
                    "text": segment,
                }
            )
        return text_id, text_hash(text)

    async def insert_current(
        self, session: Session, organization_id: str, texts: Mapping[str, tuple[str, DocumentText]]
    ) -> None:
        """Insert texts of at most HEAD_CHARACTERS as current ones, in one command.

        `texts`: by document id, each with its text id, which is new. In the transaction that points the documents at
        them: a crash leaves nothing behind.
        """
        rows = [
            _head(organization_id, document_id, text_id, text, segment_count=0, state="current")
            for document_id, (text_id, text) in texts.items()
        ]
        await self._heads.insert_many(rows, ordered=False, session=session)

    async def serve(self, session: Session, text_id: str, *, instead_of: str | None) -> None:
        """Mark a staged text as current, and the former one as superseded.

        Raises:
            TransientError: the text is gone: a worker that unknowingly lost its lease removed it as a leftover of an
                earlier attempt. Nothing may point at it.
        """
        served = await self._heads.update_one(
            {"_id": object_id(text_id), "state": "staging"}, {"$set": {"state": "current"}}, session=session
        )
        if not served.matched_count:
            raise TransientError("Another attempt removed the extracted text. The text is extracted again.")
        if instead_of is not None:
            await self._heads.update_one(
                {"_id": object_id(instead_of)}, {"$set": {"state": "superseded"}}, session=session
            )

    async def pages(self, organization_id: str, text_id: str) -> tuple[PageSpan, ...]:
        """Return the offsets of each page.

        Raises:
            TransientError: the text was replaced meanwhile; read the document again.
        """
        head: Row | None = await self._heads.find_one(
            {"_id": object_id(text_id), "organization_id": organization_id}, {"pages": 1}
        )
        if head is None:
            raise _replaced()
        return tuple(_span(page) for page in head["pages"])

    async def structure(
        self, organization_id: str, text_id: str
    ) -> tuple[str, tuple[PageSpan, ...], tuple[Block, ...]]:
        """Return the title, the offsets of each page, and the blocks, without the text.

        Raises:
            TransientError: the text was replaced meanwhile; read the document again.
        """
        head: Row | None = await self._heads.find_one(
            {"_id": object_id(text_id), "organization_id": organization_id}, {"title": 1, "pages": 1, "blocks": 1}
        )
        if head is None:
            raise _replaced()
        blocks = await asyncio.to_thread(unpacked_blocks, head.get("blocks"))
        return str(head.get("title", "")), tuple(_span(page) for page in head["pages"]), blocks

    async def read(self, organization_id: str, text_id: str) -> DocumentText:
        """Return the whole text.

        Raises:
            TransientError: the text was replaced meanwhile; read the document again.
        """
        head: Row | None = await self._heads.find_one({"_id": object_id(text_id), "organization_id": organization_id})
        if head is None:
            raise _replaced()
        return await self._document_text(organization_id, head, int(head["character_count"]))

    async def read_short(self, organization_id: str, text_ids: Collection[str]) -> dict[str, DocumentText]:
        """Return those of the texts that are stored in one piece, by id; in one command."""
        query: Row = {"_id": {"$in": object_ids(set(text_ids))}, "organization_id": organization_id}
        heads: list[Row] = await self._heads.find({**query, "text": {"$type": "string"}}).to_list()
        return {
            str(head["_id"]): await self._document_text(organization_id, head, int(head["character_count"]))
            for head in heads
        }

    async def read_beginning(self, organization_id: str, text_id: str, length: int) -> DocumentText:
        """Return the first `length` characters, their pages and blocks, reading only the segments in the range.

        Raises:
            TransientError: the text was replaced meanwhile; read the document again.
        """
        head: Row | None = await self._heads.find_one({"_id": object_id(text_id), "organization_id": organization_id})
        if head is None:
            raise _replaced()
        length = min(length, int(head["character_count"]))
        return (await self._document_text(organization_id, head, length)).beginning(length)

    async def _document_text(self, organization_id: str, head: Row, length: int) -> DocumentText:
        """Return all of a text but, if it is segmented, its characters after the first `length`."""
        text: str | None = head.get("text")
        if text is None and length:
            text = await self._read_segments(organization_id, str(head["_id"]), 0, length)
        pages = tuple(_span(page) for page in head["pages"])
        blocks, flaws = unpacked_blocks(head.get("blocks")), unpacked_flaws(head.get("flaws"))
        return DocumentText(text or "", pages, blocks, str(head.get("title", "")), flaws)

    async def read_range(self, organization_id: str, text_id: str, start: int, end: int) -> str:
        """Return `text[start:end]`, reading only the segments in the range.

        Raises:
            TransientError: the text was replaced meanwhile; read the document again.
        """
        if end <= start:
            return ""
        head: Row | None = await self._heads.find_one(
            {"_id": object_id(text_id), "organization_id": organization_id}, {"text": 1}
        )
        if head is None:
            raise _replaced()
        if head.get("text") is not None:
            return str(head["text"])[start:end]
        return await self._read_segments(organization_id, text_id, start, end)

    async def stream(self, organization_id: str, text_id: str) -> AsyncIterator[str]:
        """Yield the whole text in pieces, exactly as stored, in the memory of one segment.

        Raises:
            TransientError: the text was replaced meanwhile, even halfway; read the document again.
        """
        head: Row | None = await self._heads.find_one(
            {"_id": object_id(text_id), "organization_id": organization_id}, {"text": 1, "segment_count": 1}
        )
        if head is None:
            raise _replaced()
        return self._pieces(organization_id, text_id, head)

    async def _pieces(self, organization_id: str, text_id: str, head: Row) -> AsyncIterator[str]:
        if head.get("text") is not None:
            yield str(head["text"])
            return
        for index in range(int(head["segment_count"])):
            row: Row | None = await self._segments.find_one(
                {"text_id": text_id, "organization_id": organization_id, "segment_index": index}, {"text": 1}
            )
            if row is None:
                raise _replaced()
            yield str(row["text"])

    async def _read_segments(self, organization_id: str, text_id: str, start: int, end: int) -> str:
        """Return `text[start:end]`, not empty, of a segmented text."""
        first, last = start // SEGMENT_CHARACTERS, (end - 1) // SEGMENT_CHARACTERS
        cursor = self._segments.find(
            {
                "text_id": text_id,
                "organization_id": organization_id,
                "segment_index": {"$gte": first, "$lte": last},
            },
            {"text": 1},
        ).sort("segment_index", 1)
        parts = [str(row["text"]) async for row in cursor]
        if len(parts) != last - first + 1:
            raise _replaced()
        offset = first * SEGMENT_CHARACTERS
        return "".join(parts)[start - offset : end - offset]

    async def delete(self, organization_id: str, document_id: str, text_id: str) -> None:
        """Remove one text, for example one whose commit failed."""
        owner = {"organization_id": organization_id, "document_id": document_id}
        await self._segments.delete_many({**owner, "text_id": text_id})
        await self._heads.delete_one({**owner, "_id": object_id(text_id)})

    async def delete_unless_served(self, organization_id: str, document_id: str, text_id: str) -> None:
        """Remove a staged text whose commit seemed to fail, unless it became current after all."""
        head: Row | None = await self._heads.find_one({"_id": object_id(text_id)}, {"state": 1})
        if head is not None and head["state"] == "staging":
            await self.delete(organization_id, document_id, text_id)

    async def delete_superseded(self, organization_id: str, document_id: str) -> int:
        """Remove superseded texts; return their number."""
        return await self._delete_in_state(organization_id, document_id, "superseded")

    async def delete_staged(self, organization_id: str, document_id: str) -> int:
        """Remove texts staged by earlier attempts that never became current; return their number.

        For the attempt with the document's lease: an attempt that has lost it can no longer make its text current.
        """
        return await self._delete_in_state(organization_id, document_id, "staging")

    async def staged_before(
        self, moment: datetime, *, limit: int, organization_id: str | None = None
    ) -> list[StagedText]:
        """Return staged texts older than `moment` that never became current, of any organization or of one."""
        query: Row = {"state": "staging", "created_at": {"$lt": moment}}
        if organization_id is not None:
            query["organization_id"] = organization_id
        cursor = self._heads.find(query, {"organization_id": 1, "document_id": 1}).limit(limit)
        return [StagedText(row["organization_id"], row["document_id"], str(row["_id"])) async for row in cursor]

    async def served_after(self, *, after: str, until: datetime, limit: int) -> list[StagedText]:
        """Return the next texts behind a text id, current or superseded, older than `until`; of any organization."""
        query: Row = {"state": {"$ne": "staging"}, "created_at": {"$lt": until}}
        if after:
            query["_id"] = {"$gt": object_id(after)}
        cursor = self._heads.find(query, {"organization_id": 1, "document_id": 1}).sort("_id", 1).limit(limit)
        return [StagedText(row["organization_id"], row["document_id"], str(row["_id"])) async for row in cursor]

    async def segmented_after(self, *, after: str, limit: int) -> list[StagedText]:
        """Return the next texts behind a text id that have segments, by a loose scan of their index."""
        cursor = await self._segments.aggregate(
            [
                {"$match": {"text_id": {"$gt": after}}},
                {"$sort": {"text_id": 1, "segment_index": 1}},
                {
                    "$group": {
                        "_id": "$text_id",
                        "organization_id": {"$first": "$organization_id"},
                        "document_id": {"$first": "$document_id"},
                    }
                },
                {"$sort": {"_id": 1}},
                {"$limit": limit},
            ]
        )
        return [StagedText(row["organization_id"], row["document_id"], str(row["_id"])) async for row in cursor]

    async def heads_among(self, text_ids: Collection[str]) -> set[str]:
        """Return the texts that have a head."""
        cursor = self._heads.find({"_id": {"$in": object_ids(set(text_ids))}}, {"_id": 1})
        return {str(row["_id"]) async for row in cursor}

    async def whole_among(self, text_ids: Collection[str]) -> dict[str, WholeText]:
        """Return the texts that have all of their segments, by id."""
        ids = object_ids(set(text_ids))
        cursor = self._heads.find(
            {"_id": {"$in": ids}}, {"segment_count": 1, "document_id": 1}, batch_size=len(ids) + 1
        )
        heads = {
            str(row["_id"]): WholeText(str(row.get("document_id", "")), int(row["segment_count"]))
            for row in await cursor.to_list()
        }
        segmented = [text_id for text_id, head in heads.items() if head.segment_count]
        there: dict[str, int] = {}
        if segmented:
            counting = await self._segments.aggregate(
                [{"$match": {"text_id": {"$in": segmented}}}, {"$group": {"_id": "$text_id", "count": {"$sum": 1}}}],
                batchSize=len(segmented) + 1,
            )
            there = {row["_id"]: row["count"] for row in await counting.to_list()}
        return {text_id: head for text_id, head in heads.items() if there.get(text_id, 0) == head.segment_count}

    async def count(self) -> tuple[int, int]:
        """Count texts in any state, and segments, by their indexes; of all organizations."""
        texts = await self._heads.count_documents({}, hint="_id_")
        return texts, await self._segments.count_documents({}, hint="_id_")

    async def _delete_in_state(self, organization_id: str, document_id: str, state: str) -> int:
        cursor = self._heads.find(
            {"organization_id": organization_id, "document_id": document_id, "state": state}, {"_id": 1}
        )
        ids = [str(row["_id"]) async for row in cursor]
        for text_id in ids:
            await self.delete(organization_id, document_id, text_id)
        return len(ids)

    async def delete_all(self, organization_id: str, document_id: str) -> None:
        """Remove every text of a document that is gone."""
        owner = {"organization_id": organization_id, "document_id": document_id}
        await self._segments.delete_many(owner)
        await self._heads.delete_many(owner)


def _segments(text: str) -> list[str]:
    if len(text) <= HEAD_CHARACTERS:
        return []
    return [text[start : start + SEGMENT_CHARACTERS] for start in range(0, len(text), SEGMENT_CHARACTERS)]


def text_hash(text: DocumentText) -> str:
    """Return the SHA-256 of everything that shapes chunks: the text, its title, its pages, its blocks and its flaws."""
    digest = hashlib.sha256(text.text.encode("utf-8", "surrogatepass"))
    for page in text.pages:
        digest.update(f"|{page.page_number},{page.start},{page.end}".encode())
        digest.update(page.name.encode("utf-8", "surrogatepass"))
    digest.update(text.title.encode("utf-8", "surrogatepass"))
    digest.update(blocks_digest(text.blocks))
    digest.update(flaws_digest(text.flaws))
    return digest.hexdigest()


def _head(
    organization_id: str, document_id: str, text_id: str, text: DocumentText, *, segment_count: int, state: str
) -> Row:
    return {
        "_id": object_id(text_id),
        "organization_id": organization_id,
        "document_id": document_id,
        "state": state,
        "character_count": len(text.text),
        "segment_count": segment_count,
        "text": None if segment_count else text.text,
        "title": text.title,
        "pages": [[page.page_number, page.start, page.end, page.source.value, page.name] for page in text.pages],
        "blocks": packed_blocks(text.blocks),
        "flaws": packed_flaws(text.flaws),
        "created_at": clock.now(),
    }


def _span(page: list[Any]) -> PageSpan:
    # Releases before 1.0 stored no names of pages.
    name = str(page[4]) if len(page) > 4 else ""
    return PageSpan(int(page[0]), int(page[1]), int(page[2]), TextSource(page[3]), name)


def _replaced() -> TransientError:
    return TransientError("The document's text was replaced during the reading. Read it again.", retry_after=0.1)
