"""`analytiq kb …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences, note
from analytiq.cli.options import DataDir

app = typer.Typer(help="Knowledge bases.", no_args_is_help=True)


@app.command("list")
def kb_list(data_dir: DataDir = None) -> None:
    """List knowledge bases."""
    from analytiq.cli import knowledge_bases
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        knowledge_bases.print_table(client)


@app.command("create")
def kb_create(
    *,
    name: Annotated[str, typer.Argument()],
    tag: Annotated[list[str], typer.Option(help="It gathers documents with any of these; made if missing.")],
    model: Annotated[str | None, typer.Option(help="Embedding model; the installation's default, if left out.")] = None,
    chunker: Annotated[str, typer.Option(help="How texts are cut.")] = "recursive",
    chunk_size: Annotated[int, typer.Option(min=1, max=8192, help="Tokens.")] = 512,
    chunk_overlap: Annotated[int, typer.Option(min=0, max=4096, help="Tokens.")] = 128,
    data_dir: DataDir = None,
) -> None:
    """Make a knowledge base."""
    from analytiq.cli import knowledge_bases
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        created = client.create_knowledge_base(
            name,
            tag_ids=[client.ensure_tag(each).tag_id for each in dict.fromkeys(tag)],
            embedding_model=model,
            chunker_type=chunker,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
        )
        knowledge_bases.tell_destination(created)
        typer.echo(created.kb_id)


@app.command("delete")
def kb_delete(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME-OR-ID")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Also where prompts search it: each gets a version without it.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a knowledge base; its documents stay."""
    from analytiq.cli import knowledge_bases
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        found = knowledge_bases.choose(client, name)
        if not yes:
            typer.confirm(f"Delete {found.name!r} with {found.document_count} documents indexed?", abort=True)
        client.delete_knowledge_base(found.kb_id, detaches_prompts=detach)
        note(f"{found.name!r} is deleted; its documents are still there.")
