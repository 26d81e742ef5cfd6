"""Options shared by several commands."""

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Data directory. Default: ANALYTIQ_DATA_DIR, else ~/.local/share/analytiq."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]
Yes = Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")]
Host = Annotated[str | None, typer.Option(help="Address to listen on. Default: the loopback.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
