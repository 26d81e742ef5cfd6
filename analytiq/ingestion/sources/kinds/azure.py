"""Containers of Azure Blob Storage."""

import asyncio
import re
from dataclasses import dataclass, replace
from typing import ClassVar

import httpx
from lxml import etree
from pydantic import Field, SecretStr, field_validator, model_validator

from analytiq.errors import AccessDeniedError, AnalytiqError, InvalidInputError, NotFoundError
from analytiq.ingestion.parsing.xml_part import parsed_xml
from analytiq.ingestion.sources.base import ItemRefusedError, KindSchema, PositionExpiredError, SourceContext
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.buckets.azure_listing import archive_reason, blob_page
from analytiq.ingestion.sources.systems.buckets.azure_signing import (
    AzureProof,
    SharedKey,
    connection_parts,
    decoded_key,
    signature_parameters,
)
from analytiq.ingestion.sources.systems.buckets.connector import BucketConnector, ObjectPage, Position
from analytiq.ingestion.sources.systems.buckets.keys import BucketObject
from analytiq.ingestion.sources.systems.buckets.requests import (
    BucketClient,
    BucketRequest,
    Refusal,
    Store,
    checked_endpoint,
    split_endpoint,
)
from analytiq.ingestion.sources.systems.buckets.s3_listing import object_of_headers, quoted_key, text_of
from analytiq.settings import SourceSettings

SUFFIX = "core.windows.net"
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_CONTAINER = re.compile(r"(?=.{3,63}\Z)(?:\$web|\$root|[a-z0-9](?:-?[a-z0-9])+)")
_SUFFIX = re.compile(r"[a-z0-9.-]{1,100}")
_CODE = re.compile(r"[A-Za-z]{1,80}")


class AzureSettings(KindSchema):
    """The settings of a container."""

    account: str | None = Field(
        default=None, title="Storage account", description="Name of the account; a connection string has it too"
    )
    container: str = Field(description="Name of the container")
    prefix: str = Field(
        default="", max_length=1024, description="Beginning of the names to read, such as contracts/2026/"
    )
    endpoint_url: str | None = Field(
        default=None,
        max_length=500,
        title="Endpoint",
        description="Address of the blob service; empty for https://ACCOUNT.blob.core.windows.net",
    )

    @field_validator("account")
    @classmethod
    def _is_account(cls, account: str | None) -> str | None:
        if account and not _ACCOUNT.fullmatch(account):
            raise ValueError("Must be the name of an account: 3 to 24 lower-case letters and digits")
        return account or None

    @field_validator("container")
    @classmethod
    def _is_container(cls, container: str) -> str:
        if not _CONTAINER.fullmatch(container):
            raise ValueError("Must be the name of a container: 3 to 63 lower-case letters, digits and single dashes")
        return container

    @field_validator("endpoint_url")
    @classmethod
    def _is_endpoint(cls, endpoint: str | None) -> str | None:
        return checked_endpoint(endpoint)


class AzureCredentials(KindSchema):
    """One of an account key, a SAS token and a connection string; none for a public container."""

    account_key: SecretStr | None = Field(default=None, max_length=500, title="Account key")
    sas_token: SecretStr | None = Field(
        default=None, max_length=4000, title="SAS token", description="With the rights to read and to list"
    )
    connection_string: SecretStr | None = Field(default=None, max_length=5000, title="Connection string")

    @model_validator(mode="after")
    def _is_usable(self) -> "AzureCredentials":
        given = [each for each in (self.account_key, self.sas_token, self.connection_string) if each is not None]
        if len(given) > 1:
            raise ValueError("Give one of `account_key`, `sas_token` and `connection_string`")
        if self.account_key is not None:
            decoded_key(self.account_key.get_secret_value())
        if self.sas_token is not None:
            signature_parameters(self.sas_token.get_secret_value())
        if self.connection_string is not None:
            parts = connection_parts(self.connection_string.get_secret_value())
            if "AccountKey" in parts:
                decoded_key(parts["AccountKey"])
            else:
                signature_parameters(parts["SharedAccessSignature"])
        return self


class AzureConnector(BucketConnector):
    """A container of Azure."""

    title: ClassVar[str] = "Azure Blob Storage"
    description: ClassVar[str] = "Blobs of a container of Azure Storage, also with Data Lake folders."
    settings_schema: ClassVar[type[KindSchema]] = AzureSettings
    credentials_schema: ClassVar[type[KindSchema]] = AzureCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        given = AzureSettings.model_validate(settings, from_attributes=True)
        secrets = AzureCredentials.model_validate(credentials, from_attributes=True)
        super().__init__(AzureContainer(given, secrets, context.operator), prefix=given.prefix, context=context)


@dataclass(frozen=True, slots=True)
class AzureAccess:
    """The address of the blob service, and the proof for it."""

    endpoint: str
    proof: AzureProof


