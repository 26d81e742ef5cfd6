"""`analytiq fields …`: the declared types of documents' metadata."""

from collections.abc import Mapping, Sequence

from analytiq.cli.console import note, print_rows
from analytiq.client import Client
from analytiq.errors import InvalidInputError
from analytiq.models.metadata_field import FieldType, MisfitPolicy


def print_table(client: Client) -> None:
    """Print the fields whose type is declared."""
    fields = client.metadata_fields()
    if not fields:
        note("No field is declared: documents take any metadata. `analytiq fields declare` declares one.")
        return
    print_rows(("field", "type"), [(name, kind.value) for name, kind in sorted(fields.items())])


def declare(client: Client, items: Sequence[str], *, removes_misfits: bool) -> None:
    """Declare fields, each NAME=TYPE, beside those that are declared already."""
    added = dict(_declared(item) for item in items)
    on_misfit = MisfitPolicy.REMOVE if removes_misfits else MisfitPolicy.REFUSE
    _put(client, {**client.metadata_fields(), **added}, on_misfit)


def drop(client: Client, names: Sequence[str]) -> None:
    """Declare fields no longer."""
    fields = client.metadata_fields()
    if unknown := [name for name in names if name not in fields]:
        raise InvalidInputError(f"not declared: {', '.join(unknown)}; `analytiq fields list` shows what is")
    _put(client, {name: kind for name, kind in fields.items() if name not in names}, MisfitPolicy.REFUSE)


def _put(client: Client, fields: Mapping[str, FieldType], on_misfit: MisfitPolicy) -> None:
    answer = client.declare_metadata_fields(fields, on_misfit=on_misfit)
    removed = f", {answer.values_removed} values were removed" if answer.values_removed else ""
    rewritten = f"{answer.documents_rewritten} documents were written anew"
    note(f"{len(answer.fields)} fields are declared; {rewritten}{removed}.")


def _declared(item: str) -> tuple[str, FieldType]:
    name, _, kind = item.rpartition("=")
    try:
        return name, FieldType(kind)
    except ValueError as error:
        known = ", ".join(FieldType)
        raise InvalidInputError(f"{item!r} is no NAME=TYPE; the types are {known}") from error
