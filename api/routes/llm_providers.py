"""`/llm-providers`: the keys that embedding models are called with."""

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

ProviderName = Annotated[str, Path(max_length=100, description="As LiteLLM names it, for example openai")]


@router.get("", operation_id="list_llm_providers")
async def list_llm_providers(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> LlmProviderList:
    """The providers that there is a key for, the organization's own or the platform's, by name."""
    accounts, total = await services.inference.provider_accounts.page(organization.id, skip=skip, limit=limit)
    return LlmProviderList(
        llm_providers=[LlmProviderResponse.from_account(account) for account in accounts], total_count=total, skip=skip
    )


@router.put("/{litellm_provider}", operation_id="put_llm_provider")
async def put_llm_provider(
    services: ServicesOf, organization: CurrentOrganization, litellm_provider: ProviderName, body: LlmProviderPut
) -> LlmProviderResponse:
    """Store the organization's own key; it counts from the next call to the provider on."""
    account = await services.inference.provider_accounts.put(
        organization.id, litellm_provider, api_key=body.key, api_base=body.api_base
    )
    return LlmProviderResponse.from_account(account)


@router.delete("/{litellm_provider}", status_code=204, operation_id="delete_llm_provider")
async def delete_llm_provider(
    services: ServicesOf, organization: CurrentOrganization, litellm_provider: ProviderName
) -> Response:
    """Forget the organization's own key; the platform's, where there is one, counts again."""
    await services.inference.provider_accounts.delete(organization.id, litellm_provider)
    return Response(status_code=204)


@router.post("/{litellm_provider}/test", operation_id="test_llm_provider")
async def test_llm_provider(
    services: ServicesOf,
    organization: CurrentOrganization,
    litellm_provider: ProviderName,
    body: LlmProviderTest,
) -> LlmProviderTestResponse:
    """Make one call with the key that would be used, and say what happened; free. 200 also where it fails."""
    test = await services.inference.provider_accounts.test(organization, litellm_provider, body.model)
    return LlmProviderTestResponse.from_model(test, litellm_provider=litellm_provider)
