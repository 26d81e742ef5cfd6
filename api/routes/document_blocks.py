"""`/documents/{document_id}/blocks`: the structure of a document's text."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response

from analytiq.errors import InvalidInputError
from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.document_blocks import DocumentBlocksResponse

router = APIRouter(prefix="/documents", tags=["documents"], route_class=ApiRoute)


@router.get("/{document_id}/blocks", operation_id="get_document_blocks", response_model=DocumentBlocksResponse)
async def get_document_blocks(
    services: ServicesOf,
    organization: CurrentOrganization,
    document_id: str,
    page: Annotated[int | None, Query(ge=1, le=1_000_000, description="A single page")] = None,
    skip: Annotated[int, Query(ge=0, le=1_000_000, description="Pages to skip")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of pages")] = 100,
) -> Response:
    """Return the blocks of the extracted text: headings, paragraphs, list items, tables, code and other parts.

    Offsets count characters of the whole plain text, as in `get_document_text`: a block is `text[start:end]`. A
    text extracted by an earlier release has no blocks; extract the document again to find them.
    """
    first, count = (page, 1) if page is not None else (skip + 1, limit)
    structure = await services.ingestion.documents.structure(
        organization.id, document_id, first_page=first, page_count=count
    )
    if page is not None and not structure.pages:
        raise InvalidInputError.of_field("page", f"Page not found. The document has {structure.page_count} pages.")
    # In a thread: a page of 300,000 blocks takes seconds.
    body = await asyncio.to_thread(lambda: DocumentBlocksResponse.from_structure(structure).model_dump_json())
    return Response(body, media_type="application/json")
