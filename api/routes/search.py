"""Searches in several knowledge bases."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.search import SearchAnswer, SearchSeveralBody

router = APIRouter(prefix="/search", tags=["search"], route_class=ApiRoute)


@router.post("", operation_id="search_knowledge_bases")
async def search_knowledge_bases(
    services: ServicesOf, organization: CurrentOrganization, body: SearchSeveralBody
) -> SearchAnswer:
    """Find passages in several knowledge bases, merged into one list. Their embedding models may differ."""
    found = await services.retrieval.search.search_several(organization, body.kb_ids, body.request())
    return SearchAnswer.from_model(found, body)
