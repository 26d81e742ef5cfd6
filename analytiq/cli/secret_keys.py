"""`analytiq secret-key` and `analytiq rotate-secret-key`."""

from pathlib import Path

import typer

from analytiq.cli.console import errors_as_sentences, fail, note
from analytiq.cli.options import DataDir
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.inference.credentials.rotation import RotationReport
from analytiq.settings import Settings, read_settings
from analytiq.standalone.key_files import SECRET_KEY_FILE
from analytiq.standalone.local_database import address_of_database, run_on_database
from analytiq.standalone.secret_keys import renew, replace_key_of

app = typer.Typer()


@app.command("rotate-secret-key")
def rotate_secret_key(data_dir: DataDir = None) -> None:
    """Encrypt stored secrets again, under a fresh key or under the one in ANALYTIQ_SECRET_KEY."""
    with errors_as_sentences():
        is_complete = rotate(read_settings(), data_dir)
    raise typer.Exit(0 if is_complete else 1)


@app.command("secret-key")
def secret_key() -> None:
    """Print a fresh ANALYTIQ_SECRET_KEY, for installations whose processes you start yourself."""
    typer.echo(new_secret_key())


def rotate(settings: Settings, data_dir: Path | None) -> bool:
    """Rotate, and print the outcome; return False if a secret is unreadable with every key.

    Raises:
        InvalidInputError: a key in the environment is invalid.
        AnalytiqError: the database cannot be reached.
    """
    if settings.secret_key is not None:
        vault = Vault(settings.secret_key, settings.old_secret_keys)
        uri = address_of_database(settings, data_dir)
        report = run_on_database(uri, settings.mongo.database, lambda connection: renew(connection, vault))
        return _say(report)
    directory = (data_dir or settings.data_dir).expanduser()
    replace_key_of(directory)
    note(f"{directory / SECRET_KEY_FILE} contains a new key.")
    note("Restart `analytiq up`: its start re-encrypts everything and removes the previous key.")
    return True


def _say(report: RotationReport) -> bool:
    note(f"{report.renewed} re-encrypted, {report.current} already current.")
    if report.unreadable:
        fail(
            f"{report.unreadable} cannot be read with ANALYTIQ_SECRET_KEY or any of ANALYTIQ_OLD_SECRET_KEYS: name the"
            " key that they were encrypted under among the latter and run this again, or store those keys anew."
        )
        return False
    note("No secret uses an old key any more. Remove it from ANALYTIQ_OLD_SECRET_KEYS and restart.")
    return True
