"""The pictures of HTML whose files are at hand: in the address itself, or in the package around the page."""

import base64
import hashlib
import posixpath
from collections.abc import Callable
from urllib.parse import unquote, unquote_to_bytes
from zipfile import ZipFile

PictureFile = tuple[str, Callable[[], bytes]]
"""A name of the picture within the document, and a function that reads its file."""
PictureFiles = Callable[[str], PictureFile | None]
"""From the address of a picture to its file; None for a file elsewhere, which nothing fetches."""


def data_uris_only(address: str) -> PictureFile | None:
    """Return the picture in a data URI."""
    head, _, data = address.partition(",")
    if head[:11].lower() != "data:image/" or not data:
        return None

    def read() -> bytes:
        content = unquote_to_bytes(data)
        # White space is allowed in base64, other characters are dropped by most readers too.
        return base64.b64decode(content) if head.lower().endswith(";base64") else content

    return "data:" + hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest(), read


def files_of_package(archive: ZipFile, page: str) -> PictureFiles:
    """Return the pictures of a page in a package, by addresses relative to the page."""
    folder = posixpath.dirname(page)

    def find(address: str) -> PictureFile | None:
        if address[:5].lower() == "data:":
            return data_uris_only(address)
        name = posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))
        return (name, lambda: archive.read(name)) if name in archive.NameToInfo else None

    return find
