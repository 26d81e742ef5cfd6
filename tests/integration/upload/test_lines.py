"""Lines of an NDJSON upload whose database fails while they arrive."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator

import pytest
from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError

from analytiq.composition import Services
from analytiq.models.upload import DuplicatePolicy
from analytiq.telemetry import checkpoints
from api.schemas.documents import UploadedLine
from api.upload_form import Manner
from api.upload_lines import LineUploads
from api.uploading import UploadSession
from tests.integration.tenant import Tenant

MANNER = Manner(DuplicatePolicy.RETURN, merges=False, origin=None, is_bulk=False)


@pytest.fixture(autouse=True)
def checkpoints_afterwards() -> Iterator[None]:
    yield
    checkpoints.install(None)


def uploading(services: Services, tenant: Tenant, body: AsyncIterator[bytes]) -> AsyncGenerator[UploadedLine]:
    session = UploadSession(services, tenant.organization, "request")
    return LineUploads(session, MANNER, tag_ids=[tenant.tag.id]).answers(body)


def line(number: int) -> bytes:
    return json.dumps({"name": f"{number}.txt", "text": f"words {number}"}).encode() + b"\n"


async def blocks_of(queue: asyncio.Queue[bytes]) -> AsyncIterator[bytes]:
    while block := await queue.get():
        yield block


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (AutoReconnect("connection closed"), "database_unreachable"),
        (OperationFailure("out of disk space", 14031), "internal_error"),
    ],
)
async def test_last_line_tells_where_to_go_on_after_the_database_has_failed(
    services: Services, tenant: Tenant, failure: PyMongoError, code: str
) -> None:
    async def fail(name: str) -> None:
        if name == "upload.committed":
            raise failure

    sent: asyncio.Queue[bytes] = asyncio.Queue()
    answers = uploading(services, tenant, blocks_of(sent))
    sent.put_nowait(line(1))
    assert (await anext(answers)).outcome == "created"
    checkpoints.install(fail)
    for block in (line(2), b""):
        sent.put_nowait(block)
    (last,) = [answer async for answer in answers]
    assert last.error is not None
    assert (last.line, last.outcome, last.error.code) == (2, "failed", code)
    assert "send this one and all after it again" in last.error.detail

    checkpoints.install(None)
    for block in (line(2), line(3), b""):
        sent.put_nowait(block)
    again = [answer.outcome async for answer in uploading(services, tenant, blocks_of(sent))]
    # The commit was made: only its confirmation was lost.
    assert again == ["returned", "created"]
