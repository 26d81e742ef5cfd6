"""Options shared by several commands."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class IndexType(StrEnum):
    """Granularity of what is indexed."""

    PARAGRAPH = "paragraph"
    SECTION = "section"
    WEBSITE = "website"


DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Data directory. Default: ANALYTIQ_DATA_DIR, else ~/.local/share/analytiq."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]
Yes = Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")]
Host = Annotated[str | None, typer.Option(help="Address to listen on. Default: the loopback.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
IndexTypes = Annotated[
    list[IndexType] | None,
    typer.Option(
        "--index-type",
        help="Granularity to index: paragraph (default), section or website (a whole page). Repeatable.",
    ),
]
SectionLevel = Annotated[
    int | None, typer.Option(min=0, max=6, help="Heading level that no chunk crosses; 0 for none.")
]
