"""`/documents/{document_id}/boxes`: where on its pages a passage stands."""

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
    start: Annotated[int, Query(ge=0, le=2**53, description="First character of the passage in the document's text")],
    end: Annotated[int, Query(ge=1, le=2**53, description="The character after its last")],
    text_hash: Annotated[
        str | None,
        Query(max_length=64, description="Of the text that both count in: 409 (`text_replaced`) where it was replaced"),
    ] = None,
) -> PassagePlace:
    """The boxes of a passage, one for each line, by page: what a result or citation names by `start` and `end`.

    A page without boxes says why; files without pages (text, HTML, DOCX…) have none. The file is read for the answer:
    30 to 90 ms a page, seconds where the page is a scan.
    """
    pages = await services.retrieval.locating.locate(organization.id, document_id, start, end, text_hash=text_hash)
    return PassagePlace(
        document_id=document_id, start=start, end=end, pages=[PlacedPageResponse.from_page(page) for page in pages]
    )
