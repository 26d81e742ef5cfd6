"""Terminal output: results on standard output, messages on standard error."""

import logging
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper

import typer
from rich.console import Console
from rich.markup import escape

from analytiq.errors import AnalytiqError

# No emoji: what is printed is names, ids and passages, of which `1:100:5` would become another text.
output = Console(highlight=False, soft_wrap=True, emoji=False)
messages = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended."""


def make_output_printable() -> None:
    """Escape what the terminal's encoding lacks, and bytes of names that are no text, instead of failing at them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_logs() -> None:
    """Keep log lines of the library out of a command's output; commands that run processes set logs up themselves."""
    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def fail(detail: str) -> None:
    """Say why a command failed."""
    messages.print(f"[bold red]Error:[/] {escape(detail)}")


def note(detail: str) -> None:
    """Say something that is no result."""
    messages.print(escape(detail))


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as what they hold: an id that is cut off to fit the terminal is of no use."""
    lines = [headings, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for number, line in enumerate(lines):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text = escape("  ".join(cells).rstrip())
        output.print(f"[bold]{text}[/]" if number == 0 else text)


@contextmanager
def errors_as_sentences() -> Generator[None]:
    """Within the block, an error of ours ends the command with exit code 1 and its sentence, no traceback."""
    try:
        yield
    except AnalytiqError as error:
        fail(error.detail)
        raise typer.Exit(1) from None
    except ValueError as error:
        # Imported only here: reading settings takes a library that `--help` does not need.
        from analytiq.settings import SettingsError

        if not isinstance(error, SettingsError):
            raise
        fail(str(error))
        raise typer.Exit(1) from None
