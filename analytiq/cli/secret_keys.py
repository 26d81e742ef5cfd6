"""`analytiq rotate-secret-key`: a new key under which everything that is kept encrypted is encrypted anew.

Where `analytiq up` keeps the key in its data directory, it is replaced there, and the one before goes to a file
beside it: at its next start `up` encrypts everything anew and removes that file. The old key is written down before
the new one takes its place, so that no crash in between loses either.
"""

from pathlib import Path

from pydantic import SecretStr

from analytiq.cli.console import fail, note
from analytiq.cli.local_database import address_of_database, run_on_database
from analytiq.cli.platform import OLD_KEYS_FILE, SECRET_KEY_FILE
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.key_check import REMEDY, check_secret_key
from analytiq.inference.credentials.rotation import Rotation, RotationReport
from analytiq.settings import Settings
from analytiq.storage.client import MongoConnection, connect
from analytiq.storage.data_directory import write_private_file
from analytiq.storage.repositories.idempotency import IdempotencyRepository
from analytiq.storage.repositories.providers import ProviderRepository


def rotate(settings: Settings, data_dir: Path | None) -> bool:
    """Rotate, and say what became of it; False where something could not be read with any key.

    Raises:
        InvalidInputError: a key in the environment is none.
        AnalytiqError: the database cannot be reached.
    """
    if settings.secret_key is not None:
        vault = Vault(settings.secret_key, settings.old_secret_keys)
        uri = address_of_database(settings, data_dir)
        report = run_on_database(uri, settings.mongo.database, lambda connection: renew(connection, vault))
        return _say(report)
    directory = (data_dir or settings.data_dir).expanduser()
    replace_key_of(directory)
    note(f"{directory / SECRET_KEY_FILE} holds a new key.")
    note("Start `analytiq up` again: at its start everything is encrypted anew, and the key before is removed.")
    return True


async def renew(connection: MongoConnection, vault: Vault) -> RotationReport:
    """Encrypt anew what is not under the vault's present key."""
    return await Rotation(ProviderRepository(connection), IdempotencyRepository(connection), vault).run()


def replace_key_of(directory: Path) -> None:
    """Put a fresh key in the place of the data directory's, and keep that one readable until `finish_rotation`.

    A directory without a key gets one: there is nothing to keep.
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


def old_keys_of(directory: Path) -> tuple[SecretStr, ...]:
    """The keys before the data directory's present one that may still be needed."""
    file = directory / OLD_KEYS_FILE
    return tuple(SecretStr(key) for key in file.read_text(encoding="utf-8").split()) if file.exists() else ()


def vault_of(settings: Settings, directory: Path) -> Vault | None:
    """What opens stored keys: the environment's key, else the data directory's; None where neither is there.

    Raises:
        InvalidInputError: it is no key.
    """
    if settings.secret_key is not None:
        return Vault(settings.secret_key, settings.old_secret_keys)
    file = directory / SECRET_KEY_FILE
    if not file.exists():
        return None
    return Vault(SecretStr(file.read_text(encoding="utf-8").strip()), old_keys_of(directory))


async def key_problem(uri: SecretStr, database: str, vault: Vault) -> str | None:
    """What is wrong where the key does not open the stored keys of providers, and what mends it."""
    connection = await connect(uri, database)
    try:
        problem = (await check_secret_key(ProviderRepository(connection), vault)).problem
    finally:
        await connection.close()
    return None if problem is None else f"{problem}: {REMEDY}"


async def finish_rotation(uri: SecretStr, database: str, secret_key: SecretStr, directory: Path) -> None:
    """At the platform's start, before its processes run: encrypt anew, then forget the old keys.

    They stay where something can be read with none of the keys: whoever finds the key may still need them.
    """
    connection = await connect(uri, database)
    try:
        report = await renew(connection, Vault(secret_key, old_keys_of(directory)))
    finally:
        await connection.close()
    if not report.unreadable:
        (directory / OLD_KEYS_FILE).unlink(missing_ok=True)


def _say(report: RotationReport) -> bool:
    note(f"{report.renewed} encrypted anew, {report.current} were so already.")
    if report.unreadable:
        fail(
            f"{report.unreadable} cannot be read with ANALYTIQ_SECRET_KEY or any of ANALYTIQ_OLD_SECRET_KEYS: name the"
            " key that they were encrypted under among the latter and run this again, or store those keys anew."
        )
        return False
    note("Nothing is encrypted under an old key any more: take it out of ANALYTIQ_OLD_SECRET_KEYS and restart.")
    return True
