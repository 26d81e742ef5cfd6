"""Catalogue of an organization's models and their abilities, from LiteLLM's table and from model servers."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

import httpx
import structlog

from analytiq.errors import AnalytiqError
from analytiq.inference.credentials.providers import Credential, Credentials
from analytiq.inference.llm.service import ChatService
from analytiq.inference.providers.allowed import Use, base_for, destination_of
from analytiq.inference.providers.guarded_http import bound_for, guarded_client
from analytiq.inference.providers.litellm_module import litellm, provider_of
from analytiq.inference.providers.model_names import is_model_name
from analytiq.models.organization import Organization

log = structlog.get_logger(__name__)

SERVER_SECONDS = 5.0
LARGEST_LIST_BYTES = 1_000_000
MOST_OF_A_SERVER = 1000
_FAMILIES = {"cohere": ("cohere", "cohere_chat"), "vertex_ai": ("vertex_ai", "vertex_ai-language-models")}
"""Providers' names in LiteLLM's table, if they differ from the providers' own."""
_LISTS = {
    "openai": "/models",
    "hosted_vllm": "/models",
    "infinity": "/models",
    "llamafile": "/models",
    "lm_studio": "/models",
    "ollama": "/v1/models",
    "xinference": "/models",
}
"""Providers whose servers list their models as OpenAI does → path below the address."""


class ModelKind(StrEnum):
    """The purpose of a model. A server's list does not contain it: its models are of unknown kind."""

    CHAT = "chat"
    EMBEDDING = "embedding"
    RERANK = "rerank"
    UNKNOWN = "unknown"


class ModelSource(StrEnum):
    """The source of a model's entry."""

    TABLE = "table"
    SERVER = "server"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model under its callable name; None means unknown. Prices are US dollars a million tokens."""

    model: str
    litellm_provider: str
    kind: ModelKind
    source: ModelSource
    supports_tools: bool | None = None
    supports_structured_output: bool | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    dimensions: int | None = None
    input_usd_per_million_tokens: float | None = None
    output_usd_per_million_tokens: float | None = None


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """A query for a list of models; models of unknown kind belong to every kind."""

    kind: ModelKind | None = None
    litellm_provider: str | None = None
    name_search: str | None = None


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A page of models by name. `unreachable`: provider → reason for the absence of its server's models."""

    models: list[ListedModel]
    total_count: int
    unreachable: dict[str, str] = field(default_factory=dict[str, str])


class ModelCatalogue:
    """The models with a key, and those of this process."""

    def __init__(
        self,
        credentials: Credentials,
        chat: ChatService,
        local: Sequence[ListedModel],
        *,
        default_embedding_model: Callable[[], Awaitable[str]],
    ) -> None:
        self._credentials = credentials
        self._chat = chat
        self._local = tuple(local)
        self._default_embedding_model = default_embedding_model

    async def page(self, organization: Organization, query: ModelQuery, *, skip: int, limit: int) -> ModelPage:
        """Return a page of the organization's models, by name; ask its own servers for theirs."""
        accounts = await self._credentials.accounts(organization.id)
        providers = [account.litellm_provider for account in accounts if account.is_readable]
        found = list(self._local)
        unreachable: dict[str, str] = {}
        if query.litellm_provider is not None:
            providers = [name for name in providers if name == query.litellm_provider]
        listed = await asyncio.gather(*(self._of_provider(organization, name, query.kind) for name in providers))
        for provider, outcome in zip(providers, listed, strict=True):
            if isinstance(outcome, str):
                unreachable[provider] = outcome
            else:
                found += outcome
        found = _with_defaults(found, await self._defaults(organization, providers))
        matching = sorted((model for model in found if _is_meant(model, query)), key=lambda model: model.model)
        return ModelPage(matching[skip : skip + limit], len(matching), unreachable)

    async def _defaults(self, organization: Organization, providers: Sequence[str]) -> list[ListedModel]:
        """Return the default models of these providers."""
        names = {
            ModelKind.EMBEDDING: await self._default_embedding_model(),
            ModelKind.CHAT: await self._chat.default_model(organization),
        }
        listed: list[ListedModel] = []
        for kind, name in names.items():
            if name is None:
                continue
            try:
                provider = await asyncio.to_thread(provider_of, name, field="model")
            except AnalytiqError:
                continue
            if provider in providers:
                listed.append(_listed(name, provider, litellm().model_cost.get(name) or {"mode": kind.value}))
        return listed

    async def _of_provider(
        self, organization: Organization, provider: str, kind: ModelKind | None
    ) -> list[ListedModel] | str:
        """Return a provider's models, or the reason for their absence."""
        try:
            credential = await self._credentials.find(organization.id, provider)
            if credential is None:
                return []
            if credential.api_base is not None and provider in _LISTS:
                models = await _of_server(provider, credential)
            else:
                models = await asyncio.to_thread(_of_table, provider)
        except AnalytiqError as error:
            return error.detail
        except (httpx.HTTPError, ValueError) as error:
            log.info("llm.models_not_listed", provider=provider, reason=type(error).__name__)
            return _why_not_listed(error)
        if credential.is_own or credential.is_keyless:
            return models
        free = await self._chat.free_models()
        return [model for model in models if _is_free_to_all(model, free, is_for_chat=kind is ModelKind.CHAT)]


