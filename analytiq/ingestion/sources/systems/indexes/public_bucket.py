"""Buckets whose address answers with their list, as everybody may read it."""

import asyncio
from dataclasses import replace

import httpx

from analytiq.errors import AnalytiqError
from analytiq.ingestion.sources.systems.buckets.connector import ObjectPage, Position
from analytiq.ingestion.sources.systems.buckets.keys import BucketObject
from analytiq.ingestion.sources.systems.buckets.requests import (
    BucketClient,
    BucketRequest,
    Refusal,
    Store,
    split_endpoint,
)
from analytiq.ingestion.sources.systems.buckets.s3_listing import (
    object_of_headers,
    opened_version,
    quoted_key,
    s3_list,
)
from analytiq.ingestion.sources.systems.web.requests import Headers
from analytiq.settings import SourceSettings


class PublicBucket:
    """The requests of a bucket, by the first version of S3's list, which all services know."""

    continues_by_key = True

    def __init__(self, address: str, headers: Headers, operator: SourceSettings) -> None:
        origin, self._path = split_endpoint(address, field_name="settings.url")
        self._address = address
        self._headers = dict(headers)
        self.client = BucketClient(operator, Store("The server", origin, self._sign, self._explain))

    async def page(self, position: Position, most: int) -> ObjectPage:
        """See Bucket."""
        behind = position.token or position.after
        query = [("encoding-type", "url"), *([("marker", behind)] if behind else []), ("max-keys", str(most))]
        content = await self.client.read(BucketRequest("GET", self._path or "/", query))
        found = await asyncio.to_thread(s3_list, content)
        objects = [replace(each, source_url=self._url_of(each.key)) for each in found.objects]
        last = objects[-1].key if objects else None
        return ObjectPage(objects, (found.next_marker or last) if found.is_truncated else None)

    async def head(self, key: str) -> BucketObject | None:
        """See Bucket."""
        headers = await self.client.head(self._request("HEAD", key))
        return None if headers is None else replace(object_of_headers(key, headers), source_url=self._url_of(key))

    async def open(self, key: str) -> httpx.Response:
        """See Bucket."""
        return await self.client.open(self._request("GET", key))

    def opened_version(self, headers: httpx.Headers) -> str | None:
        """See Bucket."""
        return opened_version(headers)

    def _request(self, method: str, key: str) -> BucketRequest:
        return BucketRequest(method, f"{self._path}/{quoted_key(key)}")

    def _url_of(self, key: str) -> str:
        return self._address + quoted_key(key)

    async def _sign(self, request: BucketRequest) -> BucketRequest:
        return request.with_headers(self._headers)

    def _explain(self, refusal: Refusal) -> AnalytiqError | None:
        del refusal
        return None
