"""The errors of files that open only with a password."""

from analytiq.errors import EncryptedFileError


def needs_password(noun: str) -> EncryptedFileError:
    """Return the error of a file whose password is unknown."""
    return EncryptedFileError(f"The {noun} opens only with a password: remove its password, then upload it again.")
