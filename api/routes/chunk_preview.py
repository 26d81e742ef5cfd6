"""`/chunk-preview`: the chunks that settings would make of a document or a text."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.chunk_preview import ChunkPreviewBody, ChunkPreviewResponse

router = APIRouter(prefix="/chunk-preview", tags=["knowledge bases"], route_class=ApiRoute)


@router.post("", operation_id="preview_chunks")
async def preview_chunks(
    services: ServicesOf, organization: CurrentOrganization, body: ChunkPreviewBody
) -> ChunkPreviewResponse:
    """Show the chunks that these settings would make of a document or of a given text. Nothing is stored or charged.

    Of a long document the first 500,000 characters are read, and 20,000 for the chunkers `semantic` and `sdpm`.
    """
    previews, wanted = services.ingestion.chunk_previews, body.wanted()
    if body.document_id is not None:
        preview = await previews.of_document(organization, body.document_id, wanted)
    else:
        preview = await previews.of_text(body.text or "", wanted)
    return ChunkPreviewResponse.from_preview(preview, skip=body.skip)
