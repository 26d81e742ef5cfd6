"""Buckets of the contract's tests."""

from contextlib import ExitStack
from pathlib import Path

from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening
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
