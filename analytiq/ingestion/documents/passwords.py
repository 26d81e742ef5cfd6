"""Passwords of encrypted files: stored under the installation's secret key, and never shown.

A password is offered first, and becomes the document's own once it has opened the file. So a wrong one never replaces
the right one.
"""

from pydantic import SecretStr

from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.encryption import Vault
from analytiq.ingestion.documents.requests import extract_request
from analytiq.ingestion.documents.service import unknown_document
from analytiq.models.document import Document, DocumentState
from analytiq.models.parts import LOCKED
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

LONGEST_PASSWORD = 1024


class DocumentPasswords:
    """Passwords of documents' files."""

    def __init__(self, rows: Repositories, vault: Vault) -> None:
        self._connection = rows.connection
        self._documents = rows.documents
        self._jobs = rows.jobs
        self._vault = vault

    def sealed(self, password: SecretStr) -> str:
        """Encrypt a password for storage.

        Raises:
            InvalidInputError: It is empty or too long.
        """
        if not 0 < len(password.get_secret_value()) <= LONGEST_PASSWORD:
            raise InvalidInputError.of_field("password", f"Must have 1 to {LONGEST_PASSWORD} characters.")
        return self._vault.encrypt(password)

    async def give(
        self, organization_id: str, document_id: str, password: SecretStr, *, request_id: str | None = None
    ) -> Document:
        """Offer a password for the document's file, and extract the file again.

        Raises:
            NotFoundError: The organization has no such document.
            InvalidInputError: The password is empty or too long.
        """
        token = self.sealed(password)

        async def commit(session: Session) -> Document:
            changes = {"offered_password": token, "state": DocumentState.UPLOADED.value, "error": None}
            changed = await self._documents.change(session, organization_id, document_id, changes)
            if changed is None:
                raise unknown_document(document_id)
            extraction = extract_request(organization_id, document_id, byte_size=changed.byte_size)
            await self._jobs.enqueue([extraction], request_id=request_id, session=session)
            return changed

        return await run_in_transaction(self._connection, commit)


def lacks_password(document: Document) -> bool:
    """Return True if the document's extraction failed for want of its password, or files in it stayed locked."""
    if document.state is DocumentState.EXTRACTED:
        return any(f"({LOCKED})" in warning for warning in document.warnings)
    return (
        document.state is DocumentState.FAILED
        and document.error is not None
        and document.error.code in {"encrypted_file", "wrong_password"}
    )
