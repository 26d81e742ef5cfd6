"""Encryption of what is stored and must be read again."""

from cryptography.fernet import Fernet, InvalidToken
from pydantic import SecretStr

from analytiq.errors import AccessDeniedError, InvalidInputError


def new_secret_key() -> str:
    """A fresh key: 32 random bytes, URL-safe base64."""
    return Fernet.generate_key().decode()


class Vault:
    """Encrypts with AES-128-CBC and HMAC-SHA-256 (Fernet) under the installation's secret key."""

    def __init__(self, secret_key: SecretStr) -> None:
        try:
            self._fernet = Fernet(secret_key.get_secret_value())
        except ValueError as error:
            raise InvalidInputError(
                "ANALYTIQ_SECRET_KEY is not a key of 32 bytes in URL-safe base64; make one with `analytiq secret-key`",
                code="secret_key_invalid",
            ) from error

    def encrypt(self, secret: SecretStr) -> str:
        """The secret as a token that is safe to store."""
        return self._fernet.encrypt(secret.get_secret_value().encode()).decode()

    def decrypt(self, token: str) -> SecretStr:
        """The way back.

        Raises:
            AccessDeniedError: it was encrypted under another key.
        """
        try:
            return SecretStr(self._fernet.decrypt(token.encode()).decode())
        except InvalidToken as error:
            raise AccessDeniedError(
                "a stored provider key was encrypted under another ANALYTIQ_SECRET_KEY; restore that key, or"
                " store the provider key again",
                code="secret_key_changed",
            ) from error
