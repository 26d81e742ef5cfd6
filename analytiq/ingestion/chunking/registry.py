"""Chunkers by name: the built-in ones and those of other packages.

A package adds a chunker by an entry point in the group `analytiq.chunkers`: the name is the chunker type, the
object a callable with the keyword arguments `chunk_size`, `chunk_overlap` and `embed_texts` that returns a
`Chunker`. A package cannot replace a built-in name, since documents are re-indexed by name.
"""

import importlib
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from analytiq.errors import FieldError, InvalidInputError
from analytiq.ingestion.chunking.base import Chunker

if TYPE_CHECKING:
    from analytiq.ingestion.chunking.semantic_chunker import EmbedTexts

DEFAULT_CHUNKER = "auto"
MIN_CHUNK_SIZE = 4
"""A character can take four tokens, and a chunk contains at least one character."""
MAX_CHUNK_SIZE = 8192
ENTRY_POINT_GROUP = "analytiq.chunkers"

# Modules are imported on first use: each text needs one or two of them.
_BY_TEXT = {
    "auto": "analytiq.ingestion.chunking.auto_chunker",
    "code": "analytiq.ingestion.chunking.code_chunker",
    "page": "analytiq.ingestion.chunking.page_chunker",
    "qa": "analytiq.ingestion.chunking.qa_chunker",
    "recursive": "analytiq.ingestion.chunking.recursive_chunker",
    "row": "analytiq.ingestion.chunking.row_chunker",
    "section": "analytiq.ingestion.chunking.section_chunker",
    "sentence": "analytiq.ingestion.chunking.sentence_chunker",
    "token": "analytiq.ingestion.chunking.token_chunker",
    "word": "analytiq.ingestion.chunking.word_chunker",
}
_BY_MEANING = {
    "sdpm": "analytiq.ingestion.chunking.sdpm_chunker",
    "semantic": "analytiq.ingestion.chunking.semantic_chunker",
}
_BY_SECTION = frozenset({"auto", "code", "row", "section"})
DEEPEST_SECTION_LEVEL = 6
_LATE_REFUSAL = (
    "late chunking is not available: it gives a chunk an embedding that depends on the document around it, "
    "while embeddings here are stored and reused by the text of the chunk alone; 'recursive' cuts at the "
    "same places"
)


def known_chunkers() -> tuple[str, ...]:
    """Return the names that `create_chunker` accepts, sorted."""
    return tuple(sorted({*_BY_TEXT, *_BY_MEANING, *_plugins()}))


def needs_embeddings(chunker_type: str) -> bool:
    """Return True if a built-in chunker requires `embed_texts`."""
    return chunker_type in _BY_MEANING


def create_chunker(
    chunker_type: str,
    *,
    chunk_size: int,
    chunk_overlap: int,
    embed_texts: "EmbedTexts | None",
    section_level: int = 0,
) -> Chunker:
    """Create a chunker; cheap after the first of its kind, so create one for each document.

    Args:
        chunker_type: one of `known_chunkers()`.
        chunk_size: the most cl100k tokens of a chunk, overlap included; 4 to 8,192.
        chunk_overlap: the most tokens that a chunk shares with the one before; less than `chunk_size`.
        embed_texts: blocking; from n texts to vectors of shape (n, dimensions). For `semantic` and `sdpm`.
        section_level: no chunk crosses a heading of this level or a higher one; 0 for no level. For `section`, `row`,
            `code` and `auto`.

    Raises:
        InvalidInputError: names the field; for an unknown type, also the known names.
    """
    check_chunking(chunker_type, chunk_size=chunk_size, chunk_overlap=chunk_overlap, section_level=section_level)
    if chunker_type in _BY_TEXT:
        create = importlib.import_module(_BY_TEXT[chunker_type]).create
        of_sections = {"section_level": section_level} if chunker_type in _BY_SECTION else {}
        return create(chunk_size=chunk_size, chunk_overlap=chunk_overlap, **of_sections)
    if chunker_type in _BY_MEANING:
        if embed_texts is None:
            reason = f"{chunker_type!r} cuts by meaning and needs an embedding function, but there is none here"
            raise InvalidInputError.of_field("chunker_type", reason)
        create = importlib.import_module(_BY_MEANING[chunker_type]).create
        return create(chunk_size=chunk_size, chunk_overlap=chunk_overlap, embed_texts=embed_texts)
    factory: Callable[..., Chunker] = _plugins()[chunker_type].load()
    return factory(chunk_size=chunk_size, chunk_overlap=chunk_overlap, embed_texts=embed_texts)


def check_chunking(chunker_type: str, *, chunk_size: int, chunk_overlap: int, section_level: int = 0) -> None:
    """Check the settings of a knowledge base without importing a chunker.

    Raises:
        InvalidInputError: with an entry in `errors` for each invalid field.
    """
    errors: list[FieldError] = []
    if chunker_type == "late" and chunker_type not in _plugins():
        errors.append(FieldError("chunker_type", _LATE_REFUSAL))
    # Asking what is installed reads the metadata of every package (8 ms), and this runs for each document.
    elif not _is_built_in(chunker_type) and chunker_type not in _plugins():
        known = ", ".join(known_chunkers())
        errors.append(FieldError("chunker_type", f"Unknown chunker {chunker_type!r}. Known chunkers: {known}."))
    if not MIN_CHUNK_SIZE <= chunk_size <= MAX_CHUNK_SIZE:
        reason = f"{chunk_size} is not from {MIN_CHUNK_SIZE} to {MAX_CHUNK_SIZE} tokens"
        errors.append(FieldError("chunk_size", reason))
    if chunk_overlap < 0 or 0 < chunk_size <= chunk_overlap:
        reason = f"{chunk_overlap} is not from 0 to less than chunk_size ({chunk_size}) tokens"
        errors.append(FieldError("chunk_overlap", reason))
    if not 0 <= section_level <= DEEPEST_SECTION_LEVEL:
        reason = f"{section_level} is not from 1 to {DEEPEST_SECTION_LEVEL}, nor 0 for no level"
        errors.append(FieldError("section_level", reason))
    elif section_level and chunker_type not in _BY_SECTION:
        cutting = ", ".join(sorted(_BY_SECTION))
        reason = f"The chunker {chunker_type!r} does not cut by sections. Chunkers with a section level: {cutting}."
        errors.append(FieldError("section_level", reason))
    if errors:
        raise InvalidInputError("; ".join(f"{error.field}: {error.reason}" for error in errors), errors=errors)


def _is_built_in(chunker_type: str) -> bool:
    return chunker_type in _BY_TEXT or chunker_type in _BY_MEANING


def _plugins() -> dict[str, EntryPoint]:
    found = entry_points(group=ENTRY_POINT_GROUP)
    return {point.name: point for point in found if not _is_built_in(point.name)}
