"""Containers of Azure: proofs, lists and refusals."""

import base64
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import (
    Connector,
    ItemGoneError,
    ItemRefusedError,
    ListedBatch,
    ListedItem,
    PositionExpiredError,
)
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds.azure import AzureCredentials, AzureSettings, access_of
from analytiq.ingestion.sources.systems.buckets.azure_listing import blob_page
from analytiq.ingestion.sources.systems.buckets.azure_signing import SharedKey
from analytiq.ingestion.sources.systems.buckets.requests import BucketRequest
from analytiq.settings import SourceSettings
from tests.contract.made_sources import opening
from tests.fakes.azure_server import ACCOUNT, KEY, SAS, AzureServer

LOCAL = SourceSettings(private_hosts=("127.0.0.1",))
CONTAINER = ("restype", "container")
WRONG_KEY = base64.b64encode(b"another key").decode()


@pytest.fixture
def service() -> Iterator[AzureServer]:
    with AzureServer() as made:
        yield made


def connected(service: AzureServer, credentials: dict[str, JsonValue] | None = None, **changes: JsonValue) -> Connector:
    settings = {"account": ACCOUNT, "container": service.container, "endpoint_url": service.url, **changes}
    secrets = {"account_key": KEY} if credentials is None else credentials
    return opening("azure", settings, LOCAL, credentials=secrets)()


async def batches_of(connector: Connector, cursor: str | None = None) -> list[ListedBatch]:
    return [batch async for batch in connector.list_changes(cursor)]


async def listed(connector: Connector) -> list[ListedItem]:
    return [item for batch in await batches_of(connector) for item in batch.items]


async def content_of(connector: Connector, item: ListedItem) -> bytes:
    return b"".join([block async for block in (await connector.fetch(item)).content])


@pytest.mark.parametrize(
    ("path", "query", "signature"),
    [
        (
            "/docs",
            [("comp", "list"), ("marker", "2!74!abc+="), ("maxresults", "1000"), ("prefix", "a b/ü"), CONTAINER],
            "MYPIUarvznXhrmnDlrLhp+eGkEKwoF52J5teaHnBg4Y=",
        ),
        ("/docs/a//b%20c%2Bd%25/..%C3%BC%28%27.txt", [], "AnSEpxyHgDkaqACcrGx/e2s7Hth8hqLwmEFYF/1ctvw="),
        ("/acct/docs/x.txt", [], "41QBgaA5QIC4hyS6aZa9qbyCoQ3Lkr8R8SL5TTaAAQk="),
    ],
)  # fmt: skip
def test_signature_is_that_of_azures_own_library(path: str, query: list[tuple[str, str]], signature: str) -> None:
    """The values are those of azure-storage-blob 12.31.1."""
    headers = {"x-ms-date": "Mon, 30 Nov 2026 12:00:00 GMT", "x-ms-version": "2021-12-02", "user-agent": "x"}
    request = BucketRequest("GET", path, query, headers)
    assert SharedKey("acct", b"k" * 64).authorization(request) == f"SharedKey acct:{signature}"


@pytest.mark.parametrize(
    "credentials",
    [
        {"account_key": KEY},
        {"sas_token": SAS},
        {"sas_token": f"?{SAS}"},
        {"connection_string": f"DefaultEndpointsProtocol=https;AccountName={ACCOUNT};AccountKey={KEY};"},
        {"connection_string": f"BlobEndpoint=https://ignored.example.com/;SharedAccessSignature={SAS}"},
    ],
)
async def test_odd_names_are_listed_and_read_with_each_proof(
    service: AzureServer, credentials: dict[str, JsonValue]
) -> None:
    names = ("a//b.txt", "a b+c%20&=?#.txt", "ünï/日本 語😀.txt", "trailing/", "x\\y.txt", "~'(!)*;:@$,.txt")
    for name in names:
        service.write(name, name.encode())
    service.write("folder", b"", kind="directory")
    service.write("control\x01.txt", b"x")
    connector = connected(service, credentials)
    await connector.check()
    items = await listed(connector)
    read = [item for item in items if item.skip_reason is None]
    assert sorted(item.external_id for item in read) == sorted(names)
    assert len(items) == len(names) + 1
    for item in read:
        assert await content_of(connector, item) == item.external_id.encode()
        assert await connector.find(item.external_id) == item
        assert item.source_url is not None
        assert "sig=" not in item.source_url
    assert await connector.find("folder") is None
    await connector.close()


async def test_public_container_needs_no_credentials_and_a_private_one_says_so(service: AzureServer) -> None:
    service.write("a.txt", b"x")
    connector = connected(service, {})
    with pytest.raises(CredentialsRefusedError, match="everybody"):
        await connector.check()
    service.is_public = True
    assert [item.external_id for item in await listed(connector)] == ["a.txt"]
    await connector.close()


async def test_archived_blobs_are_skipped_until_they_are_read_again(service: AzureServer) -> None:
    service.write("old.txt", b"old", tier="Archive")
    connector = connected(service)
    (item,) = await listed(connector)
    assert item.skip_reason is not None
    assert item.skip_reason.startswith("Archived")
    assert await connector.find("old.txt") == item
    service.write("old.txt", b"", tier="Archive")
    with pytest.raises(ItemRefusedError, match="Archived"):
        await connector.fetch(item)
    del service.blobs["old.txt"]
    with pytest.raises(ItemGoneError):
        await connector.fetch(item)
    await connector.close()


