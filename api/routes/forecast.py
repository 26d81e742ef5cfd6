"""`/knowledge-bases/forecast`: what a knowledge base would cost."""

from fastapi import APIRouter

from api.context import ApplicationOf, CurrentOrganization
from api.idempotency import IdempotentRoute
from api.schemas.forecast import ForecastAnswer, ForecastBody

router = APIRouter(prefix="/knowledge-bases", tags=["knowledge bases"], route_class=IdempotentRoute)


@router.post("/forecast", operation_id="forecast_knowledge_base")
async def forecast_knowledge_base(
    application: ApplicationOf, organization: CurrentOrganization, body: ForecastBody
) -> ForecastAnswer:
    """Say what indexing a knowledge base would need before it is made; embeds and charges nothing.

    What the cache has costs nothing, so the answer is about now. Where the texts are many, a sample of them is read.
    """
    tag_ids = await application.tags.require(organization.id, body.tag_ids)
    forecast = await application.forecasts.forecast(organization, body.wanted(tag_ids))
    return ForecastAnswer.of(forecast, await application.destinations.of(organization.id, forecast.embedding_model))
