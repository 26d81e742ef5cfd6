"""The text of an archive: the list of its parts, by which it is found."""

from collections.abc import Sequence

from analytiq.ingestion.parsing.base import PartSink
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument


def list_of_parts(parts: PartSink, noun: str, *, warnings: Sequence[str] = ()) -> ParsedDocument:
    """Return the paths of all parts as a list; `noun` is the word for the container, as in "The archive is empty"."""
    builder = TextBuilder()
    for path in parts.paths:
        builder.list_item(path)
    empty = () if parts.paths else (f"the {noun} is empty",)
    return ParsedDocument((builder.page(1),), (*warnings, *empty))
