"""Buckets of S3: on moto's server, which checks signatures and rights, and against answers of a hostile service."""

import gzip
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from pydantic import JsonValue

from analytiq.errors import AccessDeniedError, InvalidInputError, NotFoundError, PermanentError, TransientError
from analytiq.ingestion.sources.base import Connector, ItemGoneError, ItemRefusedError, ListedBatch, ListedItem
from analytiq.ingestion.sources.connections import service_client
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds import s3
from analytiq.settings import SourceSettings
from tests.contract.made_sources import opening
from tests.fakes.moto_s3 import MotoS3
from tests.fakes.server_loop import AppServer

LOCAL = SourceSettings(private_hosts=("127.0.0.1", "docs.localhost"))
ODD_KEYS = (
    *("a//b.txt", "a/../c.txt", "a/./d.txt", "..", "/lead.txt", "trailing/", "C:/x.txt", "back\\slash.txt"),
    *("ünï/日本 語😀.txt", "x y+z%20%&=?#.txt", "~t'(!)*;:@$,.txt", f"long/{'n' * 300}.txt"),
)


@pytest.fixture(scope="module")
def moto() -> Iterator[MotoS3]:
    with MotoS3() as store:
        yield store


@pytest.fixture
def store(moto: MotoS3) -> Iterator[MotoS3]:
    before = moto.keys()
    yield moto
    for key in moto.keys() - before:
        moto.remove(key)


def connected(store: MotoS3, **changes: JsonValue) -> Connector:
    settings = {"bucket": store.bucket, "endpoint_url": store.url, **changes}
    return opening("s3", settings, LOCAL, credentials=store.credentials)()


async def listed(connector: Connector) -> list[ListedItem]:
    return [item async for batch in connector.list_changes(None) for item in batch.items]


async def content_of(connector: Connector, item: ListedItem) -> tuple[bytes, str]:
    fetched = await connector.fetch(item)
    return b"".join([block async for block in fetched.content]), fetched.content_type


async def test_object_that_changes_behind_its_listing_has_the_version_of_its_content(store: MotoS3) -> None:
    store.write("a.txt", b"One.")
    connector = connected(store)
    (before,) = await listed(connector)
    store.write("a.txt", b"Two.")
    fetched = await connector.fetch(before)
    assert b"".join([block async for block in fetched.content]) == b"Two."
    assert fetched.version != before.version
    (after,) = await listed(connector)
    assert fetched.version == after.version
    await connector.close()


async def test_odd_keys_are_signed_listed_and_read_as_they_are(store: MotoS3) -> None:
    for key in ODD_KEYS:
        store.write(key, key.encode())
    connector = connected(store)
    items = await listed(connector)
    assert sorted(item.external_id for item in items) == sorted(ODD_KEYS)
    for item in items:
        assert (await content_of(connector, item))[0] == item.external_id.encode()
        assert await connector.find(item.external_id) == item
    await connector.close()


async def test_markers_empty_and_archived_objects_are_no_documents(store: MotoS3) -> None:
    for key, content, storage in (("folder/", b"", None), ("empty.txt", b"", None), ("old.txt", b"x", "GLACIER")):
        store.write(key, content, storage=storage)
    connector = connected(store)
    reasons = {item.external_id: item.skip_reason for item in await listed(connector)}
    assert reasons == {
        "empty.txt": "The object is empty.",
        "old.txt": "Archived in the storage class GLACIER. Restore the object, and run the source again.",
    }
    found = await connector.find("old.txt")
    assert found is not None
    assert found.skip_reason == reasons["old.txt"]
    await connector.close()


async def test_listing_goes_on_over_pages_and_behind_a_key_that_was_deleted(store: MotoS3) -> None:
    for number in range(1250):
        store.write(f"n/{number:04}.txt", b"x")
    connector = connected(store, prefix="n/")
    batches = [batch async for batch in connector.list_changes(None)]
    keys = [item.external_id for batch in batches for item in batch.items]
    assert keys == [f"n/{number:04}.txt" for number in range(1250)]
    store.remove(batches[2].items[-1].external_id)
    rest = [item.external_id async for batch in connector.list_changes(batches[2].cursor) for item in batch.items]
    assert rest == keys[600:]
    await connector.close()


async def test_object_that_vanished_after_it_was_listed_is_gone(store: MotoS3) -> None:
    store.write("a.txt", b"x")
    connector = connected(store)
    (item,) = await listed(connector)
    store.remove("a.txt")
    with pytest.raises(ItemGoneError):
        await connector.fetch(item)
    await connector.close()


