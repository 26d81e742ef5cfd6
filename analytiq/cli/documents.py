"""`analytiq documents …`: documents with their parts."""

from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, output, print_rows
from analytiq.cli.documents_by_name import ids_of, is_id
from analytiq.cli.options import DataDir
from analytiq.client import Client, Document, DocumentDetail, IndexingState, ProblemError
from analytiq.errors import ConflictError, NotFoundError
from analytiq.models.document import DocumentState

app = typer.Typer(help="List and show documents, and open encrypted ones.", no_args_is_help=True)

NOT_FOUND = 404
MOST_PARTS = 100
"""Most parts that `show` lists."""
DocumentName = Annotated[str, typer.Argument(metavar="DOCUMENT", help="Name or id.")]


@app.command("list")
def documents_list(
    *,
    name: Annotated[str | None, typer.Option(help="Only documents with this text in the name.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only documents with this tag. Repeatable.")] = None,
    state: Annotated[list[DocumentState] | None, typer.Option(help="Only documents in this state. Repeatable.")] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="DOCUMENT", help="Only parts of this archive, mailbox or e-mail.")
    ] = None,
    skip: Annotated[int, typer.Option(min=0, help="Number of documents to skip.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of rows.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List documents, newest first, with the number of parts found in each."""
    with api_client(data_dir) as client:
        page = client.documents_page(
            name_search=name,
            tag_ids=_tag_ids(client, tag or []),
            states=[item.value for item in state or []],
            parent_id=None if parent is None else _id_of(client, parent),
            skip=skip,
            limit=limit,
        )
        if not page.items:
            note("No document matches.")
            return
        print_rows(("id", "state", "parts", "name"), [_row(item) for item in page.items])
        end = skip + len(page.items)
        if page.total_count > end:
            note(f"Documents {skip + 1} to {end} of {page.total_count}; --skip {end} shows more.")


@app.command("show")
def documents_show(document: DocumentName, data_dir: DataDir = None) -> None:
    """Show a document: its state, the document that it was found in, and its own parts."""
    with api_client(data_dir) as client:
        found = client.document(_id_of(client, document))
        parent = None if found.parent_id is None else _parent_of(client, found)
        for label, value in _lines(client, found, parent):
            if value:
                output.print(f"{label:<12} {value}", markup=False)
        _print_parts(client, found)


@app.command("password")
def documents_password(
    document: DocumentName,
    password: Annotated[
        str, typer.Option(prompt="Password of the file", hide_input=True, metavar="TEXT", help="Asked for if left out.")
    ],
    data_dir: DataDir = None,
) -> None:
    """Give the password of an encrypted document, and extract its text again. It is stored encrypted."""
    with api_client(data_dir) as client:
        document_id = _id_of(client, document)
        client.update_document_password(document_id, password)
        settled = client.wait_until_indexed([document_id])[0]
        if settled.failures:
            raise ConflictError("; ".join(settled.failures))
        parts = f" {settled.part_count} parts were found in it." if settled.part_count else ""
        note(f"Opened {settled.document_name!r}.{parts}")


def _tag_ids(client: Client, names: list[str]) -> list[str]:
    if not names:
        return []
    known = {tag.name: tag.tag_id for tag in client.tags()}
    for name in names:
        if name not in known:
            raise NotFoundError(f"No tag is named {name!r}. Check the name.")
    return [known[name] for name in names]


def _id_of(client: Client, name: str) -> str:
    """Return the id of the document with this name or id.

    Raises:
        NotFoundError: no document has the name.
        ConflictError: several documents have it.
    """
    if is_id(name):
        return name
    ids = ids_of(client, name)
    if len(ids) > 1:
        raise ConflictError(f"{len(ids)} documents are called {name!r}; give an id: {', '.join(ids[:5])}.")
    return ids[0]


def _parent_of(client: Client, document: DocumentDetail) -> str:
    try:
        name = client.document(document.parent_id or "").document_name
    except ProblemError as error:
        if error.status != NOT_FOUND:
            raise
        name = "deleted"
    return f"{name} ({document.parent_id}), path {document.path}"


def _lines(client: Client, document: DocumentDetail, parent: str | None) -> list[tuple[str, str]]:
    tags = {tag.tag_id: tag.name for tag in client.tags()} if document.tag_ids else {}
    return [
        ("document", document.document_id),
        ("name", document.document_name),
        ("found in", parent or ""),
        ("state", document.state),
        ("error", f"{document.error.code}: {document.error.detail}" if document.error else ""),
        ("pages", "" if document.page_count is None else str(document.page_count)),
        ("bytes", f"{document.byte_size:,}"),
        ("source", document.source_url or ""),
        ("tags", ", ".join(tags.get(tag_id, tag_id) for tag_id in document.tag_ids)),
        ("metadata", ", ".join(f"{name}={value}" for name, value in document.metadata.items())),
        *[("warning", warning) for warning in document.warnings],
        *[("in", _standing(base)) for base in document.knowledge_bases],
        ("parts", f"{document.part_count:,}" if document.part_count else ""),
    ]


def _standing(base: IndexingState) -> str:
    reason = f" ({base.reason})" if base.reason else ""
    noun = "chunk" if base.chunk_count == 1 else "chunks"
    return f"{base.name}: {base.state}, {base.chunk_count:,} {noun}{reason}"


def _print_parts(client: Client, document: DocumentDetail) -> None:
    if not document.part_count:
        return
    page = client.documents_page(parent_id=document.document_id, limit=MOST_PARTS)
    output.print()
    rows = [(item.document_id, item.state, _count(item), item.path or item.document_name) for item in page.items]
    print_rows(("id", "state", "parts", "path"), rows)
    if page.total_count > len(page.items):
        note(f"{len(page.items)} of {page.total_count}; `documents list --parent {document.document_id}` lists all.")


def _row(document: Document) -> tuple[str, ...]:
    return document.document_id, document.state, _count(document), document.document_name


def _count(document: Document) -> str:
    return str(document.part_count) if document.part_count else ""
