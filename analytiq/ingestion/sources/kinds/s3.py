"""Buckets of Amazon S3 and of services that speak its protocol.

botocore signs the requests (`botocore.auth`). Its session is not used: it reads the machine's credentials, files and
metadata service, and opens connections by itself.
"""

import asyncio
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Protocol, cast
from urllib.parse import quote

import httpx
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from lxml import etree
from pydantic import Field, SecretStr, field_validator, model_validator

from analytiq.errors import (
    AccessDeniedError,
    AnalytiqError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
)
from analytiq.ingestion.parsing.xml_part import parsed_xml
from analytiq.ingestion.sources.base import ItemRefusedError, KindSchema, SourceContext
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
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
from analytiq.ingestion.sources.systems.buckets.s3_listing import (
    object_of_headers,
    opened_version,
    quoted_key,
    s3_list,
    text_of,
)
from analytiq.settings import SourceSettings

LIST_HEADERS = {"x-amz-optional-object-attributes": "RestoreStatus"}
REQUESTER_PAYS = {"x-amz-request-payer": "requester"}
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_REGION = re.compile(r"[a-z0-9-]{1,40}")
_CODE = re.compile(r"[A-Za-z0-9.]{1,80}")
_WRONG_KEYS = frozenset({
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
    "InvalidSecurity", "AccountProblem", "NotSignedUp",
})  # fmt: skip


class Addressing(StrEnum):
    """The place of the bucket's name in addresses."""

    AUTO = "auto"
    PATH = "path"
    HOST = "host"


class S3Settings(KindSchema):
    """The settings of an S3 bucket."""

    bucket: str = Field(description="Name of the bucket")
    prefix: str = Field(
        default="", max_length=1024, description="Beginning of the keys to read, such as contracts/2026/"
    )
    region: str = Field(default="us-east-1", description="Region of the bucket")
    endpoint_url: str | None = Field(
        default=None,
        max_length=500,
        title="Endpoint",
        description="Address of a compatible service, such as https://minio.example.com; empty for Amazon S3",
    )
    addressing: Addressing = Field(
        default=Addressing.AUTO,
        description="Place of the bucket in addresses: auto is the host for Amazon S3, the path for other services",
    )
    requester_pays: bool = Field(
        default=False, description="Accept that the account of the access key pays for the requests"
    )

    @field_validator("bucket")
    @classmethod
    def _is_bucket(cls, bucket: str) -> str:
        if not _BUCKET.fullmatch(bucket) or ".." in bucket:
            raise ValueError("Must be the name of a bucket: 3 to 255 letters, digits, dots and dashes")
        return bucket

    @field_validator("region")
    @classmethod
    def _is_region(cls, region: str) -> str:
        if not _REGION.fullmatch(region):
            raise ValueError("Must be the name of a region, such as eu-central-1")
        return region

    @field_validator("endpoint_url")
    @classmethod
    def _is_endpoint(cls, endpoint: str | None) -> str | None:
        return checked_endpoint(endpoint)


class S3Credentials(KindSchema):
    """An access key; none for a public bucket. Those of the server's machine are never used."""

    access_key_id: str | None = Field(default=None, max_length=200, title="Access key ID")
    secret_access_key: SecretStr | None = Field(default=None, max_length=500, title="Secret access key")
    session_token: SecretStr | None = Field(
        default=None, max_length=5000, title="Session token", description="Of temporary credentials only"
    )

    @model_validator(mode="after")
    def _is_whole(self) -> "S3Credentials":
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("`access_key_id` and `secret_access_key` belong together")
        if self.session_token is not None and self.access_key_id is None:
            raise ValueError("`session_token` belongs to an access key")
        texts = [
            self.access_key_id or "",
            *(each.get_secret_value() for each in (self.secret_access_key, self.session_token) if each is not None),
        ]
        if not all(text.isascii() and text.isprintable() for text in texts):
            raise ValueError("A key holds characters that cannot be sent")
        return self


class S3Connector(BucketConnector):
    """A bucket of S3."""

    title: ClassVar[str] = "Amazon S3"
    description: ClassVar[str] = "Objects of a bucket of Amazon S3 or a compatible service, such as MinIO."
    settings_schema: ClassVar[type[KindSchema]] = S3Settings
    credentials_schema: ClassVar[type[KindSchema]] = S3Credentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        given = S3Settings.model_validate(settings, from_attributes=True)
        keys = S3Credentials.model_validate(credentials, from_attributes=True)
        super().__init__(S3Bucket(given, keys, context.operator), prefix=given.prefix, context=context)


class _Signer(Protocol):
    """The used part of botocore's signer, which is not typed."""

    def add_auth(self, request: AWSRequest) -> None:
        """Add the headers of the signature."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    """The origin of a bucket's addresses, and their path."""

    origin: str
    path: str


