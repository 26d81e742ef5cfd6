"""`/documents/lookup` and `/documents/progress`: many documents in one call."""

from fastapi import APIRouter

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import validated_folder, validated_path
from analytiq.models.document import DocumentState
from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.document_lookups import DocumentLookup, DocumentProgressQuery, DocumentsAtPaths, DocumentsProgress
from api.schemas.documents import DocumentDetail

router = APIRouter(prefix="/documents", tags=["documents"], route_class=ApiRoute)


@router.post("/lookup", operation_id="search_documents_by_path")
async def search_documents_by_path(
    services: ServicesOf, organization: CurrentOrganization, body: DocumentLookup
) -> DocumentsAtPaths:
    """Look up documents by path or external id, with the hashes of their files, before uploading.

    A call returns at most 1,000 documents; repeat it with `next` for the rest.
    """
    lookups = services.ingestion.lookups
    if sum(given is not None for given in (body.folder, body.paths, body.external_ids)) != 1:
        raise InvalidInputError.of_field("folder", "Give one of `folder`, `paths` and `external_ids`.")
    if (body.source is None) != (body.external_ids is None):
        raise InvalidInputError.of_field("source", "Give `source` and `external_ids` together.")
    if body.source is not None and body.external_ids is not None:
        found = await lookups.of_items(organization.id, body.source, body.external_ids)
    elif body.folder is not None:
        found = await lookups.below(organization.id, validated_folder(body.folder), after=body.place())
    else:
        paths = [validated_path(path, field=f"paths[{index}]") for index, path in enumerate(body.paths or ())]
        found = await lookups.at_paths(organization.id, paths, after=body.place())
    return DocumentsAtPaths.from_batch(found)


@router.post("/progress", operation_id="get_document_progress")
async def get_document_progress(
    services: ServicesOf, organization: CurrentOrganization, body: DocumentProgressQuery
) -> DocumentsProgress:
    """Return the progress of up to 1,000 documents. Unknown document ids are ignored."""
    standing = await services.ingestion.lookups.progress(organization.id, list(dict.fromkeys(body.document_ids)))
    extracted = [item.document.id for item in standing if item.document.state is DocumentState.EXTRACTED]
    counts = await services.ingestion.documents.part_counts(organization.id, extracted)
    documents = [
        DocumentDetail.from_model(item.document, item, part_count=counts.get(item.document.id, 0)) for item in standing
    ]
    return DocumentsProgress(documents=documents)
