"""Rows of `kb_vectors_{kb_id}`."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from analytiq.models.projection import Projection


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One chunk with its embedding, as staged. `embedding`: float32, shape (dimensions,).

    `chunk_hash`: of what was embedded, which is `context`, an empty line and the text, or the text alone.
    """

    chunk_index: int
    chunk_hash: str
    chunk_text: str
    embedding: NDArray[np.float32]
    token_count: int
    start: int
    end: int
    first_page: int
    last_page: int
    context: str = ""
    heading_path: tuple[str, ...] = ()
    page_name: str = ""


@dataclass(frozen=True, slots=True)
class VectorOwner:
    """The fields shared by all rows of one staging. `projection`: only if a search server filters them."""

    organization_id: str
    kb_id: str
    vectors_uuid: str
    document_id: str
    generation_id: str
    metadata_snapshot: dict[str, JsonValue]
    indexed_at: datetime
    projection: Projection | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as search reads it, without its embedding.

    Attributes:
        context: what was embedded and is searched beside the text, "" for none.
        heading_path: the headings above the whole chunk, outermost first.
        page_name: of the sheet, slide or chapter that holds the whole chunk, "" if it has none.
    """

    document_id: str
    generation_id: str
    chunk_index: int
    chunk_text: str
    token_count: int
    start: int
    end: int
    first_page: int
    last_page: int
    context: str = ""
    heading_path: tuple[str, ...] = ()
    page_name: str = ""


def in_context(context: str, text: str) -> str:
    """Return a chunk's text with its context, as models read it."""
    return f"{context}\n\n{text}" if context else text


@dataclass(frozen=True, slots=True)
class GenerationVectors:
    """Vectors of one generation in memory, all or some: `matrix` is float32 (chunks, dimensions), in any order.

    Row i is chunk `chunk_indexes[i]`, on the pages from `first_pages[i]` to `last_pages[i]`, counted from 1.
    """

    generation_id: str
    document_id: str
    chunk_indexes: NDArray[np.int32]
    first_pages: NDArray[np.int32]
    last_pages: NDArray[np.int32]
    matrix: NDArray[np.float32]