async def test_rest_of_a_page_is_listed_after_changes_and_an_expired_position(service: AzureServer) -> None:
    for number in range(500):
        service.write(f"{number:03}.txt", b"x")
    service.page_size = 300
    connector = connected(service)
    batches = await batches_of(connector)
    assert [len(batch.items) for batch in batches] == [200, 100, 200]
    service.write("1995.txt", b"new on the page before")
    del service.blobs["299.txt"]
    rest = [item.external_id for batch in await batches_of(connector, batches[0].cursor) for item in batch.items]
    assert rest[0] == "1995.txt"  # between 199.txt and 200.txt
    assert len(set(rest)) == 300
    # The last item is gone: its page is listed again, which costs comparisons.
    rest = [item.external_id for batch in await batches_of(connector, batches[1].cursor) for item in batch.items]
    assert set(rest) >= {f"{number:03}.txt" for number in range(300, 500)}

    service.expired_markers.add("2!" + base64.b64encode(b"300.txt").decode())
    with pytest.raises(PositionExpiredError):
        await batches_of(connector, batches[2].cursor)
    await connector.close()


@pytest.mark.parametrize(
    ("credentials", "words"),
    [
        ({"account_key": WRONG_KEY}, "AuthenticationFailed"),
        ({"sas_token": SAS.replace("sig=a", "sig=b")}, "AuthenticationFailed"),
    ],
)
async def test_wrong_proofs_are_told_without_them(
    service: AzureServer, credentials: dict[str, JsonValue], words: str
) -> None:
    connector = connected(service, credentials)
    with pytest.raises(CredentialsRefusedError, match=words) as refused:
        await connector.check()
    assert all(str(secret) not in refused.value.detail for secret in credentials.values())
    await connector.close()


async def test_missing_container_and_private_address_are_told(service: AzureServer) -> None:
    connector = connected(service, container="nothing-here")
    with pytest.raises(NotFoundError, match="nothing-here"):
        await connector.check()
    await connector.close()
    settings = {"account": ACCOUNT, "container": "docs", "endpoint_url": service.url}
    connector = opening("azure", settings, SourceSettings())()
    with pytest.raises(ForbiddenAddressError):
        await connector.check()
    await connector.close()


@pytest.mark.parametrize(
    ("settings", "credentials", "endpoint"),
    [
        ({"account": "acme"}, {}, "https://acme.blob.core.windows.net"),
        ({}, {"connection_string": f"AccountName=acme;AccountKey={KEY}"}, "https://acme.blob.core.windows.net"),
        (
            {},
            {"connection_string": f"AccountName=acme;AccountKey={KEY};EndpointSuffix=core.chinacloudapi.cn"},
            "https://acme.blob.core.chinacloudapi.cn",
        ),
        ({}, {"connection_string": f"BlobEndpoint=https://b.example.com;SharedAccessSignature={SAS}"}, "https://b.example.com"),
    ],
)  # fmt: skip
def test_addresses_of_an_account(settings: dict[str, JsonValue], credentials: dict[str, str], endpoint: str) -> None:
    given = AzureSettings.model_validate({"container": "docs", **settings})
    assert access_of(given, AzureCredentials.model_validate(credentials)).endpoint == endpoint


@pytest.mark.parametrize(
    ("settings", "credentials"),
    [
        ({}, {}),
        ({}, {"account_key": KEY}),
        ({"account": "evil.example/"}, {}),
        ({"account": "acme", "container": "a/../b"}, {}),
        ({"account": "acme", "container": "a--b"}, {}),
        ({"account": "acme"}, {"account_key": "no Base64!"}),
        ({"account": "acme"}, {"account_key": KEY, "sas_token": SAS}),
        ({"account": "acme"}, {"sas_token": "no token"}),
        ({"account": "acme"}, {"sas_token": f"{SAS}&comp=acl"}),
        ({"account": "acme"}, {"connection_string": "UseDevelopmentStorage=true"}),
        ({"account": "acme"}, {"connection_string": f"AccountName=other;AccountKey={KEY}"}),
        ({}, {"connection_string": f"AccountName=evil.example/x?;AccountKey={KEY}"}),
        ({}, {"connection_string": f"AccountName=acme;AccountKey={KEY};EndpointSuffix=evil/"}),
    ],
)
def test_wrong_settings_are_refused_without_a_secret(
    settings: dict[str, JsonValue], credentials: dict[str, JsonValue]
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        opening("azure", {"container": "docs", **settings}, LOCAL, credentials=credentials)()
    assert KEY not in refused.value.detail


def blob(inner: str) -> bytes:
    return f"<EnumerationResults><Blobs><Blob>{inner}</Blob></Blobs></EnumerationResults>".encode()


@pytest.mark.parametrize(
    "content",
    [
        b"<html/>",
        b"{}",
        b"<EnumerationResults/>",
        blob("<Name>a</Name>"),
        blob("<Name></Name><Properties><Content-Length>1</Content-Length></Properties>"),
        blob("<Name>a</Name><Properties><Content-Length>1e9</Content-Length></Properties>"),
    ],
)
def test_damaged_lists_are_refused(content: bytes) -> None:
    with pytest.raises(PermanentError):
        blob_page(content)
