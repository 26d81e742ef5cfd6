"""`analytiq settings …`: the organization's OCR languages, rate limits, vision model and skipped text."""

from enum import StrEnum
from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, print_rows
from analytiq.cli.options import DataDir
from analytiq.client.organization_models import ModelRateLimit, OrganizationSettings, RateLimits
from analytiq.errors import InvalidInputError
from analytiq.models.flaws import FlawKind

app = typer.Typer(
    help="Manage the organization's OCR languages, rate limits, vision model and skipped text.", no_args_is_help=True
)

PerMinute = Annotated[int | None, typer.Option(min=0, help="0 restores the server's limit.")]


class SkippableFlaw(StrEnum):
    """A kind of flawed text that can be left out."""

    NOISE = FlawKind.NOISE.value
    MISDECODED = FlawKind.MISDECODED.value
    MACHINE_TEXT = FlawKind.MACHINE_TEXT.value
    VISUAL_ORDER = FlawKind.VISUAL_ORDER.value


@app.command("show")
def show(data_dir: DataDir = None) -> None:
    """Show the organization's settings beside the server's."""
    with api_client(data_dir) as client:
        _print(client.settings())


@app.command("ocr-languages")
def ocr_languages(
    languages: Annotated[
        list[str] | None, typer.Argument(help="Tesseract codes such as eng or deu. Default: the server's.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Set the OCR languages, from the next extraction on."""
    with api_client(data_dir) as client:
        _print(client.set_ocr_languages(languages or None))


@app.command("rate-limits")
def rate_limits(
    *,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: PerMinute = None,
    documents_per_minute: PerMinute = None,
    model: Annotated[
        str | None, typer.Option(help="Model of the request and token limits. Default: all models.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Set limits per minute below the server's; omitted ones stay."""
    with api_client(data_dir) as client:
        wanted = changed_limits(
            client.settings().rate_limits,
            model=model,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            documents_per_minute=documents_per_minute,
        )
        _print(client.set_rate_limits(wanted))


@app.command("vision")
def vision(
    *,
    model: Annotated[
        str | None, typer.Option(help="A model that reads pictures, of a provider whose key is stored.")
    ] = None,
    figures: Annotated[bool | None, typer.Option(help="Describe the figures of documents.")] = None,
    pages: Annotated[bool | None, typer.Option(help="Read the pages that OCR reads badly.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Describe and read nothing.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Choose the vision model and its tasks, from the next extraction on; omitted ones stay."""
    wanted = {"model": model, "describe_figures": figures, "read_pages": pages}
    changes = {name: value for name, value in wanted.items() if value is not None}
    if not changes and not off:
        raise InvalidInputError("Name a change: --model, --figures, --pages or --off.")
    with api_client(data_dir) as client:
        chosen = None if off else client.settings().vision.model_copy(update=changes)
        _print(client.set_vision(chosen))


@app.command("flawed-text")
def flawed_text(
    *,
    skip: Annotated[
        list[SkippableFlaw] | None, typer.Option(help="Kind of flawed text to leave out. Repeat for several.")
    ] = None,
    index: Annotated[bool, typer.Option("--index", help="Index all text.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Choose the flawed text that knowledge bases leave out; documents with such text are indexed again."""
    if bool(skip) == index:
        raise InvalidInputError("Name the kinds to leave out, such as --skip noise, or give --index.")
    with api_client(data_dir) as client:
        _print(client.skip_flawed_text([kind.value for kind in skip or ()] or None))


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
    chosen = settings.vision
    tasks = [name for name, is_on in (("figures", chosen.describe_figures), ("pages", chosen.read_pages)) if is_on]
    note(f"Vision model: {chosen.model or 'none'}. Reads: {' and '.join(tasks) or 'nothing'}.")
    note(f"Flawed text left out: {', '.join(settings.skipped_flaws) or 'none'}.")
    note(f"Available OCR languages: {' '.join(settings.available_ocr_languages) or 'none installed'}.")


def _figure(value: int | None) -> str:
    return "-" if value is None else str(value)


def changed_limits(
    now: RateLimits,
    *,
    model: str | None,
    requests_per_minute: int | None,
    tokens_per_minute: int | None,
    documents_per_minute: int | None,
) -> RateLimits:
    """Return the limits after a change; None keeps a limit, 0 removes it.

    Raises:
        InvalidInputError: no change is given, or a limit of documents is given for a model.
    """
    if requests_per_minute is None and tokens_per_minute is None and documents_per_minute is None:
        raise InvalidInputError(
            "Name a limit to change: --requests-per-minute, --tokens-per-minute or --documents-per-minute."
        )
    if model is None:
        return now.model_copy(
            update={
                "requests_per_minute": _changed(now.requests_per_minute, requests_per_minute),
                "tokens_per_minute": _changed(now.tokens_per_minute, tokens_per_minute),
                "documents_per_minute": _changed(now.documents_per_minute, documents_per_minute),
            }
        )
    if documents_per_minute is not None:
        raise InvalidInputError("A model has no limit of documents. Leave out --model or --documents-per-minute.")
    before = next((limit for limit in now.models if limit.model == model), ModelRateLimit(model=model))
    after = ModelRateLimit(
        model=model,
        requests_per_minute=_changed(before.requests_per_minute, requests_per_minute),
        tokens_per_minute=_changed(before.tokens_per_minute, tokens_per_minute),
    )
    others = [limit for limit in now.models if limit.model != model]
    is_said = after.requests_per_minute is not None or after.tokens_per_minute is not None
    return now.model_copy(update={"models": [*others, after] if is_said else others})


def _changed(now: int | None, wanted: int | None) -> int | None:
    return now if wanted is None else wanted or None
