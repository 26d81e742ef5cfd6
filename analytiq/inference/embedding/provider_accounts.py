"""Management of an organization's providers: list, store a key, delete it, test it."""

import asyncio
from dataclasses import dataclass

from pydantic import SecretStr

from analytiq.errors import AnalytiqError, InvalidInputError, NotFoundError, ProviderUnavailableError, RateLimitedError
from analytiq.inference.credentials.providers import Credentials, ProviderAccount
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.models import EmbeddingModels
from analytiq.inference.embedding.provider_recovery import ProviderRecovery
from analytiq.inference.embedding.providers.litellm_provider import EMBEDDING_EXAMPLES
from analytiq.inference.providers.allowed import Use, rule_of
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.models.organization import Organization
from analytiq.tenancy.rate_limits.limits import RateLimits

TEST_SECONDS = 20.0
"""Time limit: a person waits for the answer, and a provider that needs longer for one word is useless."""
TEST_TEXT = "test"
TEST_TOKENS = 1

TEST_MODELS = {
    "openai": "text-embedding-3-small",
    "cohere": "cohere/embed-english-v3.0",
    "mistral": "mistral/mistral-embed",
    "gemini": "gemini/gemini-embedding-001",
    "voyage": "voyage/voyage-3",
    "jina_ai": "jina_ai/jina-embeddings-v3",
}
"""By provider: a model that any of its keys opens. Other providers' tests must name one."""


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """The outcome of one call. `detail` is a sentence for a person; `code` is an error's, None after success."""

    model: str
    is_working: bool
    dimensions: int | None
    milliseconds: int
    code: str | None
    detail: str


class ProviderAccounts:
    """The organization's providers, under LiteLLM's names."""

    def __init__(
        self, credentials: Credentials, models: EmbeddingModels, rate_limits: RateLimits, recovery: ProviderRecovery
    ) -> None:
        self._credentials = credentials
        self._models = models
        self._rate_limits = rate_limits
        self._recovery = recovery

    async def page(self, organization_id: str, *, skip: int, limit: int) -> tuple[list[ProviderAccount], int]:
        """Return a page of the organization's usable providers, by name, and the total count."""
        accounts = await self._credentials.accounts(organization_id)
        return accounts[skip : skip + limit], len(accounts)

    async def put(
        self, organization_id: str, litellm_provider: str, *, api_key: SecretStr, api_base: str | None
    ) -> ProviderAccount:
        """Store the organization's own key for all calls from now on; work that waits for it resumes.

        Raises:
            InvalidInputError: the provider is not allowed, the key is invalid, or the address is refused.
        """
        before = await self._own(organization_id, litellm_provider)
        stored = await self._credentials.put(organization_id, litellm_provider, api_key=api_key, api_base=api_base)
        is_address_new = before is None or before.api_base != api_base
        await self._recovery.provider_changed(organization_id, litellm_provider, is_address_new=is_address_new)
        return stored

    async def delete(self, organization_id: str, litellm_provider: str) -> None:
        """Delete the organization's own key.

        Raises:
            NotFoundError: it has none.
        """
        await self._credentials.delete(organization_id, litellm_provider)
        await self._recovery.provider_changed(organization_id, litellm_provider, is_address_new=True)

    async def test(self, organization: Organization, litellm_provider: str, model: str | None) -> ConnectionTest:
        """Embed one word with the organization's key; free, and within the model's rate.

        The call is made although the provider has asked to wait. If it succeeds, waiting work resumes.

        Raises:
            NotFoundError: there is no key for the provider.
            InvalidInputError: the provider is not allowed, the model is another provider's, or the provider has no
                usual one.
        """
        if await self._credentials.find(organization.id, litellm_provider) is None:
            rule_of(litellm_provider)
            raise NotFoundError(f"There is no key for the provider {litellm_provider!r}. Store one first.")
        chosen = model or TEST_MODELS.get(litellm_provider)
        if chosen is None:
            raise InvalidInputError.of_field(
                "model", f"The provider {litellm_provider!r} has no usual embedding model. Name one to test."
            )
        provider = await asyncio.to_thread(
            provider_of, chosen, use=Use.EMBEDDING, field="model", examples=EMBEDDING_EXAMPLES
        )
        if provider != litellm_provider:
            raise InvalidInputError.of_field(
                "model", f"{chosen!r} is a model of {provider!r}. Name a model of this provider."
            )
        return await self._try(organization, chosen)

    async def try_stopped(self, organization: Organization, model: str) -> bool:
        """Test a model that work waits for; if it answers, the work resumes."""
        return (await self._try(organization, model)).is_working

    async def _own(self, organization_id: str, litellm_provider: str) -> ProviderAccount | None:
        accounts = await self._credentials.accounts(organization_id)
        return next((each for each in accounts if each.is_own and each.litellm_provider == litellm_provider), None)

    async def _try(self, organization: Organization, model: str) -> ConnectionTest:
        loop = asyncio.get_running_loop()
        began = loop.time()
        dimensions: int | None = None
        code: str | None = None
        try:
            dimensions = await self._call(organization, model)
            detail = f"{model!r} answered a vector of {dimensions} dimensions."
            await self._recovery.tested(organization.id, model)
        except AnalytiqError as error:
            code, detail = error.code, error.detail
        return ConnectionTest(
            model=model,
            is_working=code is None,
            dimensions=dimensions,
            milliseconds=round((loop.time() - began) * 1000),
            code=code,
            detail=detail,
        )

    async def _call(self, organization: Organization, model: str) -> int:
        chosen = await self._models.choose(organization, model)

        async def take() -> None:
            await self._rate_limits.take_call(organization.id, model, tokens=TEST_TOKENS, ignores_block=True)

        await take()
        try:
            async with asyncio.timeout(TEST_SECONDS):
                vectors = await chosen.embedder.embed([TEST_TEXT], input_type=InputType.DOCUMENT, before_repeat=take)
        except TimeoutError:
            raise ProviderUnavailableError(
                f"The provider of {model!r} did not answer within {TEST_SECONDS:g} s. Check its address, and test"
                " again."
            ) from None
        except RateLimitedError as error:
            await self._rate_limits.told_to_wait(organization.id, model, seconds=error.retry_after or 0.0)
            raise
        return int(vectors.shape[1])