async def test_stored_compression_is_undone_and_unknown_types_are_told_by_the_name(store: MotoS3) -> None:
    store.write("a.html", gzip.compress(b"<p>Words"))
    store.set_metadata("a.html", {"Content-Encoding": "gzip", "Content-Type": "text/html; charset=utf-8"})
    store.write("b.pdf", b"%PDF")
    store.write("c.txt", b"damaged")
    store.set_metadata("c.txt", {"Content-Encoding": "gzip"})
    connector = connected(store)
    compressed, plain, damaged = await listed(connector)
    assert await content_of(connector, compressed) == (b"<p>Words", "text/html; charset=utf-8")
    assert await content_of(connector, plain) == (b"%PDF", "application/pdf")
    with pytest.raises(ItemRefusedError):
        await content_of(connector, damaged)
    await connector.close()


@pytest.mark.parametrize(
    ("credentials", "reason"),
    [
        ({"secret_access_key": "wrong"}, "SignatureDoesNotMatch"),
        ({"access_key_id": "AKIAUNKNOWN"}, "InvalidAccessKeyId"),
    ],
)
async def test_wrong_keys_are_told(store: MotoS3, credentials: dict[str, JsonValue], reason: str) -> None:
    settings = {"bucket": store.bucket, "endpoint_url": store.url}
    connector = opening("s3", settings, LOCAL, credentials={**store.credentials, **credentials})()
    with pytest.raises(CredentialsRefusedError, match=reason):
        await connector.check()
    await connector.close()


async def test_missing_bucket_is_told(store: MotoS3) -> None:
    connector = connected(store, bucket="no-such-bucket")
    with pytest.raises(NotFoundError, match="no-such-bucket"):
        await connector.check()
    await connector.close()


