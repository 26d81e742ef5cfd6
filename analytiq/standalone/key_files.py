"""Files of the data directory that hold the secret key, for installations that do not set it."""

from pathlib import Path

from pydantic import SecretStr

SECRET_KEY_FILE = "secret.key"  # noqa: S105  # the name of the file
OLD_KEYS_FILE = "secret.old-keys"
"""Keys before the present one; the file exists while a rotation is unfinished."""


def old_keys_of(directory: Path) -> tuple[SecretStr, ...]:
    """Return the keys before the data directory's present one that may still be needed."""
    file = directory / OLD_KEYS_FILE
    return tuple(SecretStr(key) for key in file.read_text(encoding="utf-8").split()) if file.exists() else ()