class S3Bucket:
    """The requests of a bucket."""

    continues_by_key = True

    def __init__(self, settings: S3Settings, credentials: S3Credentials, operator: SourceSettings) -> None:
        self._settings = settings
        self._place = place_of(settings)
        self._keys: Credentials | None = None
        if credentials.access_key_id is not None and credentials.secret_access_key is not None:
            token = credentials.session_token
            self._keys = Credentials(
                credentials.access_key_id,
                credentials.secret_access_key.get_secret_value(),
                token.get_secret_value() if token is not None else None,
            )
        self._headers = dict(REQUESTER_PAYS) if settings.requester_pays else {}
        self.client = BucketClient(operator, Store("S3", self._place.origin, self._sign, self._explain))

    async def page(self, position: Position, most: int) -> ObjectPage:
        """See Bucket."""
        query = [
            ("encoding-type", "url"),
            ("list-type", "2"),
            ("max-keys", str(most)),
            ("prefix", self._settings.prefix),
        ]
        if position.token is not None:
            query.append(("continuation-token", position.token))
        elif position.after is not None:
            query.append(("start-after", position.after))
        # Other services know no archive, and one of them may refuse what it does not know.
        headers = self._headers if self._settings.endpoint_url else {**self._headers, **LIST_HEADERS}
        content = await self.client.read(BucketRequest("GET", self._place.path or "/", query, headers))
        found = await asyncio.to_thread(s3_list, content)
        if found.is_truncated and found.next_token is None:
            raise PermanentError("S3 breaks off its list without a token for the rest. Is this a compatible service?")
        objects = [replace(each, source_url=self._url_of(each.key)) for each in found.objects]
        return ObjectPage(objects, found.next_token if found.is_truncated else None)

    async def head(self, key: str) -> BucketObject | None:
        """See Bucket."""
        headers = await self.client.head(self._request("HEAD", key))
        if headers is None:
            return None
        return replace(object_of_headers(key, headers), source_url=self._url_of(key))

    async def open(self, key: str) -> httpx.Response:
        """See Bucket."""
        return await self.client.open(self._request("GET", key))

    def opened_version(self, headers: httpx.Headers) -> str | None:
        """See Bucket."""
        return opened_version(headers)

    def _request(self, method: str, key: str) -> BucketRequest:
        return BucketRequest(method, f"{self._place.path}/{quoted_key(key)}", headers=self._headers)

    async def _sign(self, request: BucketRequest) -> BucketRequest:
        if self._keys is None:
            return request
        made = AWSRequest(
            method=request.method, url=f"{self._place.origin}{request.target}", headers=dict(request.headers), data=b""
        )
        signer = cast("_Signer", S3SigV4Auth(self._keys, "s3", self._settings.region))
        signer.add_auth(made)
        return replace(request, headers=dict(made.headers.items()))

    def _url_of(self, key: str) -> str | None:
        """Return the address of an object: of itself if it is public, else in Amazon's console."""
        if self._keys is None:
            return f"{self._place.origin}{self._place.path}/{quoted_key(key)}"
        if self._settings.endpoint_url is not None:
            return None
        region, bucket = self._settings.region, quote(self._settings.bucket)
        return (
            f"https://{region}.console.aws.amazon.com/s3/object/{bucket}?region={region}&prefix={quote(key, safe='')}"
        )

    def _explain(self, refusal: Refusal) -> AnalytiqError | None:
        code, told_region = _code_of(refusal.body)
        region = refusal.headers.get("x-amz-bucket-region", "") or told_region
        if refusal.status in (301, 307, 400) and _REGION.fullmatch(region) and region != self._settings.region:
            return InvalidInputError.of_field(
                "settings.region", f"The bucket is in the region {region!r}. Set `region` to it."
            )
        if refusal.status == 301 or code == "PermanentRedirect":
            return InvalidInputError.of_field(
                "settings.region", "The bucket is in another region, or at another endpoint."
            )
        if code in _WRONG_KEYS:
            return CredentialsRefusedError(f"S3 refuses the access key ({code}). Renew the credentials.")
        if code == "RequestTimeTooSkewed":
            return AccessDeniedError(
                "The clock of this server differs from that of S3 by minutes. The operator sets it."
            )
        if code == "InvalidObjectState":
            return ItemRefusedError("Archived by S3. Restore the object, and run the source again.")
        if code == "NoSuchBucket":
            return NotFoundError(f"The bucket {self._settings.bucket!r} does not exist there. Check name and endpoint.")
        if refusal.status == 403:
            return CredentialsRefusedError(self._denied())
        return None

    def _denied(self) -> str:
        if self._keys is None:
            return "S3 does not let everybody read it. Give an access key."
        hint = "" if self._settings.requester_pays else " If the requester pays for the bucket, set `requester_pays`."
        return f"S3 denies the access. The access key needs the rights s3:ListBucket and s3:GetObject.{hint}"


def place_of(settings: S3Settings) -> _Place:
    """Return the addresses of a bucket."""
    bucket = settings.bucket
    if settings.endpoint_url is None:
        domain = "amazonaws.com.cn" if settings.region.startswith("cn-") else "amazonaws.com"
        origin, path = f"https://s3.{settings.region}.{domain}", ""
    else:
        origin, path = split_endpoint(settings.endpoint_url, field_name="settings.endpoint_url")
    # The certificate of *.s3… does not cover a name with dots.
    is_host = settings.endpoint_url is None and "." not in bucket and "_" not in bucket and bucket == bucket.lower()
    if settings.addressing is not Addressing.AUTO:
        is_host = settings.addressing is Addressing.HOST
    if not is_host:
        return _Place(origin, f"{path}/{bucket}")
    scheme, _, host = origin.partition("://")
    return _Place(f"{scheme}://{bucket}.{host}", path)


def _code_of(body: bytes) -> tuple[str, str]:
    """Return the code of an error and the region that it names; "" for what it does not say."""
    try:
        root = parsed_xml(body)
    except (etree.XMLSyntaxError, ValueError):
        return "", ""
    code = text_of(root, "Code")
    return (code if _CODE.fullmatch(code) else ""), text_of(root, "Region")[:40]
