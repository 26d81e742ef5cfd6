"""`analytiq fields …`: the declared types of documents' metadata."""

from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, print_rows
from analytiq.cli.options import DataDir
from analytiq.client import Client, FieldType, MisfitPolicy
from analytiq.errors import InvalidInputError

app = typer.Typer(help="Manage the declared types of documents' metadata.", no_args_is_help=True)


@app.command("list")
def list_fields(data_dir: DataDir = None) -> None:
    """List the declared fields."""
    with api_client(data_dir) as client:
        fields = client.metadata_fields()
        if not fields:
            note(
                "No fields are declared: documents accept any metadata. Declare fields with `analytiq fields declare`."
            )
            return
        print_rows(("field", "type"), [(name, kind.value) for name, kind in sorted(fields.items())])


@app.command("declare")
def declare(
    *,
    field: Annotated[list[str], typer.Argument(metavar="NAME=TYPE", help="string, number, boolean or date.")],
    removes_misfits: Annotated[
        bool, typer.Option("--remove-misfits", help="Remove values of another type from the documents' metadata.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Declare further fields, or change the types of declared ones."""
    with api_client(data_dir) as client:
        added = dict(_declared(item) for item in field)
        _put(client, {**client.metadata_fields(), **added}, MisfitPolicy.REMOVE if removes_misfits else None)


@app.command("drop")
def drop(
    *, name: Annotated[list[str], typer.Argument(help="Name from `fields list`.")], data_dir: DataDir = None
) -> None:
    """Remove declarations of fields; the documents' values stay, and may be of any type from now on."""
    with api_client(data_dir) as client:
        fields = client.metadata_fields()
        if unknown := [each for each in name if each not in fields]:
            raise InvalidInputError(
                f"Undeclared fields: {', '.join(unknown)}. List the declared ones with `analytiq fields list`."
            )
        _put(client, {each: kind for each, kind in fields.items() if each not in name}, None)


def _put(client: "Client", fields: dict[str, FieldType], on_misfit: MisfitPolicy | None) -> None:
    answer = client.declare_metadata_fields(fields, on_misfit=on_misfit or MisfitPolicy.REFUSE)
    removed = f", {answer.values_removed} values were removed" if answer.values_removed else ""
    rewritten = f"{answer.documents_rewritten} documents were rewritten"
    note(f"{len(answer.fields)} fields are declared; {rewritten}{removed}.")


def _declared(item: str) -> tuple[str, FieldType]:
    name, _, kind = item.rpartition("=")
    try:
        return name, FieldType(kind)
    except ValueError as error:
        known = ", ".join(FieldType)
        raise InvalidInputError(f"{item!r} is not of the form NAME=TYPE. The types are {known}.") from error
