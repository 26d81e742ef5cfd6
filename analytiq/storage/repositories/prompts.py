"""Collections `prompts` and `prompt_versions`."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from pymongo import IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError

from analytiq import clock
from analytiq.errors import ConflictError
from analytiq.models.prompt import Prompt, PromptConfiguration, PromptVersion
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "prompts": [
        IndexModel([("organization_id", 1), ("name", 1)], unique=True),
        IndexModel([("organization_id", 1), ("configuration.tag_ids", 1)]),
        IndexModel([("organization_id", 1), ("configuration.kb_id", 1)]),
    ],
    "prompt_versions": [
        IndexModel([("prompt_id", 1), ("version", 1)], unique=True),
        IndexModel([("organization_id", 1)]),
    ],
}


@dataclass(frozen=True, slots=True)
class PromptQuery:
    """The filters of a list of prompts; None does not filter."""

    name_search: str | None = None
    tag_id: str | None = None
    kb_id: str | None = None


class PromptRepository:
    """Prompts of an organization, with their versions."""

    def __init__(self, connection: MongoConnection) -> None:
        self._prompts = connection.database["prompts"]
        self._versions = connection.database["prompt_versions"]

    async def insert(self, session: Session, prompt: Prompt) -> None:
        """Store a new prompt with its first version; the caller has checked the name (`require_free_name`)."""
        await self._prompts.update_one(
            {"_id": object_id(prompt.id)}, {"$setOnInsert": _without_id(prompt)}, upsert=True, session=session
        )
        await self._add_version(session, prompt)

    async def require_free_name(
        self, session: Session, organization_id: str, name: str, *, but: str | None = None
    ) -> None:
        """Check that no other prompt has the name; the unique index decides between concurrent requests.

        Raises:
            ConflictError: another prompt has the name.
        """
        row: Row | None = await self._prompts.find_one(
            {"organization_id": organization_id, "name": name}, {"_id": 1}, session=session
        )
        if row is not None and str(row["_id"]) != but:
            raise _name_taken(name)

    async def get(self, organization_id: str, prompt_id: str, *, session: Session | None = None) -> Prompt | None:
        """Return the organization's prompt with this id."""
        ids = object_ids([prompt_id])
        if not ids:
            return None
        query = {"_id": ids[0], "organization_id": organization_id}
        row: Row | None = await self._prompts.find_one(query, session=session)
        return decode(Prompt, row) if row else None

    async def page(
        self, organization_id: str, query: PromptQuery, *, skip: int, limit: int
    ) -> tuple[list[Prompt], int]:
        """Return a page of prompts by name, and the total count of matches."""
        wanted: Row = {"organization_id": organization_id}
        if query.name_search:
            wanted["name"] = {"$regex": re.escape(query.name_search), "$options": "i"}
        if query.tag_id is not None:
            wanted["configuration.tag_ids"] = query.tag_id
        if query.kb_id is not None:
            wanted["configuration.kb_id"] = query.kb_id
        cursor = self._prompts.find(wanted).sort("name", 1).skip(skip).limit(limit)
        found = [decode(Prompt, row) async for row in cursor]
        return found, await self._prompts.count_documents(wanted)

    async def with_tags(self, organization_id: str, tag_ids: Collection[str]) -> list[Prompt]:
        """Return the prompts that run automatically on documents with one of the tags."""
        if not tag_ids:
            return []
        query = {"organization_id": organization_id, "configuration.tag_ids": {"$in": list(tag_ids)}}
        return [decode(Prompt, row) async for row in self._prompts.find(query)]

    async def using(
        self, session: Session, organization_id: str, *, tag_id: str | None = None, kb_id: str | None = None
    ) -> list[Prompt]:
        """Return the prompts whose latest version refers to the tag or the knowledge base, by name."""
        query: Row = {"organization_id": organization_id}
        if tag_id is not None:
            query["configuration.tag_ids"] = tag_id
        if kb_id is not None:
            query["configuration.kb_id"] = kb_id
        return [decode(Prompt, row) async for row in self._prompts.find(query, session=session).sort("name", 1)]

    async def add_version(self, session: Session, prompt: Prompt, configuration: PromptConfiguration) -> Prompt | None:
        """Store a further version as the latest; return None if `prompt` is no longer the stored state."""
        row: Row | None = await self._prompts.find_one_and_update(
            {
                "_id": object_id(prompt.id),
                "organization_id": prompt.organization_id,
                "version": prompt.version,
            },
            {
                "$set": {"configuration": configuration.model_dump(), "updated_at": clock.now()},
                "$inc": {"version": 1},
            },
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        if row is None:
            return None
        changed = decode(Prompt, row)
        await self._add_version(session, changed)
        return changed

    async def rename(self, session: Session, prompt: Prompt, name: str) -> Prompt | None:
        """Change the name, which is not versioned; return None if the prompt is gone.

        Raises:
            ConflictError: another prompt has the name.
        """
        try:
            row: Row | None = await self._prompts.find_one_and_update(
                {"_id": object_id(prompt.id), "organization_id": prompt.organization_id},
                {"$set": {"name": name, "updated_at": clock.now()}},
                return_document=ReturnDocument.AFTER,
                session=session,
            )
        except DuplicateKeyError as error:
            raise _name_taken(name) from error
        return decode(Prompt, row) if row else None

    async def delete(self, session: Session, organization_id: str, prompt_id: str) -> bool:
        """Remove the prompt's row; a job deletes its versions."""
        result = await self._prompts.delete_one(
            {"_id": object_id(prompt_id, what="prompt"), "organization_id": organization_id}, session=session
        )
        return result.deleted_count == 1

    async def version(self, organization_id: str, prompt_id: str, version: int) -> PromptVersion | None:
        """Return a version."""
        query = {"organization_id": organization_id, "prompt_id": prompt_id, "version": version}
        row: Row | None = await self._versions.find_one(query)
        return decode(PromptVersion, row) if row else None

    async def versions(
        self, organization_id: str, prompt_id: str, *, skip: int, limit: int
    ) -> tuple[list[PromptVersion], int]:
        """Return a page of the versions, latest first, and the total count."""
        query = {"organization_id": organization_id, "prompt_id": prompt_id}
        cursor = self._versions.find(query).sort("version", -1).skip(skip).limit(limit)
        return [decode(PromptVersion, row) async for row in cursor], await self._versions.count_documents(query)

    async def delete_versions(self, organization_id: str, prompt_id: str) -> None:
        """Remove the versions of a deleted prompt."""
        await self._versions.delete_many({"organization_id": organization_id, "prompt_id": prompt_id})

    async def _add_version(self, session: Session, prompt: Prompt) -> None:
        version = PromptVersion(
            id=new_id(),
            organization_id=prompt.organization_id,
            prompt_id=prompt.id,
            version=prompt.version,
            configuration=prompt.configuration,
            created_at=clock.now(),
        )
        # The prompt's row, just written, makes a rival conflict: the key cannot be taken.
        await self._versions.update_one(
            {"prompt_id": prompt.id, "version": prompt.version},
            {"$setOnInsert": _without(_without_id(version), "prompt_id", "version")},
            upsert=True,
            session=session,
        )


def _without_id(stored: Prompt | PromptVersion) -> Row:
    return _without(encode(stored), "_id")


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def _name_taken(name: str) -> ConflictError:
    return ConflictError(
        f"The organization already has a prompt named {name!r}. Choose another name, or change that prompt.",
        code="prompt_name_taken",
    )
