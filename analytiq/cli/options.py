"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where everything is kept; ANALYTIQ_DATA_DIR, else ~/.local/share/analytiq."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Host = Annotated[str | None, typer.Option(help="Address to listen on; the loopback unless told otherwise.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
