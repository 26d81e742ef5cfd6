"""`analytiq providers …`: keys of model providers.

A key is typed or piped in, never an argument: every user of the machine sees arguments, and the shell keeps them.
"""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer
from pydantic import SecretStr

from analytiq.cli.connection import api_client
from analytiq.cli.console import fail, note, print_rows
from analytiq.cli.lazy_group import LazyGroup
from analytiq.cli.options import DataDir
from analytiq.client import Client, LlmProvider
from analytiq.errors import InvalidInputError
from analytiq.settings import NO_KEY


class _Commands(LazyGroup):
    group_modules: Mapping[str, tuple[str, str]] = {
        "platform": (
            "analytiq.cli.platform_keys",
            "Keys that count for all organizations; of the operator, in the database itself.",
        )
    }


app = typer.Typer(cls=_Commands, help="Manage model providers and their keys.", no_args_is_help=True)

ProviderName = Annotated[str, typer.Argument(metavar="PROVIDER", help="LiteLLM's name: openai, cohere, …")]


NoKey = Annotated[bool, typer.Option("--no-key", help="Store no key, for a server without one; needs --api-base.")]


@app.command("list")
def providers_list(data_dir: DataDir = None) -> None:
    """List the providers with a key; no key is shown."""
    with api_client(data_dir) as client:
        print_table(client)


@app.command("put")
def providers_put(
    *,
    provider: ProviderName,
    api_base: Annotated[
        str | None, typer.Option(help="Address of your own OpenAI-compatible server, or of Azure's.")
    ] = None,
    no_key: NoKey = False,
    data_dir: DataDir = None,
) -> None:
    """Store the organization's own key, typed when asked or piped in."""
    with api_client(data_dir) as client:
        put(client, provider, api_base, has_key=not no_key)


@app.command("delete")
def providers_delete(provider: ProviderName, data_dir: DataDir = None) -> None:
    """Delete the organization's own key."""
    with api_client(data_dir) as client:
        delete(client, provider)


@app.command("test")
def providers_test(
    provider: ProviderName,
    model: Annotated[
        str | None, typer.Option(help="Embedding model to test. Default: the provider's usual one.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Make one call with the key, and print the outcome. Exit code 1 if it fails."""
    with api_client(data_dir) as client:
        is_working = test(client, provider, model)
    raise typer.Exit(0 if is_working else 1)


MINUTE = "%Y-%m-%d %H:%M UTC"


def print_table(client: Client) -> None:
    """Print the providers with a key."""
    providers = client.llm_providers().items
    if not providers:
        note("No provider has a key. The local model needs none. `analytiq providers put` stores one.")
        return
    print_rows(("provider", "key", "address", "changed"), [_row(provider) for provider in providers])


def put(client: Client, litellm_provider: str, api_base: str | None, *, has_key: bool = True) -> None:
    """Prompt for a key, or read it from a pipe, and store it."""
    stored = client.put_llm_provider(
        litellm_provider, key_from_user(litellm_provider, api_base, has_key=has_key), api_base=api_base
    )
    note(f"The key of {stored.litellm_provider} is stored, encrypted, and used from now on.")
    note("`analytiq providers test` tests it. Work that failed or waited without it resumes automatically.")


def delete(client: Client, litellm_provider: str) -> None:
    """Delete the organization's own key."""
    client.delete_llm_provider(litellm_provider)
    note(f"The organization's own key of {litellm_provider} is deleted.")


def test(client: Client, litellm_provider: str, model: str | None) -> bool:
    """Test the key and print the outcome; return True if it works."""
    result = client.test_llm_provider(litellm_provider, model=model)
    if result.is_working:
        note(f"It works. {result.detail} It took {result.milliseconds} ms.")
    else:
        fail(result.detail)
    return result.is_working


def key_from_user(litellm_provider: str, api_base: str | None, *, has_key: bool) -> SecretStr:
    """Read a key that is typed or piped in.

    Raises:
        InvalidInputError: it is empty, or --no-key is given without an address.
    """
    if not has_key:
        if api_base is None:
            raise InvalidInputError("--no-key is for a server of your own: give its address with --api-base.")
        return SecretStr(NO_KEY)
    if sys.stdin.isatty():
        typed: str = typer.prompt(f"Key of {litellm_provider}", hide_input=True)
    else:
        typed = sys.stdin.readline()
    key = typed.strip()
    if not key:
        raise InvalidInputError("There is no key: type it when asked, or pipe it in (its first line counts).")
    return SecretStr(key)


def _row(provider: LlmProvider) -> tuple[str, ...]:
    if provider.source == "platform":
        key = "the platform's"
    elif not provider.is_readable:
        key = "unreadable: store it again"
    else:
        key = f"own, …{provider.key_hint}" if provider.key_hint else "own"
    return provider.litellm_provider, key, provider.api_base or "-", f"{provider.updated_at:{MINUTE}}"