class AzureContainer:
    """The requests of a container."""

    continues_by_key = False

    def __init__(self, settings: AzureSettings, credentials: AzureCredentials, operator: SourceSettings) -> None:
        self._settings = settings
        self._access = access_of(settings, credentials)
        origin, path = split_endpoint(self._access.endpoint, field_name="settings.endpoint_url")
        self._origin, self._path = origin, f"{path}/{settings.container}"
        self.client = BucketClient(operator, Store("Azure", origin, self._access.proof.sign, self._explain))

    async def page(self, position: Position, most: int) -> ObjectPage:
        """See Bucket."""
        query = [
            ("comp", "list"),
            ("maxresults", str(most)),
            ("prefix", self._settings.prefix),
            ("restype", "container"),
        ]
        if position.token is not None:
            query.append(("marker", position.token))
        content = await self.client.read(BucketRequest("GET", self._path, [part for part in query if part[1]]))
        page = await asyncio.to_thread(blob_page, content)
        return replace(page, objects=[replace(blob, source_url=self._url_of(blob.key)) for blob in page.objects])

    async def head(self, key: str) -> BucketObject | None:
        """See Bucket."""
        headers = await self.client.head(self._request("HEAD", key))
        if headers is None or headers.get("x-ms-resource-type", "") == "directory":
            return None
        return replace(
            object_of_headers(key, headers),
            content_type=headers.get("content-type", "")[:200] or None,
            source_url=self._url_of(key),
            skip_reason=archive_reason(headers.get("x-ms-access-tier", "")),
        )

    async def open(self, key: str) -> httpx.Response:
        """See Bucket."""
        return await self.client.open(self._request("GET", key))

    def opened_version(self, headers: httpx.Headers) -> str | None:
        """See Bucket."""
        del headers
        return None

    def _request(self, method: str, key: str) -> BucketRequest:
        return BucketRequest(method, f"{self._path}/{quoted_key(key)}")

    def _url_of(self, key: str) -> str:
        """Return the address of a blob, without the proof."""
        return f"{self._origin}{self._path}/{quoted_key(key)}"

    def _explain(self, refusal: Refusal) -> AnalytiqError | None:
        code = _code_of(refusal)
        is_anonymous = self._access.proof == AzureProof()
        if code == "BlobArchived":
            return ItemRefusedError("Archived. Change the blob's tier to Cool or Hot, and run the source again.")
        if code == "ContainerNotFound":
            return NotFoundError(f"The container {self._settings.container!r} does not exist there. Check the names.")
        if code in ("OutOfRangeInput", "InvalidQueryParameterValue", "InvalidMarker") and refusal.status == 400:
            return PositionExpiredError("Azure does not know that position any more.")
        if code in ("PublicAccessNotPermitted", "NoAuthenticationInformation", "ResourceNotFound") and is_anonymous:
            return CredentialsRefusedError("Azure does not let everybody read it. Give a key, a token or a string.")
        if code == "AuthenticationFailed":
            return CredentialsRefusedError(
                "Azure refuses the proof (AuthenticationFailed): the key is wrong, the token has expired, or the clock"
                " of this server is wrong."
            )
        if refusal.status == 403:
            return CredentialsRefusedError(
                f"Azure denies the access{f' ({code})' if code else ''}. The token needs the rights to read and to"
                " list; the firewall of the account must let this server in."
            )
        if code == "AccountIsDisabled":
            return AccessDeniedError("The storage account is disabled.")
        return None


def access_of(settings: AzureSettings, credentials: AzureCredentials) -> AzureAccess:
    """Return the address and the proof of a container.

    Raises:
        InvalidInputError: the name of the account is missing or another one.
    """
    parts: dict[str, str] = {}
    if credentials.connection_string is not None:
        parts = dict(connection_parts(credentials.connection_string.get_secret_value()))
    account = settings.account or parts.get("AccountName")
    suffix = parts.get("EndpointSuffix", SUFFIX)
    endpoint = settings.endpoint_url or parts.get("BlobEndpoint")
    if (account is None and endpoint is None) or (account is not None and not _ACCOUNT.fullmatch(account)):
        raise InvalidInputError.of_field("settings.account", "Give the name of the storage account.")
    if parts.get("AccountName", account) != account:
        raise InvalidInputError.of_field("settings.account", "The connection string is that of another account.")
    if not _SUFFIX.fullmatch(suffix):
        raise InvalidInputError.of_field("credentials.connection_string", "EndpointSuffix is no name of a domain.")
    key = credentials.account_key.get_secret_value() if credentials.account_key else parts.get("AccountKey")
    token = credentials.sas_token.get_secret_value() if credentials.sas_token else parts.get("SharedAccessSignature")
    if key is not None and account is None:
        raise InvalidInputError.of_field("settings.account", "Give the name of the storage account.")
    proof = AzureProof(
        shared_key=SharedKey(account, decoded_key(key)) if key is not None and account is not None else None,
        signature=signature_parameters(token) if token is not None and key is None else (),
    )
    return AzureAccess(endpoint or f"https://{account}.blob.{suffix}", proof)


def _code_of(refusal: Refusal) -> str:
    code = refusal.headers.get("x-ms-error-code", "")
    if not code:
        try:
            code = text_of(parsed_xml(refusal.body), "Code")
        except (etree.XMLSyntaxError, ValueError):
            return ""
    return code if _CODE.fullmatch(code) else ""
