"""`analytiq settings …`: what the organization sets for itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from analytiq.cli.console import errors_as_sentences, note, print_rows
from analytiq.cli.options import DataDir

if TYPE_CHECKING:
    from analytiq.client.organization_models import OrganizationSettings

app = typer.Typer(help="The organization's OCR languages and rate limits.", no_args_is_help=True)

PerMinute = Annotated[int | None, typer.Option(min=0, help="0: as the server says.")]


@app.command("show")
def show(data_dir: DataDir = None) -> None:
    """Show the organization's settings beside the server's."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        _print(client.settings())


@app.command("ocr-languages")
def ocr_languages(
    languages: Annotated[
        list[str] | None, typer.Argument(help="Tesseract's codes: eng, deu …; the server's, if left out.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Read pictures of text in these languages, from the next extraction on."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        _print(client.set_ocr_languages(languages or None))


@app.command("rate-limits")
def rate_limits(
    *,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: PerMinute = None,
    documents_per_minute: PerMinute = None,
    model: Annotated[
        str | None, typer.Option(help="Of this model alone: requests and tokens; of all, if left out.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Let less through in a minute than the server would; what is left out stays."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.cli.own_limits import changed_limits
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        wanted = changed_limits(
            client.settings().rate_limits,
            model=model,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            documents_per_minute=documents_per_minute,
        )
        _print(client.set_rate_limits(wanted))


def _print(settings: "OrganizationSettings") -> None:
    own, server = settings.rate_limits, settings.server.rate_limits
    languages = "-" if settings.ocr_languages is None else " ".join(settings.ocr_languages)
    rows = [
        ("OCR languages", languages, " ".join(settings.server.ocr_languages)),
        ("requests a minute", _figure(own.requests_per_minute), _figure(server.requests_per_minute)),
        ("tokens a minute", _figure(own.tokens_per_minute), _figure(server.tokens_per_minute)),
        ("documents a minute", _figure(own.documents_per_minute), _figure(server.documents_per_minute)),
    ]
    named = {limit.model: limit for limit in server.models}
    for limit in own.models:
        servers = named.get(limit.model)
        rows += [
            (
                f"requests a minute of {limit.model}",
                _figure(limit.requests_per_minute),
                _figure(servers and servers.requests_per_minute),
            ),
            (
                f"tokens a minute of {limit.model}",
                _figure(limit.tokens_per_minute),
                _figure(servers and servers.tokens_per_minute),
            ),
        ]
    print_rows(("setting", "organization", "server"), rows)
    note(f"OCR languages to choose from: {' '.join(settings.available_ocr_languages) or 'none is installed'}.")


def _figure(value: int | None) -> str:
    return "-" if value is None else str(value)
