"""The REST API for the tools: over the network, or within the process that serves it."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from analytiq.client import ProblemError, UnreachableError

LONGEST_WAIT_SECONDS = 20.0
"""Longest wait for a knowledge base being loaded; clients of the protocol time out after 30 to 60 s."""
TIMEOUT_SECONDS = 60.0

QueryValue = str | int | None


class RestApi:
    """One organization's part of the API; `http` carries its address and the caller's token."""

    def __init__(self, http: httpx.AsyncClient, organization_id: str) -> None:
        self._http = http
        self._prefix = f"/v0/orgs/{quote(organization_id, safe='')}"

    async def get(self, path: str, **query: QueryValue) -> bytes:
        """Return the body of the answer to a GET; the query omits values of None.

        Raises:
            ProblemError: the API refuses it.
            UnreachableError: nothing answers.
        """
        return await self._call("GET", path, query=query, is_repeatable=True)

    async def post(self, path: str, json: Mapping[str, Any], *, is_repeatable: bool = False) -> bytes:
        """Return the body of the answer to a POST; raise the errors of `get`.

        Args:
            path: below the organization, with its leading slash.
            json: the body.
            is_repeatable: the call changes nothing, and is retried when the API says so.
        """
        return await self._call("POST", path, json=json, is_repeatable=is_repeatable)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        json: Mapping[str, Any] | None = None,
        is_repeatable: bool,
    ) -> bytes:
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        waited_seconds = 0.0
        while True:
            try:
                response = await self._http.request(method, self._prefix + path, params=wanted, json=json)
            except httpx.TransportError as error:
                raise UnreachableError.of(error, str(self._http.base_url)) from error
            if response.is_success:
                return response.content
            problem = ProblemError.of(response)
            pause_seconds = problem.retry_after or 0.0
            is_passing = problem.status in (429, 503) and problem.retry_after is not None
            if not is_repeatable or not is_passing or waited_seconds + pause_seconds > LONGEST_WAIT_SECONDS:
                raise problem
            waited_seconds += pause_seconds
            await asyncio.sleep(pause_seconds)
