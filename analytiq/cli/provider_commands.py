"""`analytiq providers …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir

app = typer.Typer(help="Providers of models, and the keys for them.", no_args_is_help=True)

platform_app = typer.Typer(
    help="Keys that count for all organizations; of the operator, in the database itself.", no_args_is_help=True
)
app.add_typer(platform_app, name="platform")

ProviderName = Annotated[str, typer.Argument(metavar="PROVIDER", help="As LiteLLM names it: openai, cohere, …")]


NoKey = Annotated[bool, typer.Option("--no-key", help="For a server that asks for none; with --api-base.")]


@app.command("list")
def providers_list(data_dir: DataDir = None) -> None:
    """List the providers that there is a key for; no key is shown."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        providers.print_table(client)


@app.command("put")
def providers_put(
    *,
    provider: ProviderName,
    api_base: Annotated[
        str | None, typer.Option(help="Address of a server of your own that speaks OpenAI's protocol, or of Azure's.")
    ] = None,
    no_key: NoKey = False,
    data_dir: DataDir = None,
) -> None:
    """Store a key of the organization's own, typed when asked or piped in."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        providers.put(client, provider, api_base, has_key=not no_key)


@app.command("delete")
def providers_delete(provider: ProviderName, data_dir: DataDir = None) -> None:
    """Forget the organization's own key."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        providers.delete(client, provider)


@app.command("test")
def providers_test(
    provider: ProviderName,
    model: Annotated[str | None, typer.Option(help="An embedding model of the provider; its usual one.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make one call with the key, and say what happened. Exit code 1 where it does not work."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        is_working = providers.test(client, provider, model)
    raise typer.Exit(0 if is_working else 1)


@platform_app.command("list")
def platform_list(data_dir: DataDir = None) -> None:
    """List the platform's providers and where their keys come from; no key is shown."""
    from analytiq.cli import platform_keys
    from analytiq.settings import read_settings

    with errors_as_sentences():
        platform_keys.print_table(read_settings(), data_dir)


@platform_app.command("put")
def platform_put(
    *,
    provider: ProviderName,
    api_base: Annotated[
        str | None, typer.Option(help="Address of a server of your own that speaks OpenAI's protocol.")
    ] = None,
    no_key: NoKey = False,
    data_dir: DataDir = None,
) -> None:
    """Store or replace the platform's key, typed when asked or piped in; the environment does not change it."""
    from analytiq.cli import platform_keys, providers
    from analytiq.settings import read_settings

    with errors_as_sentences():
        key = providers.key_from_user(provider, api_base, has_key=not no_key)
        platform_keys.put(read_settings(), data_dir, provider, api_key=key, api_base=api_base)


@platform_app.command("delete")
def platform_delete(provider: ProviderName, data_dir: DataDir = None) -> None:
    """Remove the platform's key."""
    from analytiq.cli import platform_keys
    from analytiq.settings import read_settings

    with errors_as_sentences():
        platform_keys.delete(read_settings(), data_dir, provider)
