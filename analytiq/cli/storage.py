"""`analytiq storage …`: quotas of storage.

Set directly in the database: a token of an organization must not raise its quota.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ByteSize, TypeAdapter, ValidationError

from analytiq.cli.console import errors_as_sentences, print_rows
from analytiq.cli.options import DataDir
from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.storage import Storage
from analytiq.models.storage import StorageAccount
from analytiq.settings import Settings, read_settings
from analytiq.standalone.local_database import on_database, organization_of
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.storage_accounts import StorageAccountRepository

app = typer.Typer(
    help="Manage an organization's storage quota, directly in the database; for operators.",
    no_args_is_help=True,
)

OfOrganization = Annotated[
    str | None, typer.Option("--organization", help="Id of the organization. Default: the oldest.")
]


@app.command("show")
def storage_show(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Show an organization's storage quota and usage."""
    with errors_as_sentences():
        show(read_settings(), data_dir, organization)


@app.command("set")
def storage_set(
    *,
    size: Annotated[
        str | None,
        typer.Option("--bytes", help="Size of files, with an optional unit (kB, MB, GB, MiB, GiB), or `none`."),
    ] = None,
    documents: Annotated[str | None, typer.Option(help="Number of documents, or `none`.")] = None,
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Set an organization's storage quota; omitted limits stay. Stored documents stay, too."""
    with errors_as_sentences():
        change(read_settings(), data_dir, organization, size=size, documents=documents)


@app.command("lift")
def storage_lift(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Remove an organization's storage quota."""
    with errors_as_sentences():
        change(read_settings(), data_dir, organization, size="none", documents="none")


@app.command("recount")
def storage_recount(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Recount an organization's usage, as the reconciler does once a day."""
    with errors_as_sentences():
        recount(read_settings(), data_dir, organization)


Work = Callable[[Storage, str], Awaitable[StorageAccount]]

NO_QUOTA = "none"
_BYTES = TypeAdapter(ByteSize)


def show(settings: Settings, data_dir: Path | None, organization_id: str | None) -> None:
    """Print an organization's quota and usage."""
    _print(_on_account(settings, data_dir, organization_id, lambda storage, found: storage.account(found)))


def change(
    settings: Settings, data_dir: Path | None, organization_id: str | None, *, size: str | None, documents: str | None
) -> None:
    """Set a quota; None: it stays as it is, NO_QUOTA: unlimited."""
    if size is None and documents is None:
        raise InvalidInputError("Name a limit to change: --bytes, --documents, or both.")
    wanted_bytes, wanted_documents = parsed_bytes(size), parsed_documents(documents)

    async def work(storage: Storage, found: str) -> StorageAccount:
        now = await storage.account(found)
        return await storage.set_quota(
            found,
            max_bytes=now.max_bytes if size is None else wanted_bytes,
            max_documents=now.max_documents if documents is None else wanted_documents,
        )

    _print(_on_account(settings, data_dir, organization_id, work))


def recount(settings: Settings, data_dir: Path | None, organization_id: str | None) -> None:
    """Recount and print."""
    _print(_on_account(settings, data_dir, organization_id, lambda storage, found: storage.recount(found)))


def parsed_bytes(text: str | None) -> int | None:
    """Parse `10GB`, `512MiB` or `1000`; return None for `none`.

    Raises:
        InvalidInputError: it is not a size.
    """
    if text is None or text == NO_QUOTA:
        return None
    try:
        size = int(_BYTES.validate_python(text))
    except ValidationError as error:
        raise InvalidInputError.of_field(
            "--bytes", f"{text!r} is not a size. Write a size such as 10GB or 512MiB, or `none`."
        ) from error
    if size < 0:
        raise InvalidInputError.of_field("--bytes", "Must be 0 or more.")
    return size


def parsed_documents(text: str | None) -> int | None:
    """Parse a number; None for `none`.

    Raises:
        InvalidInputError: it is not a number.
    """
    if text is None or text == NO_QUOTA:
        return None
    if not text.isdecimal():
        raise InvalidInputError.of_field(
            "--documents", f"{text!r} is not a number. Write a number such as 1000, or `none`."
        )
    return int(text)


def _on_account(settings: Settings, data_dir: Path | None, organization_id: str | None, work: Work) -> StorageAccount:
    async def run(connection: MongoConnection) -> StorageAccount:
        organization = await organization_of(connection, organization_id)
        storage = Storage(StorageAccountRepository(connection), DocumentRepository(connection))
        return await work(storage, organization.id)

    return on_database(settings, data_dir, run)


def _print(account: StorageAccount) -> None:
    figures = (account.max_bytes, account.used.stored_bytes, account.max_documents, account.used.documents)
    texts = ["unlimited" if figure is None else str(figure) for figure in figures]
    headings = ("organization", "bytes at most", "bytes", "documents at most", "documents")
    print_rows(headings, [(account.organization_id, *texts)])
