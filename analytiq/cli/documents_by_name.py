"""Look-up of documents by the names that people type."""

import re

from analytiq.client import Client
from analytiq.errors import ConflictError, NotFoundError

_ID = re.compile("[0-9a-f]{24}")


def is_id(text: str) -> bool:
    """Return whether the name has the form of an id."""
    return _ID.fullmatch(text) is not None


def ids_of(client: Client, name: str) -> list[str]:
    """Return the ids of the documents of this name: with its folders, or of the file alone if unambiguous.

    Raises:
        NotFoundError: no document has the name.
        ConflictError: several folders have a file of this name.
    """
    named = list(client.documents(name_search=name))
    exact = [item.document_id for item in named if item.document_name == name]
    if exact:
        return exact
    in_folders = [item for item in named if item.document_name.endswith(f"/{name}")]
    if not in_folders:
        raise NotFoundError(f"No document is called {name!r}. Check the name.")
    paths = sorted({item.document_name for item in in_folders})
    if len(paths) > 1:
        shown = ", ".join(map(repr, paths[:5])) + (", …" if len(paths) > 5 else "")
        raise ConflictError(f"{len(paths)} documents are called {name!r}; name one with its folders: {shown}.")
    return [item.document_id for item in in_folders]
