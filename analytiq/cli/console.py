"""What the terminal shows: results on standard output, everything else on standard error."""

from collections.abc import Generator
from contextlib import contextmanager

import typer
from rich.console import Console

from analytiq.errors import AnalytiqError

output = Console(highlight=False, soft_wrap=True)
messages = Console(stderr=True, highlight=False, soft_wrap=True)


def fail(detail: str) -> None:
    """Say why a command failed."""
    messages.print(f"[bold red]Error:[/] {_escaped(detail)}")


def note(detail: str) -> None:
    """Say something that is no result."""
    messages.print(_escaped(detail))


@contextmanager
def errors_as_sentences() -> Generator[None]:
    """Within the block, an error of ours ends the command with exit code 1 and its sentence, no traceback."""
    try:
        yield
    except AnalytiqError as error:
        fail(error.detail)
        raise typer.Exit(1) from None


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
