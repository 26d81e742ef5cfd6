"""`/llm-providers`: keys of model providers."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.llm_providers import (
    LlmProviderList,
    LlmProviderPut,
    LlmProviderResponse,
    LlmProviderTest,
    LlmProviderTestResponse,
)

router = APIRouter(prefix="/llm-providers", tags=["llm-providers"], route_class=ApiRoute)

ProviderName = Annotated[str, Path(max_length=100, description="LiteLLM's name of the provider, such as openai")]


@router.get("", operation_id="list_llm_providers")
async def list_llm_providers(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> LlmProviderList:
    """List the providers with a key, the organization's own or the platform's, by name."""
    accounts, total = await services.inference.provider_accounts.page(organization.id, skip=skip, limit=limit)
    return LlmProviderList(
        llm_providers=[LlmProviderResponse.from_account(account) for account in accounts], total_count=total, skip=skip
    )


@router.put("/{litellm_provider}", operation_id="put_llm_provider")
async def put_llm_provider(
    services: ServicesOf, organization: CurrentOrganization, litellm_provider: ProviderName, body: LlmProviderPut
) -> LlmProviderResponse:
    """Store the organization's own key, used from the next call to the provider on."""
    account = await services.inference.provider_accounts.put(
        organization.id, litellm_provider, api_key=body.key, api_base=body.api_base
    )
    return LlmProviderResponse.from_account(account)


@router.delete("/{litellm_provider}", status_code=204, operation_id="delete_llm_provider")
async def delete_llm_provider(
    services: ServicesOf, organization: CurrentOrganization, litellm_provider: ProviderName
) -> Response:
    """Delete the organization's own key. The platform's key, if any, is used again."""
    await services.inference.provider_accounts.delete(organization.id, litellm_provider)
    return Response(status_code=204)


@router.post("/{litellm_provider}/test", operation_id="test_llm_provider")
async def test_llm_provider(
    services: ServicesOf,
    organization: CurrentOrganization,
    litellm_provider: ProviderName,
    body: LlmProviderTest,
) -> LlmProviderTestResponse:
    """Test the provider with one call, free of charge. The response is 200 even if the call fails."""
    test = await services.inference.provider_accounts.test(organization, litellm_provider, body.model)
    return LlmProviderTestResponse.from_model(test, litellm_provider=litellm_provider)
