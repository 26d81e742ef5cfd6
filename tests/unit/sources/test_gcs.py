"""Buckets of Google Cloud Storage: tokens of service accounts, lists and refusals."""

from collections.abc import Iterator

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import JsonValue

from analytiq.errors import InvalidInputError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import Connector, ItemGoneError, ListedBatch, ListedItem
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.buckets.google_tokens import ServiceAccount, require_token_address
from analytiq.settings import SourceSettings
from tests.contract.made_sources import opening
from tests.fakes.gcs_server import BUCKET, GcsServer, private_key
from tests.fakes.server_loop import AppServer

LOCAL = SourceSettings(private_hosts=("127.0.0.1",))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[GcsServer]:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)
    with GcsServer() as made:
        yield made


def connected(service: GcsServer, account: dict[str, str] | None = None, **changes: JsonValue) -> Connector:
    settings = {"bucket": BUCKET, "api_url": service.url, **changes}
    key: dict[str, JsonValue] = {**(service.account() if account is None else account)}
    return opening("gcs", settings, LOCAL, credentials={"service_account": key} if key else {})()


async def batches_of(connector: Connector, cursor: str | None = None) -> list[ListedBatch]:
    return [batch async for batch in connector.list_changes(cursor)]


async def listed(connector: Connector) -> list[ListedItem]:
    return [item for batch in await batches_of(connector) for item in batch.items]


async def test_odd_names_are_listed_and_read(service: GcsServer) -> None:
    names = (
        "a//b.txt",
        "a/../c.txt",
        "a b+c%20&=?#.txt",
        "ünï/日本 語😀.txt",
        "trailing/",
        "/lead.txt",
        "~'(!)*;:@.txt",
    )
    for name in names:
        service.write(name, name.encode())
    service.write("folder/", b"")
    service.write("sealed.txt", b"x", is_sealed=True)
    connector = connected(service)
    items = await listed(connector)
    read = [item for item in items if item.skip_reason is None]
    assert sorted(item.external_id for item in read) == sorted(names)
    assert len(items) == len(names) + 1
    for item in read:
        fetched = await connector.fetch(item)
        assert b"".join([block async for block in fetched.content]) == item.external_id.encode()
        assert await connector.find(item.external_id) == item
    await connector.close()
    assert len(service.tokens) == 1


async def test_listing_goes_on_behind_a_name_that_was_deleted(service: GcsServer) -> None:
    for number in range(500):
        service.write(f"{number:03}.txt", b"x")
    service.page_size = 300
    connector = connected(service)
    batches = await batches_of(connector)
    del service.objects["199.txt"]
    rest = [item.external_id for batch in await batches_of(connector, batches[0].cursor) for item in batch.items]
    assert rest == [f"{number:03}.txt" for number in range(200, 500)]
    (item, *_) = batches[0].items
    del service.objects[item.external_id]
    with pytest.raises(ItemGoneError):
        await connector.fetch(item)
    await connector.close()


async def test_token_is_renewed_before_it_ends_and_after_it_was_refused(service: GcsServer) -> None:
    service.write("a.txt", b"x")
    service.token_seconds = 30
    connector = connected(service)
    await connector.check()
    await connector.check()
    assert len(service.tokens) == 2
    service.token_seconds = 3600
    await connector.check()
    service.tokens.clear()
    with pytest.raises(CredentialsRefusedError):
        await connector.check()
    await connector.check()
    await connector.close()


async def test_refused_accounts_are_told(service: GcsServer) -> None:
    connector = connected(service, service.account(client_email="somebody@else.example"))
    with pytest.raises(CredentialsRefusedError, match="refuses the service account"):
        await connector.check()
    await connector.close()


async def test_public_bucket_needs_no_credentials_and_a_private_one_says_so(service: GcsServer) -> None:
    service.write("a.txt", b"x")
    connector = connected(service, {})
    with pytest.raises(CredentialsRefusedError, match="everybody"):
        await connector.check()
    service.is_public = True
    assert [item.external_id for item in await listed(connector)] == ["a.txt"]
    assert service.tokens == []
    await connector.close()


