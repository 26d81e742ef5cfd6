"""Routing of all of LiteLLM's calls through the guarded transport, in place of its own clients."""

import importlib
from typing import Any

import httpx

from analytiq.inference.providers.guarded_http import guarded_client, refuse_other_sockets, refusing_client


def guard_litellm(module: Any) -> None:
    """Replace LiteLLM's factories of HTTP clients; refuse connections around them.

    A test walks all of LiteLLM's providers and fails if a new version creates clients elsewhere.
    """
    handlers: Any = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    openai_clients: Any = importlib.import_module("litellm.llms.openai.common_utils").BaseOpenAILLM
    handlers.AsyncHTTPHandler.create_client = _asynchronous_client
    handlers.HTTPHandler.create_client = _synchronous_client
    openai_clients._get_async_http_client = staticmethod(_client_of_openai)  # noqa: SLF001  # LiteLLM's name
    openai_clients._get_sync_http_client = staticmethod(_synchronous_client)  # noqa: SLF001
    module.disable_aiohttp_transport = True
    refuse_other_sockets()


def _asynchronous_client(
    _handler: object, timeout: float | httpx.Timeout | None = None, *_ignored: object, **_also_ignored: object
) -> httpx.AsyncClient:
    return guarded_client(timeout=timeout if timeout is not None else 600.0)


def _synchronous_client(*_ignored: object, **_also_ignored: object) -> httpx.Client:
    return refusing_client()


def _client_of_openai(*_ignored: object, **_also_ignored: object) -> httpx.AsyncClient:
    # OpenAI's client gives each call its timeout.
    return guarded_client(timeout=600.0)
