"""`analytiq providers platform …`: keys for all organizations, directly in the database."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import SecretStr

from analytiq.cli.console import errors_as_sentences, note, print_rows
from analytiq.cli.options import DataDir
from analytiq.cli.providers import NoKey, ProviderName, key_from_user
from analytiq.errors import InvalidInputError
from analytiq.inference.credentials.encryption import Vault
from analytiq.inference.credentials.platform_keys import PlatformKeys
from analytiq.models.provider import KeyOrigin
from analytiq.settings import PROVIDER_KEY_VARIABLES, Settings, provider_keys_from_environment, read_settings
from analytiq.standalone.key_files import SECRET_KEY_FILE, old_keys_of
from analytiq.standalone.local_database import on_database
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.providers import ProviderRepository

app = typer.Typer(
    help="Manage the operator's keys for all organizations, directly in the database.", no_args_is_help=True
)


@app.command("list")
def platform_list(data_dir: DataDir = None) -> None:
    """List the platform's providers and the origin of their keys; no key is shown."""
    with errors_as_sentences():
        print_table(read_settings(), data_dir)


@app.command("put")
def platform_put(
    *,
    provider: ProviderName,
    api_base: Annotated[str | None, typer.Option(help="Address of your own OpenAI-compatible server.")] = None,
    no_key: NoKey = False,
    data_dir: DataDir = None,
) -> None:
    """Store or replace the platform's key, typed when asked or piped in; the environment does not change it."""
    with errors_as_sentences():
        key = key_from_user(provider, api_base, has_key=not no_key)
        put(read_settings(), data_dir, provider, api_key=key, api_base=api_base)


@app.command("delete")
def platform_delete(provider: ProviderName, data_dir: DataDir = None) -> None:
    """Remove the platform's key."""
    with errors_as_sentences():
        delete(read_settings(), data_dir, provider)


Result = TypeVar("Result")
MINUTE = "%Y-%m-%d %H:%M UTC"


def print_table(settings: Settings, data_dir: Path | None) -> None:
    """Print the providers with a platform key; no key is shown."""
    providers = _on_keys(settings, data_dir, lambda keys: keys.all())
    if not providers:
        note("The platform has no key for any provider.")
        return
    rows = [
        (item.litellm_provider, _ORIGINS[item.origin], item.api_base or "-", f"{item.updated_at:{MINUTE}}")
        for item in providers
    ]
    print_rows(("provider", "key from", "address", "changed"), rows)


def put(
    settings: Settings, data_dir: Path | None, litellm_provider: str, *, api_key: SecretStr, api_base: str | None
) -> None:
    """Store or replace the platform's key, for the next call of every process."""
    _on_keys(settings, data_dir, lambda keys: keys.put(litellm_provider, api_key=api_key, api_base=api_base))
    note(f"The platform's key of {litellm_provider} is stored, encrypted, and used from now on.")
    note("Waiting work resumes within minutes, at the reconciler's next pass.")


def delete(settings: Settings, data_dir: Path | None, litellm_provider: str) -> None:
    """Delete the platform's key."""
    _on_keys(settings, data_dir, lambda keys: keys.delete(litellm_provider))
    note(f"The platform's key of {litellm_provider} is removed.")
    if litellm_provider in provider_keys_from_environment():
        variable = PROVIDER_KEY_VARIABLES[litellm_provider]
        note(f"{variable} is set here: unset it where the platform is started, or its next start stores it again.")


_ORIGINS = {KeyOrigin.ENVIRONMENT: "the environment", KeyOrigin.COMMAND: "a command"}


def _on_keys(settings: Settings, data_dir: Path | None, work: Callable[[PlatformKeys], Awaitable[Result]]) -> Result:
    vault = _vault(settings, data_dir)

    async def run(connection: MongoConnection) -> Result:
        return await work(PlatformKeys(ProviderRepository(connection), vault))

    return on_database(settings, data_dir, run)


def _vault(settings: Settings, data_dir: Path | None) -> Vault:
    if settings.secret_key is not None:
        return Vault(settings.secret_key, settings.old_secret_keys)
    directory = (data_dir or settings.data_dir).expanduser()
    try:
        secret = (directory / SECRET_KEY_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        raise InvalidInputError(
            f"There is no secret key: ANALYTIQ_SECRET_KEY is not set, and {directory / SECRET_KEY_FILE} cannot be read."
        ) from None
    return Vault(SecretStr(secret), old_keys_of(directory))
