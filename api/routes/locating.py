"""`/documents/{document_id}/boxes`: positions of a passage on its pages."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.locating import PassagePlace, PlacedPageResponse

router = APIRouter(prefix="/documents", tags=["documents"], route_class=ApiRoute)


@router.get("/{document_id}/boxes", operation_id="locate_passage", response_model=PassagePlace)
async def locate_passage(
    services: ServicesOf,
    organization: CurrentOrganization,
    document_id: str,
    start: Annotated[
        int, Query(ge=0, le=2**53, description="Offset of the passage's first character in the document's text")
    ],
    end: Annotated[int, Query(ge=1, le=2**53, description="Offset after the passage's last character")],
    text_hash: Annotated[
        str | None,
        Query(
            max_length=64,
            description="Hash of the text of both offsets. 409 (`text_replaced`) if the document's text has changed",
        ),
    ] = None,
) -> PassagePlace:
    """Return the boxes of a passage, one for each line, by page, for the `start` and `end` of a result or citation.

    A page without boxes states the reason; files without pages (text, HTML, DOCX…) have none. The file is read for
    each call: 30 to 90 ms a page, seconds for a scanned page.
    """
    pages = await services.retrieval.locating.locate(organization.id, document_id, start, end, text_hash=text_hash)
    return PassagePlace(
        document_id=document_id, start=start, end=end, pages=[PlacedPageResponse.from_page(page) for page in pages]
    )
