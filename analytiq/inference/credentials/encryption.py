"""Encryption of stored secrets that must be read again."""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import SecretStr

from analytiq.errors import AccessDeniedError, InvalidInputError


def new_secret_key() -> str:
    """Generate a key: 32 random bytes, URL-safe base64."""
    return Fernet.generate_key().decode()


class Vault:
    """Encryption with AES-128-CBC and HMAC-SHA-256 (Fernet) under the installation's secret key.

    `old_secret_keys` only decrypt: tokens under them stay readable until their re-encryption.
    """

    def __init__(self, secret_key: SecretStr, old_secret_keys: Sequence[SecretStr] = ()) -> None:
        self._fernet = _fernet(secret_key, "ANALYTIQ_SECRET_KEY")
        self._readers = MultiFernet(
            [self._fernet, *(_fernet(key, "one of ANALYTIQ_OLD_SECRET_KEYS") for key in old_secret_keys)]
        )

    def encrypt(self, secret: SecretStr) -> str:
        """Encrypt the secret to a token that is safe to store."""
        return self._fernet.encrypt(secret.get_secret_value().encode()).decode()

    def decrypt(self, token: str) -> SecretStr:
        """Decrypt a token.

        Raises:
            AccessDeniedError: the token was encrypted under another key.
        """
        try:
            return SecretStr(self._readers.decrypt(token.encode()).decode())
        except InvalidToken as error:
            raise _unreadable() from error

    def encrypted_anew(self, token: str) -> str | None:
        """Re-encrypt the token under the present key; return None if it already is.

        Raises:
            AccessDeniedError: none of the keys decrypts the token.
        """
        try:
            self._fernet.decrypt(token.encode())
        except InvalidToken:
            pass
        else:
            return None
        try:
            return self._readers.rotate(token.encode()).decode()
        except InvalidToken as error:
            raise _unreadable() from error


def _fernet(key: SecretStr, name: str) -> Fernet:
    try:
        return Fernet(key.get_secret_value())
    except ValueError:
        # Without the cause: it might quote the key.
        raise InvalidInputError(
            f"{name} is not a key of 32 bytes in URL-safe base64. Make one with `analytiq secret-key`.",
            code="secret_key_invalid",
        ) from None


def _unreadable() -> AccessDeniedError:
    return AccessDeniedError(
        "A stored provider key was encrypted under another ANALYTIQ_SECRET_KEY. Restore that key (or name it in"
        " ANALYTIQ_OLD_SECRET_KEYS), or store the provider key again.",
        code="secret_key_changed",
    )