class Scripted:
    """A service that answers each request with the next of some answers, then always with the last."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.asked: list[web.Request] = []
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.server = AppServer(app)

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        status, headers, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return web.Response(status=status, headers=headers, body=body)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setattr(service_client, "FIRST_WAIT_SECONDS", 0.001)
    with (made := Scripted()).server:
        yield made


@pytest.fixture
async def hostile(scripted: Scripted) -> AsyncGenerator[Connector]:
    connector = opening("s3", {"bucket": "docs", "endpoint_url": scripted.server.url}, LOCAL)()
    yield connector
    await connector.close()


def page(*keys: str, token: str | None = None) -> tuple[int, dict[str, str], bytes]:
    more = f"<NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    entries = "".join(f'<Contents><Key>{key}</Key><Size>1</Size><ETag>"1"</ETag></Contents>' for key in keys)
    truncated = "true" if token else "false"
    text = f"<ListBucketResult><IsTruncated>{truncated}</IsTruncated>{more}{entries}</ListBucketResult>"
    return 200, {}, text.encode()


async def batches_of(connector: Connector) -> list[ListedBatch]:
    return [batch async for batch in connector.list_changes(None)]


@pytest.mark.parametrize(
    "answers",
    [
        [page("a", token="1"), page("b", token="1")],
        [page("a", token="1"), page("b", token="2"), page("a", token="3")],
        [page(token=str(number)) for number in range(200)],
        [page(*(f"{number:05}" for number in range(1001)))],
        [(200, {}, b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")],
        [(200, {}, b"<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>")],
        [page("a" * 5000)],
        [(200, {}, b"<html><body>Welcome")],
        [(200, {}, b"<html/>")],
        [(200, {}, b"<a>" * 100_000)],
        [(200, {}, b'<!DOCTYPE l [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><l>&b;</l>')],
    ],
)
async def test_lists_without_end_and_damaged_ones_end_the_run(
    scripted: Scripted, hostile: Connector, answers: list[tuple[int, dict[str, str], bytes]]
) -> None:
    scripted.answers = answers
    with pytest.raises(PermanentError):
        await batches_of(hostile)


async def test_answer_is_bounded(scripted: Scripted, hostile: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.buckets.requests.MOST_ANSWER_BYTES", 1000)
    scripted.answers = [(200, {}, b" " * 1001)]
    with pytest.raises(PermanentError, match="1,000 bytes"):
        await batches_of(hostile)


async def test_unordered_list_removes_nothing(scripted: Scripted, hostile: Connector) -> None:
    scripted.answers = [page("b", "a")]
    (batch,) = await batches_of(hostile)
    assert batch.problems
    scripted.answers = [page("b", token="1"), page("a")]
    assert [len(batch.problems) for batch in await batches_of(hostile)] == [0, 1]


async def test_keys_beyond_the_prefix_and_outside_the_patterns_are_no_items(scripted: Scripted) -> None:
    settings = {"bucket": "docs", "endpoint_url": scripted.server.url, "prefix": "a/x"}
    connector = opening("s3", settings, LOCAL, ".txt")()
    scripted.answers = [page("a/w.txt", "a/x.bin", "a/x.txt", token="1"), page("a/y.txt")]
    batches = await batches_of(connector)
    assert [[item.name for item in batch.items] for batch in batches] == [["x.txt"], []]
    assert await connector.find("b.txt") is None
    assert await connector.find("a/x.bin") is None
    await connector.close()


async def test_failures_that_may_pass_are_repeated_with_a_new_signature(scripted: Scripted) -> None:
    keys = {"access_key_id": "AKIA", "secret_access_key": "s", "session_token": "t"}
    settings = {"bucket": "docs", "endpoint_url": f"{scripted.server.url}/base", "requester_pays": True}
    connector = opening("s3", settings, LOCAL, credentials=keys)()
    scripted.answers = [(503, {}, b"<Error><Code>SlowDown</Code></Error>"), page("a")]
    assert [item.external_id for item in await listed(connector)] == ["a"]
    assert len(scripted.asked) == 2
    for request in scripted.asked:
        assert request.path == "/base/docs"
        assert request.headers["x-amz-security-token"] == "t"
        assert request.headers["x-amz-request-payer"] == "requester"
        assert "x-amz-request-payer" in request.headers["authorization"]
    await connector.close()


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ((301, {"x-amz-bucket-region": "eu-west-1", "location": "http://[::1]/"}, ""), InvalidInputError, "eu-west-1"),
        ((301, {}, "PermanentRedirect"), InvalidInputError, "another region"),
        (
            (400, {}, "AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region><Code>"),
            InvalidInputError,
            "eu-west-1",
        ),
        ((403, {}, "AccessDenied"), CredentialsRefusedError, "everybody"),
        ((403, {}, "RequestTimeTooSkewed"), AccessDeniedError, "clock"),
        ((403, {}, "\0"), CredentialsRefusedError, "everybody"),
        ((404, {}, "NoSuchBucket"), NotFoundError, "docs"),
        ((500, {}, "<Code>" * 100_000), TransientError, "500"),
        ((302, {"location": "http://169.254.169.254/latest/"}, ""), PermanentError, "302"),
    ],
)
async def test_refusals_say_what_to_do(
    scripted: Scripted,
    hostile: Connector,
    answer: tuple[int, dict[str, str], str],
    error: type[Exception],
    words: str,
) -> None:
    status, headers, code = answer
    scripted.answers = [(status, headers, f"<Error><Code>{code}</Code></Error>".encode())]
    with pytest.raises(error, match=words):
        await hostile.check()


async def test_private_addresses_are_refused() -> None:
    for endpoint in ("http://127.0.0.1:9", "http://169.254.169.254", "http://[::1]:9"):
        connector = opening("s3", {"bucket": "docs", "endpoint_url": endpoint}, SourceSettings())()
        with pytest.raises(ForbiddenAddressError):
            await connector.check()
        await connector.close()


@pytest.mark.parametrize(
    ("settings", "origin", "path"),
    [
        ({}, "https://docs.s3.us-east-1.amazonaws.com", ""),
        ({"region": "cn-north-1"}, "https://docs.s3.cn-north-1.amazonaws.com.cn", ""),
        ({"bucket": "www.docs"}, "https://s3.us-east-1.amazonaws.com", "/www.docs"),
        ({"addressing": "path"}, "https://s3.us-east-1.amazonaws.com", "/docs"),
        ({"endpoint_url": "https://minio.example.com:9000/"}, "https://minio.example.com:9000", "/docs"),
        ({"endpoint_url": "https://x.example.com", "addressing": "host"}, "https://docs.x.example.com", ""),
    ],
)
def test_addresses_of_a_bucket(settings: dict[str, JsonValue], origin: str, path: str) -> None:
    given = s3.S3Settings.model_validate({"bucket": "docs", **settings})
    place = s3.place_of(given)
    assert (place.origin, place.path) == (origin, path)


@pytest.mark.parametrize(
    ("settings", "credentials"),
    [
        ({"bucket": "a.evil.example/x"}, {}),
        ({"bucket": "do..cs"}, {}),
        ({"bucket": "docs", "region": "evil.example/"}, {}),
        ({"bucket": "docs", "endpoint_url": "file:///etc/passwd"}, {}),
        ({"bucket": "docs", "endpoint_url": "https://user:secret@s3.example.com"}, {}),
        ({"bucket": "docs", "endpoint_url": "https://s3.example.com/?a=b"}, {}),
        ({"bucket": "docs"}, {"access_key_id": "AKIA"}),
        ({"bucket": "docs"}, {"access_key_id": "AKIA", "secret_access_key": "line\nfeed"}),
        ({"bucket": "docs"}, {"session_token": "t"}),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, JsonValue], credentials: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        opening("s3", settings, LOCAL, credentials=credentials)
    assert "secret@" not in refused.value.detail


async def test_credentials_of_the_machine_are_never_used(
    scripted: Scripted, hostile: Connector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAMACHINE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    scripted.answers = [page("a")]
    assert [item.external_id for item in await listed(hostile)] == ["a"]
    (request,) = scripted.asked
    assert "authorization" not in request.headers
    assert not any("token" in name.lower() for name in request.headers)
