"""Passwords of encrypted files: at the upload, later, wrong, and from another organization."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from structlog.testing import capture_logs

from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.rotation import Rotation
from analytiq.ingestion.documents.passwords import lacks_password
from analytiq.models.document import Document, DocumentState
from analytiq.models.upload import DuplicatePolicy
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection
from tests.e2e.made_files import encrypted_pdf_of
from tests.integration.tenant import Tenant

RIGHT, WRONG = "heron & crane", "Heron & Crane"


async def upload(tenant: Tenant, *, password: str | None = None) -> Document:
    staged = await tenant.stage("sealed.pdf", encrypted_pdf_of(["The berth costs 40 EUR."], RIGHT))
    token = None if password is None else tenant.services.ingestion.passwords.sealed(SecretStr(password))
    result = await tenant.services.ingestion.uploads.commit(
        staged, tag_ids=None, metadata=None, policy=DuplicatePolicy.RETURN, password=token
    )
    return result.document


async def extracted(tenant: Tenant, document_id: str) -> Document:
    await tenant.drain()
    return await tenant.services.ingestion.documents.get(tenant.id, document_id)


async def give(tenant: Tenant, document_id: str, password: str) -> Document:
    await tenant.services.ingestion.passwords.give(tenant.id, document_id, SecretStr(password))
    return await extracted(tenant, document_id)


def code_of(document: Document) -> str | None:
    return document.error.code if document.error else None


async def test_password_at_the_upload_opens_the_file_and_is_kept(tenant: Tenant) -> None:
    document = await extracted(tenant, (await upload(tenant, password=RIGHT)).id)
    assert document.state is DocumentState.EXTRACTED
    await tenant.services.ingestion.documents.extract_again(tenant.id, document.id)
    again = await extracted(tenant, document.id)
    assert again.state is DocumentState.EXTRACTED
    _, pages, _ = await tenant.services.ingestion.documents.text_pages(
        tenant.id, document.id, first_page=1, page_count=1
    )
    assert "The berth costs 40 EUR." in pages[0].text


async def test_password_can_be_given_later(tenant: Tenant) -> None:
    document = await extracted(tenant, (await upload(tenant)).id)
    assert code_of(document) == "encrypted_file"
    assert (await give(tenant, document.id, RIGHT)).state is DocumentState.EXTRACTED


async def test_wrong_password_says_so_and_loses_neither_text_nor_right_password(tenant: Tenant) -> None:
    document = await extracted(tenant, (await upload(tenant, password=RIGHT)).id)
    failed = await give(tenant, document.id, WRONG)
    assert code_of(failed) == "wrong_password"
    assert failed.text_id == document.text_id
    await tenant.services.ingestion.documents.extract_again(tenant.id, document.id)
    assert (await extracted(tenant, document.id)).state is DocumentState.EXTRACTED


async def test_password_is_stored_encrypted_and_never_logged(tenant: Tenant, migrated: MongoConnection) -> None:
    with capture_logs() as logs:
        document = await extracted(tenant, (await upload(tenant, password=RIGHT)).id)
        await give(tenant, document.id, WRONG)
    rows = [row async for row in migrated.database["docs"].find({})]
    jobs = [row async for row in migrated.database["jobs"].find({})]
    shown = repr((rows, jobs, logs, document))
    assert RIGHT not in shown
    assert WRONG not in shown
    assert document.password is not None
    assert document.password not in repr(document)


async def test_document_of_another_organization_is_unknown(tenant: Tenant) -> None:
    document = await upload(tenant)
    with pytest.raises(NotFoundError):
        await tenant.services.ingestion.passwords.give("f" * 24, document.id, SecretStr(RIGHT))


@pytest.mark.parametrize("password", ["", "x" * 1025])
async def test_password_has_a_sensible_length(tenant: Tenant, password: str) -> None:
    with pytest.raises(InvalidInputError):
        tenant.services.ingestion.passwords.sealed(SecretStr(password))


async def test_change_of_the_secret_key_renews_passwords(tenant: Tenant, migrated: MongoConnection) -> None:
    document = await upload(tenant, password=RIGHT)
    old = tenant.services.settings.secret_key
    assert old is not None
    new = Vault(SecretStr(Fernet.generate_key().decode()), [old])
    await Rotation(Repositories(migrated), new).run()
    renewed = await tenant.services.repositories.documents.get(tenant.id, document.id)
    assert renewed is not None
    assert renewed.offered_password not in {None, document.offered_password}
    assert new.decrypt(str(renewed.offered_password)).get_secret_value() == RIGHT


async def test_archive_with_locked_files_among_others_takes_a_password_later(tenant: Tenant) -> None:
    content = (Path(__file__).parents[2] / "data" / "encrypted" / "mixed.zip").read_bytes()
    document = (await tenant.upload("mixed.zip", content)).document
    failed = await extracted(tenant, document.id)
    assert code_of(failed) == "encrypted_file"
    half_open = await give(tenant, document.id, "other")
    assert half_open.state is DocumentState.EXTRACTED
    assert lacks_password(half_open)
    parts = await tenant.services.repositories.document_parts.of_container(tenant.id, document.id)
    assert [part.path for part in parts] == ["whales.txt"]
