"""Buckets of Google Cloud Storage, by its JSON API."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import ClassVar, cast
from urllib.parse import quote

import httpx
from pydantic import BaseModel, Field, JsonValue, SecretStr, ValidationError, field_validator

from analytiq.errors import AnalytiqError, InvalidInputError, NotFoundError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import SEVERAL_LINES, KindSchema, SourceContext
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.buckets.connector import BucketConnector, ObjectPage, Position
from analytiq.ingestion.sources.systems.buckets.google_tokens import GoogleTokens, service_account
from analytiq.ingestion.sources.systems.buckets.keys import BucketObject
from analytiq.ingestion.sources.systems.buckets.requests import (
    BucketClient,
    BucketRequest,
    Refusal,
    Store,
    split_endpoint,
)
from analytiq.settings import SourceSettings

OBJECT_FIELDS = "name,generation,size,contentType,updated,customerEncryption(encryptionAlgorithm)"
LIST_FIELDS = f"nextPageToken,items({OBJECT_FIELDS})"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_PROJECT = re.compile(r"[a-z0-9.:-]{4,100}")
_RATE_REASONS = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})


class GcsSettings(KindSchema):
    """The settings of a bucket."""

    bucket: str = Field(description="Name of the bucket")
    prefix: str = Field(
        default="", max_length=1024, description="Beginning of the names to read, such as contracts/2026/"
    )
    billing_project: str | None = Field(
        default=None, title="Billing project", description="Project that pays, if the bucket wants the requester to pay"
    )
    api_url: str = Field(
        default="https://storage.googleapis.com", max_length=500, title="API address", description="Only for a proxy"
    )

    @field_validator("bucket")
    @classmethod
    def _is_bucket(cls, bucket: str) -> str:
        if not _BUCKET.fullmatch(bucket) or ".." in bucket:
            raise ValueError("Must be the name of a bucket: 3 to 222 lower-case letters, digits, dots and dashes")
        return bucket

    @field_validator("billing_project")
    @classmethod
    def _is_project(cls, project: str | None) -> str | None:
        if project and not _PROJECT.fullmatch(project):
            raise ValueError("Must be the id of a project, such as my-project-123")
        return project or None

    @field_validator("api_url")
    @classmethod
    def _is_address(cls, address: str) -> str:
        try:
            split_endpoint(address, field_name="api_url")
        except InvalidInputError as error:
            raise ValueError(error.errors[0].reason.rstrip(".")) from None
        return address


class GcsCredentials(KindSchema):
    """The key of a service account; none for a public bucket. Those of the server's machine are never used."""

    service_account: SecretStr | None = Field(
        default=None,
        max_length=30_000,
        title="Service account key",
        description="The text of its JSON key",
        json_schema_extra=SEVERAL_LINES,
    )

    @field_validator("service_account", mode="before")
    @classmethod
    def _as_text(cls, value: JsonValue) -> JsonValue:
        # In a file of credentials, the key stands as it was downloaded.
        return json.dumps(value) if isinstance(value, dict) else value

    @field_validator("service_account")
    @classmethod
    def _is_account(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value().strip():
            return None
        service_account(value.get_secret_value())
        return value


class GcsConnector(BucketConnector):
    """A bucket of Google Cloud Storage."""

    title: ClassVar[str] = "Google Cloud Storage"
    description: ClassVar[str] = "Objects of a bucket of Google Cloud Storage."
    settings_schema: ClassVar[type[KindSchema]] = GcsSettings
    credentials_schema: ClassVar[type[KindSchema]] = GcsCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        given = GcsSettings.model_validate(settings, from_attributes=True)
        secrets = GcsCredentials.model_validate(credentials, from_attributes=True)
        key, self._tokens = secrets.service_account, cast("GoogleTokens | None", None)
        if key is not None:
            self._tokens = GoogleTokens(service_account(key.get_secret_value()), context.operator)
        super().__init__(GcsBucket(given, self._tokens, context.operator), prefix=given.prefix, context=context)

    async def close(self) -> None:
        """See Connector."""
        await super().close()
        if self._tokens is not None:
            await self._tokens.close()


class _Object(BaseModel):
    name: str = Field(min_length=1, max_length=1024)
    generation: str = Field(pattern=r"^[0-9]{1,20}$")
    size: str = Field(pattern=r"^[0-9]{1,18}$")
    contentType: str = ""  # noqa: N815  # the API's names
    updated: str = Field(default="", max_length=40)
    customerEncryption: dict[str, JsonValue] | None = None  # noqa: N815


class _List(BaseModel):
    nextPageToken: str | None = Field(default=None, max_length=4000)  # noqa: N815
    items: Sequence[_Object] = ()


class GcsBucket:
    """The requests of a bucket."""

    continues_by_key = True

    def __init__(self, settings: GcsSettings, tokens: GoogleTokens | None, operator: SourceSettings) -> None:
        self._settings = settings
        self._tokens = tokens
        origin, path = split_endpoint(settings.api_url, field_name="settings.api_url")
        self._path = f"{path}/storage/v1/b/{settings.bucket}/o"
        self._paying = [("userProject", settings.billing_project)] if settings.billing_project else []
        self._first = ""
        """The name that the listing under way began at: its further pages must name it too."""
        self.client = BucketClient(operator, Store("Google Cloud Storage", origin, self._sign, self._explain))

    async def page(self, position: Position, most: int) -> ObjectPage:
        """See Bucket."""
        query = [("fields", LIST_FIELDS), ("maxResults", str(most)), ("prefix", self._settings.prefix), *self._paying]
        if position.token is not None:
            query.append(("pageToken", position.token))
        else:
            self._first = position.after or ""
        if self._first:
            query.append(("startOffset", self._first))
        content = await self.client.read(BucketRequest("GET", self._path, [part for part in query if part[1]]))
        try:
            found = await asyncio.to_thread(_List.model_validate_json, content)
        except ValidationError:
            raise PermanentError("Google Cloud Storage does not answer with a list of objects.") from None
        # The offset itself belongs to the list.
        objects = [self._object(each) for each in found.items if each.name != self._first]
        return ObjectPage(objects, found.nextPageToken or None)

    async def head(self, key: str) -> BucketObject | None:
        """See Bucket."""
        if key in (".", ".."):  # no names of objects, and other places in an address
            return None
        try:
            content = await self.client.read(self._request(key, ("fields", OBJECT_FIELDS)))
        except NotFoundError:
            return None
        try:
            return self._object(_Object.model_validate_json(content))
        except ValidationError:
            raise PermanentError("Google Cloud Storage does not answer with an object.") from None

    async def open(self, key: str) -> httpx.Response:
        """See Bucket."""
        return await self.client.open(self._request(key, ("alt", "media")))

    def opened_version(self, headers: httpx.Headers) -> str | None:
        """See Bucket."""
        del headers
        return None

    def _request(self, key: str, parameter: tuple[str, str]) -> BucketRequest:
        return BucketRequest("GET", f"{self._path}/{quote(key, safe='')}", [parameter, *self._paying])

    def _object(self, found: _Object) -> BucketObject:
        is_sealed = found.customerEncryption is not None
        return BucketObject(
            key=found.name,
            byte_size=int(found.size),
            version=found.generation,
            modified=found.updated or None,
            content_type=found.contentType[:200] or None,
            # The address for people who are signed in at Google.
            source_url=f"https://storage.cloud.google.com/{self._settings.bucket}/{quote(found.name, safe='/')}",
            skip_reason="It is encrypted by a key of its owner (customer-supplied)." if is_sealed else None,
        )

    async def _sign(self, request: BucketRequest) -> BucketRequest:
        if self._tokens is None:
            return request
        return request.with_headers({"authorization": f"Bearer {await self._tokens.token()}"})

    def _explain(self, refusal: Refusal) -> AnalytiqError | None:
        reason = _reason_of(refusal.body)
        if refusal.status == 403 and reason in _RATE_REASONS:
            return RateLimitedError("Google Cloud Storage asks to slow down.")
        if reason == "userProjectMissing" or (refusal.status == 400 and not self._paying and reason == "required"):
            return InvalidInputError.of_field(
                "settings.billing_project", "The requester pays for the bucket. Give the project that pays."
            )
        if refusal.status in (401, 403) and self._tokens is None:
            return CredentialsRefusedError("Google does not let everybody read it. Give the key of a service account.")
        if refusal.status in (401, 403):
            if refusal.status == 401 and self._tokens is not None:
                self._tokens.forget()
            return CredentialsRefusedError(
                "Google denies the access. The service account needs the role Storage Object Viewer for the bucket."
            )
        return None


class _Fault(BaseModel):
    reason: str = ""


class _Faults(BaseModel):
    errors: Sequence[_Fault] = ()


class _Failure(BaseModel):
    error: _Faults


def _reason_of(body: bytes) -> str:
    try:
        errors = _Failure.model_validate_json(body).error.errors
    except ValidationError:
        return ""
    return errors[0].reason if errors else ""
