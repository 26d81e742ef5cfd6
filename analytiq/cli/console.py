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

# No emoji: the output has names, ids and passages, in which `1:100:5` would become another text.
output = Console(highlight=False, soft_wrap=True, emoji=False)
messages = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended."""


def make_output_printable() -> None:
    """Escape characters that the terminal's encoding lacks, and undecodable bytes of names, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_logs() -> None:
    """Keep the library's log lines out of a command's output; commands that run processes configure logs themselves."""
    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def fail(detail: str) -> None:
    """Print why a command failed."""
    messages.print(f"[bold red]Error:[/] {escape(detail)}")


def note(detail: str) -> None:
    """Print a message that is not a result."""
    messages.print(escape(detail))


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their content: a truncated id is useless."""
    lines = [headings, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for number, line in enumerate(lines):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text = escape("  ".join(cells).rstrip())
        output.print(f"[bold]{text}[/]" if number == 0 else text)


@contextmanager
def errors_as_sentences() -> Generator[None]:
    """End the command at an error of the library, with exit code 1 and its sentence instead of a traceback."""
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
