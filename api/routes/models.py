"""`/models`: available models and their capabilities."""

from typing import Annotated

from fastapi import APIRouter, Query

from analytiq.inference.llm.catalogue import ModelKind, ModelQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, NameSearch, ServicesOf, Skip
from api.schemas.destinations import DefaultModelsResponse, DestinationResponse
from api.schemas.models import ModelList

router = APIRouter(prefix="/models", tags=["llm-providers"], route_class=ApiRoute)


@router.get("", operation_id="list_models")
async def list_models(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
    kind: Annotated[ModelKind | None, Query(description="Models of unknown kind are always included")] = None,
    litellm_provider: Annotated[str | None, Query(max_length=100)] = None,
) -> ModelList:
    """List local models, models of providers with a key, and models of the organization's own servers."""
    query = ModelQuery(kind=kind, litellm_provider=litellm_provider, name_search=name_search)
    page = await services.inference.catalogue.page(organization, query, skip=skip, limit=limit)
    default = await services.inference.chat_models.default_model(organization)
    return ModelList.from_model(page, skip=skip, default_chat_model=default)


@router.get("/defaults", operation_id="get_default_models")
async def get_default_models(services: ServicesOf, organization: CurrentOrganization) -> DefaultModelsResponse:
    """Return the default models and the providers that receive their input."""
    chat = await services.inference.chat_models.default_model(organization)
    destinations = services.inference.destinations
    embedding = await destinations.of(organization.id, await services.inference.embedding_models.default_model())
    return DefaultModelsResponse(
        embedding=DestinationResponse.from_model(embedding),
        chat=None if chat is None else DestinationResponse.from_model(await destinations.of(organization.id, chat)),
    )
