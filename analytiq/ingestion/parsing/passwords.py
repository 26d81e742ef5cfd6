"""The errors of files that open only with a password."""

from analytiq.errors import EncryptedFileError, WrongPasswordError


def needs_password(noun: str) -> EncryptedFileError:
    """Return the error of a file whose password is unknown."""
    return EncryptedFileError(
        f"The {noun} opens only with a password: give the document its password, or remove its password and upload it"
        " again."
    )


def wrong_password(noun: str) -> WrongPasswordError:
    """Return the error of a file that the given password does not open."""
    return WrongPasswordError(
        f"The password does not open the {noun}: check upper and lower case, and give the document its password again."
    )
