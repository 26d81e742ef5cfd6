"""Secret keys of an installation: the effective one, its check, and its rotation.

If `analytiq up` keeps the key in its data directory, a rotation replaces the key there and moves the previous one
to a file beside it. At its next start `up` encrypts everything with the new key and removes that file. The old key is
written before the new one takes its place, so that a crash in between loses neither.
"""

from pathlib import Path

from pydantic import SecretStr

from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.key_check import REMEDY, check_secret_key
from analytiq.inference.credentials.rotation import Rotation, RotationReport
from analytiq.settings import Settings
from analytiq.standalone.data_directory import write_private_file
from analytiq.standalone.key_files import OLD_KEYS_FILE, SECRET_KEY_FILE, old_keys_of
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.repositories.providers import ProviderRepository


async def renew(connection: MongoConnection, vault: Vault) -> RotationReport:
    """Re-encrypt every secret under the vault's present key."""
    return await Rotation(Repositories(connection), vault).run()


def replace_key_of(directory: Path) -> None:
    """Replace the data directory's key by a fresh one, and keep it readable until `finish_rotation`.

    A directory without a key gets one.
    """
    target = directory / SECRET_KEY_FILE
    if target.exists():
        kept = [key.get_secret_value() for key in old_keys_of(directory)]
        present = target.read_text(encoding="utf-8").strip()
        if present not in kept:
            kept.append(present)
        write_private_file(directory / OLD_KEYS_FILE, "".join(f"{key}\n" for key in kept))
    else:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private_file(target, new_secret_key())


def vault_of(settings: Settings, directory: Path) -> Vault | None:
    """Return the vault of the environment's key, else of the data directory's; None without either.

    Raises:
        InvalidInputError: it is not a key.
    """
    if settings.secret_key is not None:
        return Vault(settings.secret_key, settings.old_secret_keys)
    file = directory / SECRET_KEY_FILE
    if not file.exists():
        return None
    return Vault(SecretStr(file.read_text(encoding="utf-8").strip()), old_keys_of(directory))


async def key_problem(uri: SecretStr, database: str, vault: Vault) -> str | None:
    """Explain why the key does not decrypt the stored provider keys, with a remedy; None if it does."""
    connection = await connect(uri, database)
    try:
        problem = (await check_secret_key(ProviderRepository(connection), vault)).problem
    finally:
        await connection.close()
    return None if problem is None else f"{problem}: {REMEDY}"


async def finish_rotation(uri: SecretStr, database: str, secret_key: SecretStr, directory: Path) -> None:
    """Re-encrypt with the new key at the platform's start, then remove the old keys.

    Old keys stay if a secret is unreadable with every key: whoever finds the missing key may still need them.
    """
    connection = await connect(uri, database)
    try:
        report = await renew(connection, Vault(secret_key, old_keys_of(directory)))
    finally:
        await connection.close()
    if not report.unreadable:
        (directory / OLD_KEYS_FILE).unlink(missing_ok=True)
