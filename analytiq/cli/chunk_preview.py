"""`analytiq chunk-preview`: the chunks that settings would make of a document."""

from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, print_rows
from analytiq.cli.options import DataDir, IndexType, IndexTypes, SectionLevel

app = typer.Typer()
_SHOWN_CHARACTERS = 60


@app.command("chunk-preview")
def chunk_preview(
    *,
    document_id: Annotated[str, typer.Argument(help="Id of a document whose text is extracted.")],
    chunker: Annotated[str, typer.Option(help="Chunker that splits the text.")] = "auto",
    chunk_size: Annotated[int, typer.Option(min=1, max=8192, help="Tokens.")] = 512,
    chunk_overlap: Annotated[
        int | None,
        typer.Option(min=0, max=4096, help="Overlap in tokens. Default: 128, at most a quarter of the chunk."),
    ] = None,
    section_level: SectionLevel = None,
    index_type: IndexTypes = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Chunks to show.")] = 100,
    data_dir: DataDir = None,
) -> None:
    """Show the chunks that settings would make of a document.

    Nothing is stored.
    """
    with api_client(data_dir) as client:
        preview = client.preview_chunks(
            document_id=document_id,
            chunker_type=chunker,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            section_level=section_level or 0,
            index_types=index_type or (IndexType.PARAGRAPH,),
            limit=limit,
        )
    rows = [
        (
            str(chunk.chunk_index),
            chunk.index_type,
            str(chunk.first_page) if chunk.first_page == chunk.last_page else f"{chunk.first_page}-{chunk.last_page}",
            str(chunk.token_count),
            " > ".join(chunk.heading_path),
            " ".join(chunk.text.split())[:_SHOWN_CHARACTERS],
        )
        for chunk in preview.chunks
    ]
    print_rows(("chunk", "type", "page", "tokens", "headings", "text"), rows)
    beginning = "" if preview.is_complete else f" of the first {preview.character_count} characters"
    note(f"{len(rows)} of {preview.total_count} chunks{beginning}.")
    if preview.skipped_character_count:
        note(f"Left out: {preview.skipped_character_count} characters of flawed text.")
