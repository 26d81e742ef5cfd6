"""Names of documents from titles, which may hold anything."""

import re
from collections.abc import Sequence

from analytiq.ingestion.documents.naming import LONGEST_PATH, is_control

LONGEST_TITLE = 200
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")


def page_name(folders: Sequence[str], title: str) -> str:
    """Return the name of a page's document; its folders are the titles of the pages above.

    A title that ends like a file's name gets `.html`: the content is HTML, and a name decides about texts.
    """
    name = clean_title(title)
    return joined_path(folders, f"{name}.html" if _EXTENSION.search(name) else name)


def joined_path(folders: Sequence[str], name: str) -> str:
    """Return a path; the folders nearest to the root are left out where it would be too long."""
    path = name
    for folder in map(clean_title, reversed(folders)):
        if len(folder) + 1 + len(path) > LONGEST_PATH:
            break
        path = f"{folder}/{path}"
    return path


def clean_title(title: str) -> str:
    """Return a title as one segment of a path."""
    shown = "".join(" " if is_control(character) else character for character in title[: 10 * LONGEST_TITLE])
    words = " ".join(shown.replace("/", "-").replace("\\", "-").split())[:LONGEST_TITLE].strip()
    return words if words.strip(".") else "Untitled"
