"""`analytiq ingest`: its options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli import knowledge_bases
from analytiq.cli.connection import connect_to_api
from analytiq.cli.console import INTERRUPTED, errors_as_sentences, messages, note
from analytiq.cli.external_identity import read_external_identity, require_single_file
from analytiq.cli.files import Choice, find_files
from analytiq.cli.folder_watch import follow, state_of
from analytiq.cli.ingestion import Ingestion, Wishes, tell_skipped
from analytiq.cli.metadata_options import read_metadata
from analytiq.cli.options import DataDir
from analytiq.cli.web_ingestion import WebWishes, ingest_addresses, is_address, require_no_options_of_files
from analytiq.client import Client, DuplicatePolicy, KnowledgeBase, Tag
from analytiq.errors import InvalidInputError
from analytiq.settings import read_settings

app = typer.Typer()


@app.command()
def ingest(
    *,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH-OR-URL…", help="Files and directories, without hidden ones; or web addresses."),
    ],
    tag: Annotated[list[str] | None, typer.Option(help="Tag for all files, created if missing. Repeatable.")] = None,
    kb: Annotated[str | None, typer.Option(help="Knowledge base for these tags, created if missing.")] = None,
    model: Annotated[str | None, typer.Option(help="Embedding model of a new knowledge base.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Metadata for all files. Repeatable.")
    ] = None,
    on_duplicate: Annotated[
        DuplicatePolicy | None,
        typer.Option(help="Action for an existing name. Default: replace for directories, return for files."),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Pattern of files to include. Repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Pattern of files or folders to exclude. Repeatable.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Folder name in Analytiq, instead of the directory's.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete documents whose files left the directory.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Follow changes until Ctrl-C.")] = False,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="System that the file comes from. Requires --external-id.")
    ] = None,
    external_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Id of the file's item there. Replaces the document of this item.")
    ] = None,
    external_version: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Version of the item. Nothing is done for a known version.")
    ] = None,
    password: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Password of the encrypted files among them.")
    ] = None,
    source_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Web address of the file's original, shown with its passages.")
    ] = None,
    pages: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most pages of a web site. Default: 100.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until the documents are searchable.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Upload files, and wait until they are searchable. Exit code 1 if any failed.

    Ingesting a directory again sends only new and changed files; documents are named by their paths in it.

    A web address is crawled as a source: its page, and what it links to on the same host.
    """
    with errors_as_sentences():
        choice = Choice(tuple(include or ()), tuple(exclude or ()))
        values = read_metadata(metadata or [])
        if any(map(is_address, paths)):
            if not all(map(is_address, paths)):
                raise InvalidInputError("Files and web addresses cannot be ingested by one command.")
            require_no_options_of_files(
                {
                    "--as": name, "--delete": delete, "--watch": watch, "--source": source, "--password": password,
                    "--external-id": external_id, "--external-version": external_version,
                    "--source-url": source_url, "--on-duplicate": on_duplicate,
                }
            )  # fmt: skip
            with connect_to_api(read_settings(), data_dir) as client:
                tags, _ = destination(client, tag, kb, model)
                is_well = ingest_addresses(
                    client, paths, WebWishes(tags, values or {}, include or (), exclude or (), pages, wait)
                )
            raise typer.Exit(0 if is_well else 1)
        if pages is not None:
            raise InvalidInputError("--pages can be used with web addresses only.")
        files = [Path(each) for each in paths]
        found = find_files(files, choice, folder=name)
        item = read_external_identity(source, external_id, external_version, found=found, watch=watch)
        require_single_file(source_url, found=found, watch=watch)
        with connect_to_api(read_settings(), data_dir) as client:
            tags, knowledge_base = destination(client, tag, kb, model)
            tell_skipped(found)
            begun = state_of(found)
            ingestion = Ingestion(
                client,
                Wishes(
                    tags=tags,
                    metadata=values,
                    knowledge_base=knowledge_base,
                    on_duplicate=on_duplicate,
                    external_identity=item,
                    password=password,
                    source_url=source_url,
                    is_named=name is not None,
                    deletes=delete,
                    waits=wait,
                ),
            )
            try:
                is_well = ingestion.run(found)
                if watch:
                    follow(ingestion, lambda: find_files(files, choice, folder=name), begun)
            except KeyboardInterrupt:
                messages.print(ingestion.stop())
                raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(0 if is_well else 1)


def destination(
    client: Client, tag: Sequence[str] | None, kb: str | None, model: str | None
) -> tuple[list[Tag], KnowledgeBase | None]:
    """Return the tags and the knowledge base, created if missing."""
    tags = [client.ensure_tag(each) for each in dict.fromkeys(tag or [])]
    if kb is None:
        return tags, None
    knowledge_base, is_new = knowledge_bases.ensure(client, kb, tags, model=model)
    note(f"Created the knowledge base {kb!r}." if is_new else f"Adding to the knowledge base {kb!r}.")
    knowledge_bases.tell_destination(knowledge_base)
    return tags, knowledge_base
