"""`/knowledge-bases/forecast`: what a knowledge base would cost."""

from fastapi import APIRouter

from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.forecast import ForecastAnswer, ForecastBody

router = APIRouter(prefix="/knowledge-bases", tags=["knowledge bases"], route_class=ApiRoute)


@router.post("/forecast", operation_id="forecast_knowledge_base")
async def forecast_knowledge_base(
    services: ServicesOf, organization: CurrentOrganization, body: ForecastBody
) -> ForecastAnswer:
    """Say what indexing a knowledge base would need before it is made; embeds and charges nothing.

    What the cache has costs nothing, so the answer is about now. Where the texts are many, a sample of them is read.
    """
    tag_ids = await services.ingestion.tags.require(organization.id, body.tag_ids)
    forecast = await services.ingestion.forecasts.forecast(organization, body.wanted(tag_ids))
    return ForecastAnswer.from_forecast(
        forecast, await services.inference.destinations.of(organization.id, forecast.embedding_model)
    )
