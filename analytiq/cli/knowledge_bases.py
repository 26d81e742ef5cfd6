"""`analytiq kb …`, and knowledge bases by name for other commands."""

from collections.abc import Sequence
from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, print_rows
from analytiq.cli.options import DataDir, IndexType, IndexTypes, SectionLevel
from analytiq.client import Client, KnowledgeBase, ProblemError, Tag
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError

SearchedMetadata = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY", help="Metadata key whose values are searched with each chunk. Repeatable."),
]

app = typer.Typer(help="Manage knowledge bases.", no_args_is_help=True)


@app.command("list")
def kb_list(data_dir: DataDir = None) -> None:
    """List knowledge bases."""
    with api_client(data_dir) as client:
        print_table(client)


@app.command("create")
def kb_create(
    *,
    name: Annotated[str, typer.Argument()],
    tag: Annotated[list[str], typer.Option(help="Tag of its documents, created if missing. Repeatable.")],
    model: Annotated[str | None, typer.Option(help="Embedding model. Default: the installation's.")] = None,
    chunker: Annotated[str, typer.Option(help="Chunker that splits the texts.")] = "auto",
    chunk_size: Annotated[int, typer.Option(min=1, max=8192, help="Tokens.")] = 512,
    chunk_overlap: Annotated[int, typer.Option(min=0, max=4096, help="Tokens.")] = 128,
    context: Annotated[
        bool,
        typer.Option(
            "--context/--no-context", help="Search each chunk with its document's title and name, and its headings."
        ),
    ] = True,
    searched_metadata: SearchedMetadata = None,
    section_level: SectionLevel = None,
    index_type: IndexTypes = None,
    data_dir: DataDir = None,
) -> None:
    """Create a knowledge base."""
    with api_client(data_dir) as client:
        created = client.create_knowledge_base(
            name,
            tag_ids=[client.ensure_tag(each).tag_id for each in dict.fromkeys(tag)],
            embedding_model=model,
            chunker_type=chunker,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            context=context,
            searched_metadata=searched_metadata or (),
            section_level=section_level or 0,
            index_types=index_type or (IndexType.PARAGRAPH,),
        )
        tell_destination(created)
        typer.echo(created.kb_id)


