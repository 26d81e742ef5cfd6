"""Buckets of the contract's tests."""

from contextlib import ExitStack
from pathlib import Path

from pydantic import JsonValue

from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening
from tests.fakes.azure_server import ACCOUNT, KEY, AzureServer
from tests.fakes.file_listing import FileListing
from tests.fakes.gcs_server import BUCKET, GcsServer
from tests.fakes.moto_s3 import MotoS3

LOCAL = SourceSettings(private_hosts=("127.0.0.1",))


def made_s3(stack: ExitStack, _: Path) -> Made:
    """Return a bucket on moto's server; the prefix leaves out an object and is no part of names."""
    store = stack.enter_context(MotoS3())
    store.write("other.txt", b"Behind another prefix.")

    def write(name: str, content: str) -> None:
        store.write(f"shelf/{name}", content.encode())

    settings = {"bucket": store.bucket, "endpoint_url": store.url, "prefix": "shelf/"}
    return Made("s3", opening("s3", settings, LOCAL, credentials=store.credentials), write)


def made_http(stack: ExitStack, folder: Path) -> Made:
    """Return a folder that Python's own server lists."""
    server = stack.enter_context(FileListing(folder))

    def write(name: str, content: str) -> None:
        server.write(name, content.encode())

    return Made("http", opening("http", {"url": server.url}, LOCAL), write)


def made_azure(stack: ExitStack, _: Path) -> Made:
    """Return a container whose pages end within batches."""
    service = stack.enter_context(AzureServer())
    service.page_size = 130
    service.write("other.txt", b"Behind another prefix.")

    def write(name: str, content: str) -> None:
        service.write(f"shelf/{name}", content.encode())

    settings = {"account": ACCOUNT, "container": service.container, "endpoint_url": service.url, "prefix": "shelf/"}
    return Made("azure", opening("azure", settings, LOCAL, credentials={"account_key": KEY}), write)


def made_gcs(stack: ExitStack, _: Path) -> Made:
    """Return a bucket whose pages end within batches."""
    service = stack.enter_context(GcsServer())
    service.page_size = 130
    service.write("other.txt", b"Behind another prefix.")

    def write(name: str, content: str) -> None:
        service.write(f"shelf/{name}", content.encode())

    settings = {"bucket": BUCKET, "api_url": service.url, "prefix": "shelf/"}
    credentials: dict[str, JsonValue] = {"service_account": {**service.account()}}
    return Made("gcs", opening("gcs", settings, LOCAL, credentials=credentials), write)


BUCKETS = {"azure": made_azure, "gcs": made_gcs, "http": made_http, "s3": made_s3}
