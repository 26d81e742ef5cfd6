"""`/knowledge-bases/forecast`: costs of a planned knowledge base."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.forecast import ForecastAnswer, ForecastBody

router = APIRouter(prefix="/knowledge-bases", tags=["knowledge bases"], route_class=ApiRoute)


@router.post("/forecast", operation_id="forecast_knowledge_base")
async def forecast_knowledge_base(
    services: ServicesOf, organization: CurrentOrganization, body: ForecastBody
) -> ForecastAnswer:
    """Estimate the cost of indexing a planned knowledge base. Nothing is embedded or charged.

    Cached embeddings are free, so the estimate depends on the cache's present content. Large sets of documents are
    sampled.
    """
    tag_ids = await services.ingestion.tags.require(organization.id, body.tag_ids)
    forecast = await services.ingestion.forecasts.forecast(organization, body.wanted(tag_ids))
    return ForecastAnswer.from_forecast(
        forecast, await services.inference.destinations.of(organization.id, forecast.embedding_model)
    )
