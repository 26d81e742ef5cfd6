"""`/knowledge-bases`: knowledge bases, their documents and chunks, and searches in one of them."""

from typing import Annotated

from fastapi import APIRouter, Query

from analytiq.composition import Services
from analytiq.ingestion.prompt_uses import OnUse
from analytiq.models.knowledge_base import KnowledgeBase
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, NameSearch, OnPromptUse, RequestId, Searcher, ServicesOf, Skip
from api.schemas.jobs import SubjectId
from api.schemas.knowledge_bases import (
    ChunkList,
    ChunkResponse,
    IndexedDocumentList,
    IndexedDocumentResponse,
    KnowledgeBaseCreate,
    KnowledgeBaseDeleted,
    KnowledgeBaseList,
    KnowledgeBaseMove,
    KnowledgeBaseResponse,
    KnowledgeBaseUpdate,
    ListedKnowledgeBaseResponse,
    MadeKnowledgeBaseResponse,
)
from api.schemas.search import ExplainBody, ExplanationResponse, SearchAnswer, SearchBody

router = APIRouter(prefix="/knowledge-bases", tags=["knowledge bases"], route_class=ApiRoute)


@router.post("", status_code=201, operation_id="create_knowledge_base")
async def create_knowledge_base(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    body: KnowledgeBaseCreate,
) -> MadeKnowledgeBaseResponse:
    """Create a knowledge base. Jobs index all documents with one of its tags.

    `texts_go_to` names the embedding provider.
    """
    tag_ids = await services.ingestion.tags.require(organization.id, body.tag_ids)
    created = await services.ingestion.knowledge_bases.create(organization, body.wanted(tag_ids), request_id=request_id)
    destination = await services.inference.destinations.of(organization.id, created.embedding_model)
    (standing,) = await services.ingestion.knowledge_bases.standings_of(organization.id, [created])
    return MadeKnowledgeBaseResponse.from_standing(
        standing, keyword_index=_keyword_index(services, created.id), texts_go_to=destination
    )


@router.get("", operation_id="list_knowledge_bases")
async def list_knowledge_bases(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
) -> KnowledgeBaseList:
    """List knowledge bases, newest first. Counts may be one second old."""
    found, total = await services.ingestion.knowledge_bases.page(
        organization.id, skip=skip, limit=limit, name_search=name_search
    )
    standings = await services.ingestion.knowledge_bases.standings_of(organization.id, found)
    listed = [
        ListedKnowledgeBaseResponse.from_standing(item, keyword_index=_keyword_index(services, item.knowledge_base.id))
        for item in standings
    ]
    return KnowledgeBaseList(knowledge_bases=listed, total_count=total, skip=skip)


@router.get("/{kb_id}", operation_id="get_knowledge_base")
async def get_knowledge_base(
    services: ServicesOf, organization: CurrentOrganization, kb_id: str
) -> KnowledgeBaseResponse:
    """Return a knowledge base with its current counts."""
    return await _standing(services, await services.ingestion.knowledge_bases.get(organization.id, kb_id))


@router.put("/{kb_id}", operation_id="update_knowledge_base")
async def update_knowledge_base(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    kb_id: str,
    body: KnowledgeBaseUpdate,
) -> KnowledgeBaseResponse:
    """Change a knowledge base's name, description, tags or neighbors. Documents without a shared tag leave at once."""
    changes = body.model_dump(exclude_none=True)
    if "tag_ids" in changes:
        changes["tag_ids"] = await services.ingestion.tags.require(organization.id, changes["tag_ids"])
    if not changes:
        return await _standing(services, await services.ingestion.knowledge_bases.get(organization.id, kb_id))
    changed = await services.ingestion.knowledge_bases.change(organization.id, kb_id, changes, request_id=request_id)
    return await _standing(services, changed)