async def test_bucket_whose_requester_pays(service: GcsServer) -> None:
    service.payer = "acme-billing"
    service.write("a.txt", b"x")
    connector = connected(service)
    with pytest.raises(InvalidInputError, match="billing_project"):
        await connector.check()
    await connector.close()
    connector = connected(service, billing_project="acme-billing")
    (item,) = await listed(connector)
    await connector.fetch(item)
    assert await connector.find("a.txt") == item
    await connector.close()


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        ([(403, "rateLimitExceeded")], RateLimitedError),
        ([(429, "rateLimitExceeded")] * 4, RateLimitedError),
        ([(403, "forbidden")], CredentialsRefusedError),
    ],
)
async def test_refusals_are_told_apart(
    service: GcsServer, refused: list[tuple[int, str]], error: type[Exception]
) -> None:
    connector = connected(service)
    service.refused = refused
    with pytest.raises(error):
        await connector.check()
    await connector.close()


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("https://oauth2.googleapis.com/token", True),
        ("https://accounts.google.com/o/oauth2/token", True),
        ("http://tokens.internal:8080/token", True),
        ("http://oauth2.googleapis.com/token", False),
        ("https://oauth2.googleapis.com:8443/token", False),
        ("https://user@oauth2.googleapis.com/token", False),
        ("https://oauth2.googleapis.com.evil.example/token", False),
        ("https://evil.example/oauth2.googleapis.com", False),
        ("https://evil.example\\@oauth2.googleapis.com/", False),
        ("file:///etc/passwd", False),
        ("https://[::1", False),
        ("", False),
    ],
)
def test_assertion_goes_to_google_or_where_the_operator_allows(address: str, *, is_allowed: bool) -> None:
    account = ServiceAccount(type="service_account", client_email="a@b", private_key="x", token_uri=address)
    operator = SourceSettings(private_hosts=("tokens.internal",))
    if is_allowed:
        require_token_address(account, operator)
    else:
        with pytest.raises(InvalidInputError, match="token_uri"):
            require_token_address(account, operator)


async def test_private_addresses_are_refused(service: GcsServer) -> None:
    connector = opening("gcs", {"bucket": BUCKET, "api_url": service.url}, SourceSettings())()
    with pytest.raises(ForbiddenAddressError):
        await connector.check()
    await connector.close()


def elliptic_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, none).decode()


@pytest.mark.parametrize(
    "key",
    ["", "no JSON", "{}", {"type": "authorized_user"}, {"private_key": "no PEM"}, {"private_key": elliptic_key()}],
)
def test_wrong_keys_are_refused_without_telling_them(key: JsonValue) -> None:
    whole: JsonValue = {"type": "service_account", "client_email": "a@b", "private_key": private_key()}
    given: JsonValue = {**whole, **key} if isinstance(key, dict) else key
    if given == "":
        opening("gcs", {"bucket": BUCKET}, LOCAL, credentials={"service_account": given})
        return
    with pytest.raises(InvalidInputError) as refused:
        opening("gcs", {"bucket": BUCKET}, LOCAL, credentials={"service_account": given})
    assert "BEGIN" not in refused.value.detail


@pytest.mark.parametrize("settings", [{"bucket": "a/b"}, {"bucket": "docs", "api_url": "ftp://x"}, {"bucket": "..."}])
def test_wrong_settings_are_refused(settings: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidInputError):
        opening("gcs", settings, LOCAL)


@pytest.mark.parametrize(
    "answer",
    [
        "no JSON",
        "[]",
        '{"items": [{"name": "a"}]}',
        '{"items": [{"name": "a", "size": "-1", "generation": "1"}]}',
        '{"items": [{"name": "a", "size": "1", "generation": "1"}], "nextPageToken": "same"}',
        '{"nextPageToken": "same"}',
    ],
)
async def test_damaged_lists_and_lists_without_end_end_the_run(answer: str) -> None:
    async def answers(_: web.Request) -> web.Response:
        return web.Response(text=answer)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answers)
    with AppServer(app) as server:
        connector = opening("gcs", {"bucket": BUCKET, "api_url": server.url}, LOCAL)()
        with pytest.raises(PermanentError):
            await batches_of(connector)
        await connector.close()
