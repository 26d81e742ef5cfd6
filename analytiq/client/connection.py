"""Calls and pagination shared by all parts of the client."""

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

from pydantic import BaseModel, TypeAdapter

from analytiq.client.answers import Page
from analytiq.client.transport import QueryValue, Transport

Item = TypeVar("Item", bound=BaseModel)
Query = Mapping[str, QueryValue | None]

PAGE_SIZE = 100
"""The API's largest page."""


class Connection:
    """One organization over REST; may be used from several threads, and as a context manager."""

    def __init__(self, url: str, organization_id: str, token: str, *, timeout_seconds: float = 120.0) -> None:
        """Prepare; no connection is opened yet.

        Args:
            url: the API's, such as `http://127.0.0.1:8000`.
            organization_id: 24 hex digits.
            token: an access token of the organization.
            timeout_seconds: the longest silence within one call.
        """
        self._transport = Transport(url, organization_id, token, timeout_seconds=timeout_seconds)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The API's address."""
        return self._transport.url

    def is_ready(self) -> bool:
        """Return whether the API is ready."""
        return self._transport.is_ready()

    def _all(self, path: str, key: str, model: type[Item], query: Query | None = None) -> Iterator[Item]:
        skip = 0
        while True:
            page = self._page(path, key, model, query or {}, skip=skip, limit=PAGE_SIZE)
            yield from page.items
            skip += len(page.items)
            if not page.items or skip >= page.total_count:
                return

    def _page(self, path: str, key: str, model: type[Item], query: Query, *, skip: int, limit: int) -> Page[Item]:
        answer = _OBJECT.validate_json(self._transport.call("GET", path, query={**query, "skip": skip, "limit": limit}))
        items = [model.model_validate(item) for item in answer[key]]
        return Page[Item](
            items=items,
            total_count=answer["total_count"],
            total_count_is_at_least=answer.get("total_count_is_at_least", False),
            skip=answer["skip"],
        )


_OBJECT = TypeAdapter(dict[str, Any])
