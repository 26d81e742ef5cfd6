"""`/documents/changes`: one change to many documents."""

from fastapi import APIRouter

from analytiq.composition import Services
from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.changing import Selected
from analytiq.ingestion.documents.naming import validated_folder
from analytiq.models.organization import Organization
from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.tree import EVERYTHING
from analytiq.storage.repositories.documents import DocumentQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, RequestId, ServicesOf
from api.schemas.document_changes import DocumentMatch, DocumentsChange, DocumentsChanged
from api.schemas.documents import require_source

router = APIRouter(prefix="/documents/changes", tags=["documents"], route_class=ApiRoute)


@router.post("", operation_id="change_documents")
async def change_documents(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, body: DocumentsChange
) -> DocumentsChanged:
    """Add or remove tags, or set or remove metadata values, of listed documents or of all that match.

    A call processes at most 500 documents; repeat it with `next` for the rest. Unknown document ids are ignored. To
    undo a change of tags exactly, send `changed_ids` with the tags reversed.
    """
    added = await services.ingestion.tags.require(organization.id, body.add_tag_ids, field="add_tag_ids")
    removed = await services.ingestion.tags.require(organization.id, body.remove_tag_ids, field="remove_tag_ids")
    selected = await _selected(services, organization, body)
    batch = await services.ingestion.changing.change(
        organization.id, selected, body.wanted(added, removed), request_id=request_id
    )
    return DocumentsChanged.from_batch(batch)


async def _selected(services: Services, organization: Organization, body: DocumentsChange) -> Selected:
    if (body.document_ids is None) == (body.matching is None):
        raise InvalidInputError.of_field("document_ids", "Send either `document_ids` or `matching`.")
    if body.matching is None:
        if body.after is not None or body.except_ids:
            raise InvalidInputError.of_field("after", "`after` and `except_ids` require `matching`.")
        return Selected(document_ids=tuple(body.document_ids or ()))
    query = await _query(services, organization, body.matching)
    return Selected(query=query, excluded=tuple(body.except_ids), after=body.place())


async def _query(services: Services, organization: Organization, match: DocumentMatch) -> DocumentQuery:
    wanted = EVERYTHING
    if match.metadata_filter is not None:
        wanted = await services.retrieval.search.resolve_filter(organization, match.metadata_filter)
    require_source(match.source, match.external_id, field="matching.external_id")
    members = None
    if match.kb_id is not None:
        members = (await services.ingestion.knowledge_bases.get(organization.id, match.kb_id)).tag_ids
    return DocumentQuery(
        any_tag_ids=members,
        error_codes=tuple(match.error_code),
        name_search=match.name_search,
        folder=None if match.folder is None else validated_folder(match.folder, field="matching.folder"),
        source=match.source,
        external_id=match.external_id,
        parent_id=match.parent_id,
        tag_ids=tuple(match.tag_ids),
        states=tuple(match.state),
        file_types=tuple(match.file_type),
        filter=compile_filter(wanted),
    )
