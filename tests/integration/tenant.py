"""One organization in a test: what its people and its workers do, in a word each."""

import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from analytiq.composition import Services
from analytiq.ingestion.knowledge_bases.service import NewKnowledgeBase
from analytiq.ingestion.upload.store import StagedFile, UploadResult
from analytiq.models.document import Document, ExternalIdentity
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.organization import CacheScope, Organization
from analytiq.models.tag import Tag
from analytiq.models.upload import DuplicatePolicy
from analytiq.retrieval.pipeline.request import SearchRequest, SearchResponse
from analytiq.storage.ids import new_id

REMOTE_MODEL = "openai/fake-embedding"
"""The model of `tests.fakes.embedding_server`: 64 dimensions, texts that share words are close."""
CHUNK_TOKENS = 16
_NUMBERS = itertools.count(1)
"""Of knowledge bases: no two of an organization have one name, whichever `Tenant` makes them."""


@dataclass(slots=True)
class Tenant:
    """An organization with one tag, seen through the services of one process."""

    services: Services
    organization: Organization
    tag: Tag

    @property
    def id(self) -> str:
        return self.organization.id

    def seen_by(self, services: Services) -> "Tenant":
        """The same organization in another process."""
        return Tenant(services, self.organization, self.tag)

    async def new_tag(self, name: str) -> Tag:
        return await self.services.ingestion.tags.create(self.id, name=name, color="#000000", description="")

    async def stage(self, name: str, content: str | bytes) -> StagedFile:
        return await self.services.ingestion.uploads.stage(
            self.id, document_name=name, content_type="text/plain", source=blocks(content)
        )

    async def upload(
        self,
        name: str,
        content: str | bytes,
        *,
        tags: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
        policy: DuplicatePolicy = DuplicatePolicy.RETURN,
        item: ExternalIdentity | None = None,
    ) -> UploadResult:
        """Upload a text file, by default with the tenant's tag; nothing is extracted yet."""
        staged = await self.stage(name, content)
        tag_ids = [self.tag.id] if tags is None else tags
        return await self.services.ingestion.uploads.commit(
            staged, tag_ids=tag_ids, metadata=metadata, policy=policy, external_identity=item
        )

    async def replace(self, name: str, content: str | bytes) -> UploadResult:
        staged = await self.stage(name, content)
        return await self.services.ingestion.uploads.commit(
            staged, tag_ids=None, metadata=None, policy=DuplicatePolicy.REPLACE
        )

    async def document(self, name: str, content: str, **options: Any) -> Document:
        """Upload a text file and run every job that follows."""
        result = await self.upload(name, content, **options)
        await self.drain()
        return await self.services.ingestion.documents.get(self.id, result.document.id)

    async def knowledge_base(self, **options: Any) -> KnowledgeBase:
        """Create a knowledge base of small chunks with the tenant's tag; nothing is indexed yet."""
        wanted: dict[str, Any] = {
            "name": f"KB {next(_NUMBERS)}",
            "description": "",
            "tag_ids": (self.tag.id,),
            "chunker_type": "token",
            "chunk_size": CHUNK_TOKENS,
            "chunk_overlap": 0,
            "embedding_model": REMOTE_MODEL,
            "coalesce_neighbors": 0,
            "context": False,
            **options,
        }
        return await self.services.ingestion.knowledge_bases.create(self.organization, NewKnowledgeBase(**wanted))

    async def drain(self) -> int:
        """Run the due jobs until none is left, and what follows them; returns how many ran."""
        count = await self.services.jobs.new_runner().run_until_idle()
        await self.services.ingestion.life_cycle.settle_noted()
        return count

    async def search(self, kb_id: str, query: str, **options: Any) -> SearchResponse:
        """Search; passages that repeat another are not left out, so that everything can be counted."""
        options.setdefault("deduplicate", False)
        request = SearchRequest(query, **options)
        return await self.services.retrieval.search.search(self.organization, kb_id, request)

    async def found(self, kb_id: str, query: str, **options: Any) -> list[str]:
        """The ids of the documents that a search shows, without repetitions, in order of id."""
        answer = await self.search(kb_id, query, **{"top_k": 100, **options})
        return sorted({result.document_id for result in answer.results})

    async def set_tags(self, document: Document, tag_ids: Sequence[str]) -> None:
        await self.services.ingestion.documents.change(self.id, document.id, tag_ids=tag_ids)


async def blocks(content: str | bytes, size: int = 65_536) -> AsyncIterator[bytes]:
    """Bytes as they come over a network."""
    encoded = content.encode() if isinstance(content, str) else content
    for start in range(0, len(encoded), size):
        yield encoded[start : start + size]


def prose(subject: str, sentences: int, *, first: int = 0) -> str:
    """A text of so many sentences, each unlike any other, about a subject of one token (whales, birds).

    A sentence is just a chunk of CHUNK_TOKENS where its number has at most three digits.
    """
    return "\n".join(
        f"Sentence number {number} tells of {subject} in the year {1000 + number} quite plainly."
        for number in range(first, first + sentences)
    )


async def new_tenant(services: Services) -> Tenant:
    """A fresh organization with one tag."""
    organization = await services.tenancy.organizations.create(f"Organization {new_id()}")
    # Shared, so that tests of several organizations see what one costs another; the default is tested by itself.
    organization = await services.tenancy.organizations.set_cache_scope(organization.id, CacheScope.GLOBAL)
    tag = await services.ingestion.tags.create(organization.id, name="reports", color="#123456", description="")
    return Tenant(services, organization, tag)