@router.post("/{kb_id}/move", operation_id="move_knowledge_base")
async def move_knowledge_base(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, kb_id: str, body: KnowledgeBaseMove
) -> KnowledgeBaseResponse:
    """Move a knowledge base to other settings of its index; an empty body turns context on.

    Jobs index each document again; a forecast with these settings tells the cost. Searches find each document by its
    former chunks until its new ones are complete. Meanwhile, results rank former and new chunks together by scores of
    two indexes. `waiting_document_count` shows the progress. A move to the former settings cancels: documents not
    reached yet stay as they are.
    """
    moved = await services.ingestion.knowledge_bases.move(organization.id, kb_id, body.wanted(), request_id=request_id)
    return await _standing(services, moved)


@router.delete("/{kb_id}", operation_id="delete_knowledge_base")
async def delete_knowledge_base(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    kb_id: str,
    on_use: OnPromptUse = OnUse.REFUSE,
) -> KnowledgeBaseDeleted:
    """Delete a knowledge base. Searches stop at once; its vectors are deleted within seconds.

    409 if prompts use it.
    """
    await services.ingestion.knowledge_bases.delete(organization.id, kb_id, on_use=on_use, request_id=request_id)
    return KnowledgeBaseDeleted()


@router.get("/{kb_id}/documents", operation_id="list_knowledge_base_documents")
async def list_knowledge_base_documents(
    services: ServicesOf,
    organization: CurrentOrganization,
    kb_id: str,
    skip: Skip = 0,
    limit: Limit = 10,
) -> IndexedDocumentList:
    """List the indexed documents, latest first."""
    found, total = await services.ingestion.knowledge_bases.documents(organization.id, kb_id, skip=skip, limit=limit)
    return IndexedDocumentList(
        documents=[IndexedDocumentResponse.from_model(item) for item in found], total_count=total, skip=skip
    )


@router.get("/{kb_id}/chunks", operation_id="list_chunks")
async def list_chunks(
    services: ServicesOf,
    organization: CurrentOrganization,
    kb_id: str,
    skip: Skip = 0,
    limit: Limit = 10,
    document_id: Annotated[SubjectId | None, Query(description="Chunks of this document only")] = None,
) -> ChunkList:
    """List the indexed chunks, by document id and chunk number."""
    found, total = await services.ingestion.knowledge_bases.chunks(
        organization.id, kb_id, document_id=document_id, skip=skip, limit=limit
    )
    return ChunkList(chunks=[ChunkResponse.from_chunk(item) for item in found], total_count=total, skip=skip)


@router.post("/{kb_id}/search", operation_id="search_knowledge_base")
async def search_knowledge_base(services: ServicesOf, caller: Searcher, kb_id: str, body: SearchBody) -> SearchAnswer:
    """Find passages. Filters apply inside the search, so the best matching passages are found.

    Failed steps are skipped and named in `degraded`. The search fails only if every retriever fails.
    """
    found = await services.retrieval.search.search(
        caller.organization, kb_id, body.request(), read_before=caller.knowledge_bases
    )
    return SearchAnswer.from_model(found, body)


@router.post("/{kb_id}/explain", operation_id="explain_search")
async def explain_search(
    services: ServicesOf, organization: CurrentOrganization, kb_id: str, body: ExplainBody
) -> ExplanationResponse:
    """Explain why a search finds a document, or at which stage it drops out.

    The question is embedded as in a search.
    """
    explanation = await services.retrieval.explain.explain(organization, kb_id, body.document_id, body.request())
    return ExplanationResponse.from_model(explanation)


async def _standing(services: Services, knowledge_base: KnowledgeBase) -> KnowledgeBaseResponse:
    (standing,) = await services.ingestion.knowledge_bases.standings_of(
        knowledge_base.organization_id, [knowledge_base]
    )
    return KnowledgeBaseResponse.from_standing(standing, keyword_index=_keyword_index(services, knowledge_base.id))


def _keyword_index(services: Services, kb_id: str) -> str:
    """Return the state of this process's keyword index of a knowledge base."""
    backends = services.retrieval.backends
    if not backends.has_keywords:
        return "off"
    return "building" if backends.is_building_keywords(kb_id) else "ready"
