"""Tags: create, read, change, delete."""

from collections.abc import Mapping, Sequence
from typing import Any

from analytiq import clock
from analytiq.errors import ConflictError, FieldError, InvalidInputError, NotFoundError
from analytiq.ingestion.prompt_uses import OnUse, PromptUses
from analytiq.models.tag import Tag
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction


class Tags:
    """Tags of an organization."""

    def __init__(self, rows: Repositories) -> None:
        self._connection = rows.connection
        self._prompt_uses = PromptUses(rows)
        self._tags = rows.tags
        self._documents = rows.documents
        self._knowledge_bases = rows.knowledge_bases
        self._sources = rows.sources

    async def create(self, organization_id: str, *, name: str, color: str, description: str) -> Tag:
        """Create a tag.

        Raises:
            ConflictError: the name is taken.
        """
        now = clock.now()
        tag = Tag(
            id=new_id(),
            organization_id=organization_id,
            name=name,
            color=color,
            description=description,
            created_at=now,
            updated_at=now,
        )
        await self._tags.insert(tag)
        return tag

    async def get(self, organization_id: str, tag_id: str) -> Tag:
        """Return the tag with this id."""
        tag = await self._tags.get(organization_id, tag_id)
        if tag is None:
            raise _unknown(tag_id)
        return tag

    async def page(
        self, organization_id: str, *, skip: int, limit: int, name_search: str | None, descending: bool
    ) -> tuple[list[Tag], int]:
        """Return a page of tags by name, and the total count."""
        return await self._tags.page(
            organization_id, skip=skip, limit=limit, name_search=name_search, descending=descending
        )

    async def change(self, organization_id: str, tag_id: str, changes: Mapping[str, Any]) -> Tag:
        """Change name, color or description."""
        tag = await self._tags.update(organization_id, tag_id, dict(changes))
        if tag is None:
            raise _unknown(tag_id)
        return tag

    async def delete(self, organization_id: str, tag_id: str, *, on_use: OnUse = OnUse.REFUSE) -> None:
        """Delete an unused tag; `on_use` decides about prompts that run on it.

        Raises:
            ConflictError: documents, knowledge bases, sources or prompts have it; gives their number and names.
        """
        await self.get(organization_id, tag_id)
        documents = await self._documents.uses_of_tag(organization_id, tag_id)
        knowledge_bases = await self._knowledge_bases.uses_of_tag(organization_id, tag_id)
        if documents or knowledge_bases:
            named = ", ".join(repr(name) for name in knowledge_bases[:5])
            raise ConflictError(
                f"The tag is used by {documents} documents and {len(knowledge_bases)} knowledge"
                f" bases{f' ({named})' if named else ''}. Remove it from them first.",
                code="tag_in_use",
            )

        sources = await self._sources.names_with_tag(organization_id, tag_id)
        if sources:
            named = ", ".join(repr(name) for name in sources[:5])
            raise ConflictError(
                f"The tag is used by {len(sources)} sources ({named}). Remove it from them first.", code="tag_in_use"
            )

        async def commit(session: Session) -> None:
            await self._prompt_uses.release_tag(session, organization_id, tag_id, on_use)
            await self._tags.delete(session, organization_id, tag_id)

        await run_in_transaction(self._connection, commit)

    async def require(self, organization_id: str, tag_ids: Sequence[str], *, field: str = "tag_ids") -> list[str]:
        """Return the tag ids without repetitions, if all exist in the organization.

        Raises:
            InvalidInputError: names each missing one.
        """
        distinct = list(dict.fromkeys(tag_ids))
        known = {tag.id for tag in await self._tags.with_ids(organization_id, distinct)}
        unknown = [
            FieldError(f"{field}[{tag_ids.index(tag_id)}]", f"No tag has the id {tag_id!r}. List the tags to find it.")
            for tag_id in distinct
            if tag_id not in known
        ]
        if unknown:
            raise InvalidInputError(
                f"{len(unknown)} of the tags do not exist in this organization. Create them first, or use the ids"
                " in the list of tags.",
                errors=unknown,
                code="unknown_tag",
            )
        return distinct


def _unknown(tag_id: str) -> NotFoundError:
    return NotFoundError(f"No tag has the id {tag_id!r}. List the tags to find it.")
