"""Prompts: create, read, change by adding a version, delete."""

from collections.abc import Mapping
from typing import Any

from analytiq import clock
from analytiq.assistants.prompts.requests import clean_prompt_request, prompt_changed
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError, StaleVersionError
from analytiq.inference.llm.service import ChatService
from analytiq.models.organization import Organization
from analytiq.models.prompt import Prompt, PromptConfiguration, PromptVersion
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.prompts import PromptQuery
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction


class Prompts:
    """Prompts of an organization."""

    def __init__(self, rows: Repositories, chat: ChatService) -> None:
        self._connection = rows.connection
        self._prompts = rows.prompts
        self._tags = rows.tags
        self._knowledge_bases = rows.knowledge_bases
        self._jobs = rows.jobs
        self._chat = chat

    async def create(
        self,
        organization: Organization,
        name: str,
        configuration: PromptConfiguration,
        *,
        runs_on_existing: bool = True,
        request_id: str | None = None,
    ) -> Prompt:
        """Create a prompt; jobs run it on the documents that have its tags.

        Args:
            organization: the prompt's organization.
            name: unique in the organization.
            configuration: its schema and filter are checked already; its tags, knowledge base and model are checked
                here.
            runs_on_existing: whether to run on existing documents too.
            request_id: the id of the caller's request.

        Raises:
            InvalidInputError: a tag, the knowledge base or the model is not the organization's.
            ConflictError: the name is taken.
        """
        await self._check(organization, configuration)
        now = clock.now()
        prompt = Prompt(
            id=new_id(),
            organization_id=organization.id,
            name=name,
            version=1,
            configuration=configuration,
            created_at=now,
            updated_at=now,
        )

        async def commit(session: Session) -> None:
            await self._hold_references(session, organization.id, configuration)
            await self._prompts.require_free_name(session, organization.id, name)
            await self._prompts.insert(session, prompt)
            if runs_on_existing and configuration.tag_ids:
                await self._jobs.enqueue(
                    [prompt_changed(organization.id, prompt.id)], request_id=request_id, session=session
                )

        await run_in_transaction(self._connection, commit)
        return prompt

    async def get(self, organization_id: str, prompt_id: str) -> Prompt:
        """Return the prompt in its latest version."""
        prompt = await self._prompts.get(organization_id, prompt_id)
        if prompt is None:
            raise unknown_prompt(prompt_id)
        return prompt

    async def version(self, organization_id: str, prompt_id: str, version: int | None) -> PromptVersion:
        """Return a version of a prompt; None for the latest."""
        prompt = await self.get(organization_id, prompt_id)
        found = await self._prompts.version(organization_id, prompt_id, version or prompt.version)
        if found is None:
            raise NotFoundError(f"The prompt has no version {version}. Its latest version is {prompt.version}.")
        return found

    async def page(
        self, organization_id: str, query: PromptQuery, *, skip: int, limit: int
    ) -> tuple[list[Prompt], int]:
        """Return a page of prompts by name, and the count of matches."""
        return await self._prompts.page(organization_id, query, skip=skip, limit=limit)

    async def versions(
        self, organization_id: str, prompt_id: str, *, skip: int, limit: int
    ) -> tuple[list[PromptVersion], int]:
        """Return a page of a prompt's versions, latest first, and their count."""
        await self.get(organization_id, prompt_id)
        return await self._prompts.versions(organization_id, prompt_id, skip=skip, limit=limit)

    async def change(
        self,
        organization: Organization,
        prompt_id: str,
        *,
        name: str | None = None,
        changes: Mapping[str, Any],
        runs_on_existing: bool = True,
        expected_version: int | None = None,
        request_id: str | None = None,
    ) -> Prompt:
        """Rename a prompt, or add a version with the changed fields; earlier versions stay.

        A change without effect adds no version.

        Raises:
            InvalidInputError: a tag, the knowledge base or the model is not the organization's.
            ConflictError: the name is taken, or the prompt was changed concurrently.
            StaleVersionError: the prompt has another version than `expected_version`.
        """
        prompt = await self.get(organization.id, prompt_id)
        if expected_version is not None and prompt.version != expected_version:
            raise StaleVersionError(
                f"The prompt {prompt.name!r} was changed meanwhile: it has version {prompt.version}, and the"
                f" change was made from version {expected_version}. Reload the prompt, then change it again."
            )
        wanted = PromptConfiguration.model_validate({**prompt.configuration.model_dump(), **changes})
        is_changed = wanted != prompt.configuration
        if is_changed:
            await self._check(organization, wanted)

        async def commit(session: Session) -> Prompt:
            changed: Prompt | None = prompt
            if is_changed:
                await self._hold_references(session, organization.id, wanted)
                changed = await self._prompts.add_version(session, prompt, wanted)
                if changed is None:
                    raise ConflictError(
                        f"The prompt {prompt_id!r} was changed meanwhile. Reload it, then change it again."
                    )
            if name is not None and name != prompt.name:
                await self._prompts.require_free_name(session, organization.id, name, but=prompt_id)
                changed = await self._prompts.rename(session, prompt, name)
                if changed is None:
                    raise unknown_prompt(prompt_id)
            if is_changed and runs_on_existing and wanted.tag_ids:
                await self._jobs.enqueue(
                    [prompt_changed(organization.id, prompt_id)], request_id=request_id, session=session
                )
            return changed

        return await run_in_transaction(self._connection, commit)

    async def delete(self, organization_id: str, prompt_id: str, *, request_id: str | None = None) -> None:
        """Delete a prompt: its runs end now; its versions, runs and results are removed within seconds."""

        async def commit(session: Session) -> None:
            if not await self._prompts.delete(session, organization_id, prompt_id):
                raise unknown_prompt(prompt_id)
            await self._jobs.enqueue(
                [clean_prompt_request(organization_id, prompt_id)], request_id=request_id, session=session
            )

        await run_in_transaction(self._connection, commit)

    async def _check(self, organization: Organization, configuration: PromptConfiguration) -> None:
        if configuration.metadata_filter is not None and configuration.kb_id is None:
            raise InvalidInputError.of_field(
                "metadata_filter",
                "A filter narrows searches in a knowledge base, and the prompt has none. Name `kb_id`.",
            )
        if configuration.kb_id is not None:
            found = await self._knowledge_bases.get(organization.id, configuration.kb_id)
            if found is None:
                raise _no_such_knowledge_base(configuration.kb_id)
        if configuration.model is not None:
            await self._chat.choose(organization, configuration.model)

    async def _hold_references(
        self, session: Session, organization_id: str, configuration: PromptConfiguration
    ) -> None:
        """Touch the referenced rows, so that a concurrent deletion of one restarts and finds this prompt."""
        if configuration.tag_ids and not await self._tags.hold(session, organization_id, configuration.tag_ids):
            raise InvalidInputError.of_field(
                "tag_ids",
                "One of the tags does not exist in this organization. List the tags, and name existing ones.",
                code="unknown_tag",
            )
        if configuration.kb_id is not None and not await self._knowledge_bases.hold(
            session, organization_id, configuration.kb_id
        ):
            raise _no_such_knowledge_base(configuration.kb_id)


def unknown_prompt(prompt_id: str) -> NotFoundError:
    """Return the error for an unknown prompt."""
    return NotFoundError(f"No prompt has the id {prompt_id!r}. List the prompts to find it.")


def _no_such_knowledge_base(kb_id: str) -> InvalidInputError:
    return InvalidInputError.of_field(
        "kb_id",
        f"No knowledge base of this organization has the id {kb_id!r}. List the knowledge bases to find it.",
        code="unknown_knowledge_base",
    )
