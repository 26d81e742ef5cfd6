"""Reads raw batches of `kb_vectors_{kb_id}` into arrays.

All rows of a collection have one structure, so the bytes of a batch are nearly always a table: documents of equal
length, with equal names and types at equal offsets. Such a batch is read by columns, without an object for each row:
100,000 vectors cost 0.1 s of Python instead of 1 s. Any other batch is decoded row by row.
"""

import struct
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any

import bson
import numpy as np
from numpy.typing import NDArray

from analytiq.models.vector import GenerationVectors

FLOAT32_HEADER = b"\x27\x00"
"""First bytes of BinData subtype 9: element type float32, no padding (bson specification, "Vector")."""
_PLACES = ("chunk_index", "first_page", "last_page")
REPLICATED = ("generation_id", *_PLACES, "embedding")
"""The fields that a batch must have, and no others."""

_STRING, _BINARY, _INT32 = 0x02, 0x05, 0x10

_Columns = dict[str, NDArray[Any]]
"""`generation_id`: bytes (rows,); the offsets: int32 (rows,); `embedding`: float32 (rows, dimensions)."""


def generations_in(batch: bytes, document_of: Mapping[str, str]) -> list[GenerationVectors]:
    """Return the rows of a batch in runs of one generation, in the order of the batch.

    Args:
        batch: concatenated BSON documents with the fields of REPLICATED, of any lengths.
        document_of: generation id → document id; rows of any other generation are left out.
    """
    table = _as_table(batch)
    tables = _row_by_row(batch) if table is None else [table]
    return [run for columns in tables for run in _runs(columns, document_of)]


def _runs(columns: _Columns, document_of: Mapping[str, str]) -> Iterator[GenerationVectors]:
    ids = columns["generation_id"]
    borders = [0, *(np.flatnonzero(ids[1:] != ids[:-1]) + 1).tolist(), len(ids)]
    for start, stop in pairwise(borders):
        generation_id = ids[start].decode()
        document_id = document_of.get(generation_id)
        if document_id is not None:
            yield GenerationVectors(
                generation_id=generation_id,
                document_id=document_id,
                chunk_indexes=columns["chunk_index"][start:stop],
                first_pages=columns["first_page"][start:stop],
                last_pages=columns["last_page"][start:stop],
                matrix=columns["embedding"][start:stop],
            )


def _as_table(batch: bytes) -> _Columns | None:
    """Read the batch as a table; return None unless all rows have the structure of the first."""
    if not batch:
        return None
    (length,) = struct.unpack_from("<i", batch)
    if length <= 0 or len(batch) % length:
        return None
    table = np.frombuffer(batch, np.uint8).reshape(-1, length)
    values = _values_of_first(batch[:length])
    if values is None or set(values) != set(REPLICATED):
        return None
    is_value = np.zeros(length, dtype=np.bool_)
    for start, stop in values.values():
        is_value[start:stop] = True
    frame = table[:, ~is_value]  # lengths, names, types: the bytes that must be equal in every row
    if not bool((frame == frame[0]).all()):
        return None

    def column(name: str, kind: str) -> NDArray[Any]:
        start, stop = values[name]
        return np.ascontiguousarray(table[:, start:stop]).view(kind)

    start, stop = values["generation_id"]
    return {
        "generation_id": column("generation_id", f"S{stop - start}")[:, 0],
        **{name: column(name, "<i4")[:, 0] for name in _PLACES},
        "embedding": column("embedding", "<f4"),
    }


def _values_of_first(document: bytes) -> dict[str, tuple[int, int]] | None:
    """Return the byte range of each field's value; None for types without a fixed place."""
    values: dict[str, tuple[int, int]] = {}
    position = 4
    while document[position]:
        kind = document[position]
        name_end = document.index(b"\x00", position + 1)
        name = document[position + 1 : name_end].decode()
        start = name_end + 1
        if kind == _INT32:
            values[name] = (start, start + 4)
            position = start + 4
        elif kind == _STRING:
            (size,) = struct.unpack_from("<i", document, start)  # including the terminating zero
            values[name] = (start + 4, start + 4 + size - 1)
            position = start + 4 + size
        elif kind == _BINARY:
            (size,) = struct.unpack_from("<i", document, start)
            first = start + 5 + len(FLOAT32_HEADER)  # length, subtype, and the vector's own header
            values[name] = (first, start + 5 + size)
            position = start + 5 + size
        else:
            return None
    return values


def _row_by_row(batch: bytes) -> Iterator[_Columns]:
    """Yield runs of rows with vectors of one length."""
    rows: list[dict[str, Any]] = bson.decode_all(batch)  # pyright: ignore[reportUnknownMemberType] pymongo's overloads
    for _, group in groupby(rows, key=lambda row: len(row["embedding"])):
        alike = list(group)
        vectors = b"".join(bytes(row["embedding"])[len(FLOAT32_HEADER) :] for row in alike)
        yield {
            "generation_id": np.asarray([str(row["generation_id"]).encode() for row in alike]),
            **{name: np.asarray([row[name] for row in alike], dtype=np.int32) for name in _PLACES},
            "embedding": np.frombuffer(vectors, "<f4").reshape(len(alike), -1),
        }