def _with_defaults(found: Sequence[ListedModel], defaults: Sequence[ListedModel]) -> list[ListedModel]:
    """Add the default models; they replace a server's entry of the same name, since their kind is known."""
    known = {model.model for model in found if model.kind is not ModelKind.UNKNOWN}
    added = [model for model in defaults if model.model not in known]
    names = {model.model for model in added}
    return [*(model for model in found if model.model not in names), *added]


def _why_not_listed(error: httpx.HTTPError | ValueError) -> str:
    match error:
        case httpx.HTTPStatusError():
            return f"its server answered {error.response.status_code} when asked for them"
        case httpx.TimeoutException():
            return "its server did not answer in time"
        case httpx.HTTPError():
            return "its server could not be reached"
        case _:
            return "its server answered with something else than a list"


def _is_free_to_all(model: ListedModel, free: Collection[str], *, is_for_chat: bool) -> bool:
    """Return True if the platform's key opens the model; a server's model of unknown kind may embed, which is free."""
    if model.kind is ModelKind.EMBEDDING or model.model in free:
        return True
    return model.kind is ModelKind.UNKNOWN and not is_for_chat


def _is_meant(model: ListedModel, query: ModelQuery) -> bool:
    if query.kind is not None and model.kind not in (query.kind, ModelKind.UNKNOWN):
        return False
    if query.litellm_provider is not None and model.litellm_provider != query.litellm_provider:
        return False
    return query.name_search is None or query.name_search.lower() in model.model.lower()


def _of_table(provider: str) -> list[ListedModel]:
    """Return a provider's models in LiteLLM's table; the import of LiteLLM takes seconds."""
    table: Mapping[str, Mapping[str, Any]] = litellm().model_cost
    families = _FAMILIES.get(provider, (provider,))
    kinds = {kind.value for kind in ModelKind}
    return [
        _listed(name, provider, entry)
        for name, entry in table.items()
        if entry.get("litellm_provider") in families and entry.get("mode") in kinds and not name.startswith("ft:")
    ]


def _listed(name: str, provider: str, entry: Mapping[str, Any]) -> ListedModel:
    kind = ModelKind(entry["mode"])
    is_chat = kind is ModelKind.CHAT
    return ListedModel(
        model=name,
        litellm_provider=provider,
        kind=kind,
        source=ModelSource.TABLE,
        supports_tools=bool(entry.get("supports_function_calling")) if is_chat else None,
        supports_structured_output=bool(entry.get("supports_response_schema")) if is_chat else None,
        max_input_tokens=_whole(entry.get("max_input_tokens")),
        max_output_tokens=_whole(entry.get("max_output_tokens")) if is_chat else None,
        dimensions=_whole(entry.get("output_vector_size")),
        input_usd_per_million_tokens=_price(entry.get("input_cost_per_token")),
        output_usd_per_million_tokens=_price(entry.get("output_cost_per_token")),
    )


def _whole(value: object) -> int | None:
    # Some entries have numbers as texts, and some have sentences.
    return int(value) if isinstance(value, int | float) else None


def _price(value: object) -> float | None:
    return round(float(value) * 1_000_000, 6) if isinstance(value, int | float) else None


async def _of_server(provider: str, credential: Credential) -> list[ListedModel]:
    """Ask a server with OpenAI's protocol for its models.

    Raises:
        httpx.HTTPError, ValueError: the server gives no list.
        ProviderRefusedError, TransientError: its address may not be called, or is not found.
    """
    headers = {"Authorization": f"Bearer {credential.api_key.get_secret_value()}"}
    base = base_for(provider, credential.api_base, Use.CHAT) or ""
    destination = destination_of(provider, base, is_guarded=credential.is_guarded)
    with bound_for(destination):
        async with guarded_client(timeout=SERVER_SECONDS) as client:
            body = await _read_list(client, base.rstrip("/") + _LISTS[provider], headers)
    names = _names_of(body)
    return [
        ListedModel(f"{provider}/{name}", provider, ModelKind.UNKNOWN, ModelSource.SERVER)
        for name in names[:MOST_OF_A_SERVER]
    ]


async def _read_list(client: httpx.AsyncClient, url: str, headers: Mapping[str, str]) -> bytes:
    body = b""
    async with client.stream("GET", url, headers=headers) as response:
        response.raise_for_status()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > LARGEST_LIST_BYTES:
                raise ValueError("the list is too long")
    return body


def _names_of(body: bytes) -> list[str]:
    parsed: Any = httpx.Response(200, content=body).json()
    items = cast("object", parsed.get("data")) if isinstance(parsed, dict) else None  # pyright: ignore[reportUnknownMemberType]
    if not isinstance(items, list):
        raise ValueError("the answer is not a list of models")  # noqa: TRY004  # of what a server sent
    entries = [cast("Mapping[str, object]", item) for item in cast("list[object]", items) if isinstance(item, dict)]
    named = [entry.get("id") for entry in entries]
    return sorted({name for name in named if isinstance(name, str) and is_model_name(name)})
