"""The note about a page that the next run needs: for a conditional request, and for its answer without content."""

import base64
import json
import zlib

from pydantic import BaseModel, JsonValue, ValidationError

from analytiq.ingestion.sources.base import LONGEST_NOTE, KnownItem

_MOST_NOTE_BYTES = 8 * 1024 * 1024


class KnownPage(BaseModel):
    """A page or file as the last run read it.

    Attributes:
        etag: its ETag header, "" if none.
        last_modified: its Last-Modified header, "" if none.
        fields: the item's fields.
        name: the document's name.
        links: addresses of pages that it links to.
        feeds: addresses of its feeds.
        text_key: equal for pages with the same words.
        word_count: its words.
        version: the item's version.
    """

    etag: str = ""
    last_modified: str = ""
    fields: dict[str, JsonValue] = {}
    name: str = ""
    links: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    text_key: str = ""
    word_count: int = 0
    version: str = ""

    @property
    def conditions(self) -> dict[str, str]:
        """Return the headers that ask for the content only if it has changed."""
        told = {"if-none-match": self.etag, "if-modified-since": self.last_modified}
        return {name: value for name, value in told.items() if value}

    def encoded(self) -> str | None:
        """Return the note; None if it is too long to be stored."""
        packed = zlib.compress(self.model_dump_json(exclude={"version"}).encode("utf-8", "surrogatepass"), 6)
        note = base64.b85encode(packed).decode()
        return note if len(note) <= LONGEST_NOTE else None

    @classmethod
    def of_item(cls, item: KnownItem | None) -> "KnownPage | None":
        """Return what is known of an item; None if there is no usable note."""
        if item is None or item.note is None or item.version is None:
            return None
        try:
            inflated = zlib.decompressobj().decompress(base64.b85decode(item.note), _MOST_NOTE_BYTES)
            return cls.model_validate({**json.loads(inflated), "version": item.version})
        except (ValueError, zlib.error, ValidationError):
            return None
