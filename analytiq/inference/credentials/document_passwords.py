"""Passwords of documents' files, read from their rows."""

import structlog

from analytiq.errors import AccessDeniedError
from analytiq.inference.credentials.encryption import Vault
from analytiq.models.document import Document

log = structlog.get_logger(__name__)


def password_of(document: Document, vault: Vault) -> str | None:
    """Return the password to open the document's file with, the one offered last first."""
    token = document.offered_password or document.password
    if token is None:
        return None
    try:
        return vault.decrypt(token).get_secret_value()
    except AccessDeniedError:
        log.warning("documents.password_unreadable", document_id=document.id)
        return None