@app.command("move")
def kb_move(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME-OR-ID")],
    context: Annotated[
        bool,
        typer.Option(
            "--context/--no-context", help="Search each chunk with its document's title and name, and its headings."
        ),
    ] = True,
    searched_metadata: SearchedMetadata = None,
    chunker: Annotated[str | None, typer.Option(help="Chunker that splits the texts.")] = None,
    chunk_size: Annotated[int | None, typer.Option(min=1, max=8192, help="Tokens.")] = None,
    chunk_overlap: Annotated[int | None, typer.Option(min=0, max=4096, help="Tokens.")] = None,
    section_level: SectionLevel = None,
    index_type: IndexTypes = None,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Index a knowledge base again by other settings, while searches go on."""
    with api_client(data_dir) as client:
        chosen = choose(client, name)
        forecast = client.forecast(
            tag_ids=chosen.tag_ids,
            chunker_type=chunker or chosen.chunker_type,
            chunk_size=chunk_size or chosen.chunk_size,
            chunk_overlap=chosen.chunk_overlap if chunk_overlap is None else chunk_overlap,
            embedding_model=chosen.embedding_model,
            context=context,
            searched_metadata=chosen.searched_metadata if searched_metadata is None else searched_metadata,
            section_level=chosen.section_level if section_level is None else section_level,
            index_types=index_type or chosen.index_types,
        )
        about = "about " if forecast.is_estimated else ""
        cost = f"{about}{forecast.spus.value} SPUs for {forecast.document_count} documents"
        if not yes:
            typer.confirm(f"Index {chosen.name!r} again? It costs {cost}.", abort=True)
        client.move_knowledge_base(
            chosen.kb_id,
            context=context,
            searched_metadata=searched_metadata,
            chunker_type=chunker,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            section_level=section_level,
            index_types=index_type,
        )
        note(f"Moving {chosen.name!r}: {cost}. `analytiq status` shows the remaining work.")


@app.command("delete")
def kb_delete(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME-OR-ID")],
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Detach prompts that search it: each gets a version without it.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a knowledge base; its documents stay."""
    with api_client(data_dir) as client:
        found = choose(client, name)
        if not yes:
            typer.confirm(f"Delete {found.name!r} with {found.document_count} documents indexed?", abort=True)
        client.delete_knowledge_base(found.kb_id, detaches_prompts=detach)
        note(f"{found.name!r} is deleted. Its documents stay.")


def choose(client: Client, name_or_id: str | None) -> KnowledgeBase:
    """Return the knowledge base of this name or id, by default the only one.

    Raises:
        NotFoundError: it does not exist, or the organization has no knowledge base.
        InvalidInputError: none is named, and there are several.
        ConflictError: several have the name.
    """
    found = list(client.knowledge_bases())
    if name_or_id is None:
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(
                "There is no knowledge base yet: `analytiq ingest PATH --tag NAME --kb NAME` makes one."
            )
        raise InvalidInputError(f"There are several knowledge bases; choose one with --kb: {_names(found)}.")
    matching = [item for item in found if name_or_id in (item.name, item.kb_id)]
    if not matching:
        known = f"there are {_names(found)}" if found else "there is none yet"
        raise NotFoundError(f"No knowledge base has the name or id {name_or_id!r}; {known}.")
    if len(matching) > 1:
        ids = ", ".join(item.kb_id for item in matching)
        raise ConflictError(f"{len(matching)} knowledge bases are called {name_or_id!r}; name one by its id: {ids}.")
    return matching[0]


def ensure(client: Client, name: str, tags: Sequence[Tag], *, model: str | None = None) -> tuple[KnowledgeBase, bool]:
    """Return the knowledge base of this name and whether it was created, with these tags and this model.

    Raises:
        InvalidInputError: it exists, but lacks one of the tags or has another model.
    """
    if not tags:
        raise InvalidInputError("--kb needs a --tag: a knowledge base gathers the documents that share a tag with it.")
    knowledge_base = client.find_knowledge_base(name)
    if knowledge_base is None:
        try:
            return client.create_knowledge_base(name, tag_ids=[tag.tag_id for tag in tags], embedding_model=model), True
        except ProblemError as error:
            # Another command may have made it in the meantime.
            knowledge_base = client.find_knowledge_base(name) if error.status == 409 else None
            if knowledge_base is None:
                raise
    if not {tag.tag_id for tag in tags} & set(knowledge_base.tag_ids):
        own = [tag.name for tag in client.tags() if tag.tag_id in knowledge_base.tag_ids]
        gathers = f"gathers documents tagged {', '.join(map(repr, own))}" if own else "has no tags"
        raise InvalidInputError(
            f"The knowledge base {name!r} {gathers}, so these files would not get into it: add one of its tags with"
            " --tag, or name another knowledge base."
        )
    if model is not None and model != knowledge_base.embedding_model:
        raise InvalidInputError(
            f"The knowledge base {name!r} is embedded by {knowledge_base.embedding_model!r}, which cannot be changed."
            " Leave --model out, or name another knowledge base."
        )
    return knowledge_base, False


def tell_destination(made: KnowledgeBase) -> None:
    """Print the recipient of a new knowledge base's texts."""
    if made.texts_go_to is not None:
        note(f"Embedded by {made.texts_go_to.sentence}")


def print_table(client: Client) -> None:
    """Print all knowledge bases."""
    names = {tag.tag_id: tag.name for tag in client.tags()}
    rows: list[tuple[str, ...]] = []
    without_context: list[KnowledgeBase] = []
    for item in client.knowledge_bases():
        tags = ", ".join(names.get(tag_id, tag_id) for tag_id in item.tag_ids)
        counts = (str(item.document_count), str(item.failed_document_count), str(item.chunk_count))
        rows.append((item.name, item.kb_id, item.status, *counts, tags, item.embedding_model))
        if not item.context:
            without_context.append(item)
    if rows:
        print_rows(("knowledge base", "id", "status", "documents", "failed", "chunks", "tags", "model"), rows)
    else:
        note("There is no knowledge base yet.")
    if without_context:
        note(f"Indexed without context: {_names(without_context)}. `analytiq kb move NAME` turns it on.")


def _names(found: Sequence[KnowledgeBase]) -> str:
    return ", ".join(repr(item.name) for item in found)
