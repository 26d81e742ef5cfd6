"""Errors that a file's bytes cause are final errors of that file, told after one attempt."""

import struct

import pytest

from analytiq.models.document import DocumentState
from analytiq.models.job import JobKind
from analytiq.storage.client import MongoConnection
from tests.integration.tenant import Tenant

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def compound(*, sector_shift: int, first_sector: int) -> bytes:
    """An OLE file of a header alone, with a directory wherever it says."""
    header = bytearray(COMPOUND + bytes(600))
    struct.pack_into("<H", header, 30, sector_shift)
    struct.pack_into("<L", header, 48, first_sector)
    return bytes(header)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("beyond.doc", compound(sector_shift=16, first_sector=0xFFFFFFFE), "corrupt_file"),
        ("shifted.xls", compound(sector_shift=0xFFFF, first_sector=0x7FFFFFFF), "corrupt_file"),
        ("short.msg", COMPOUND, "corrupt_file"),
        ("header.docx", b"PK\x03\x04", "corrupt_file"),
        ("offset.xlsx", b"PK\x03\x04" + bytes(80) + b"PK\x05\x06" + b"\xff" * 18, "corrupt_file"),
        ("member.odt", b"PK\x03\x04" + b"\xff" * 26 + b"mimetype" + b"\xff" * 40, "corrupt_file"),
        ("header.pdf", b"%PDF-", "corrupt_file"),
        ("rubbish.pdf", b"\x00" * 900 + b"%PDF-9.9" + b"\xff" * 90, "corrupt_file"),
    ],
)
async def test_damaged_file_fails_for_good_at_the_first_attempt(
    tenant: Tenant, migrated: MongoConnection, name: str, content: bytes, code: str
) -> None:
    uploaded = (await tenant.upload(name, content)).document
    await tenant.drain()
    document = await tenant.services.ingestion.documents.get(tenant.id, uploaded.id)
    assert document.state is DocumentState.FAILED
    assert document.error is not None
    assert (document.error.code, "unexpected" in document.error.detail) == (code, False)
    query = {"subject.document_id": uploaded.id, "kind": JobKind.EXTRACT.value}
    assert await migrated.database["jobs"].count_documents(query) == 0


async def test_worker_that_cannot_isolate_parsers_leaves_documents_to_others(tenant: Tenant) -> None:
    uploaded = (await tenant.upload("page.html", "<p>words</p>")).document
    await tenant.services.jobs.new_runner(reads_documents=False).run_until_idle()
    waiting = await tenant.services.ingestion.documents.get(tenant.id, uploaded.id)
    assert waiting.state is DocumentState.UPLOADED
    await tenant.drain()
    read = await tenant.services.ingestion.documents.get(tenant.id, uploaded.id)
    assert read.state is DocumentState.EXTRACTED
