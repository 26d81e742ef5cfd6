"""The file in which a child leaves its outcome: the bytes of the parts, the outcome as JSON, the JSON's length."""

import os
import struct
from collections.abc import Sequence

import orjson

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.messages import OUTCOME, Outcome
from analytiq.models.parts import FoundPart
from analytiq.models.tables import DocumentTable

MAX_UNPACKED_BYTES = 512 * 1024 * 1024
"""Most bytes of all parts of a document."""
TOO_LONG = "The document's text is larger than a text may be: split the document."
_LENGTH = struct.Struct(">Q")


def write_outcome(outcome: Outcome, descriptor: int) -> None:
    """Write the outcome behind the parts; a failure has none."""
    content = orjson.dumps(outcome)
    os.ftruncate(descriptor, max((part.end for part in _parts_of(outcome)), default=0))
    with open(descriptor, "r+b", closefd=False) as file:
        file.seek(0, os.SEEK_END)
        file.write(content)
        file.write(_LENGTH.pack(len(content)))


def read_outcome(descriptor: int, *, most_bytes: int) -> Outcome:
    """Read the outcome from its file, and close the descriptor.

    Raises:
        CorruptFileError: parts lie outside of the file: the document has taken over its parser.
        LimitExceededError: the text has more than `most_bytes` bytes.
        ValidationError: the outcome is not whole.
    """
    with open(descriptor, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _LENGTH.size, 0))
        trailer = file.read(_LENGTH.size)
        length: int = _LENGTH.unpack(trailer)[0] if len(trailer) == _LENGTH.size else size
        start = size - _LENGTH.size - length
        if start >= 0 and length > most_bytes:
            raise LimitExceededError(TOO_LONG)
        file.seek(max(start, 0))
        content = file.read(length) if start >= 0 else b""
    outcome = OUTCOME.validate_json(content)
    if any(not 0 <= part.start <= part.end <= start for part in _parts_of(outcome)):
        raise CorruptFileError("The document has taken over its parser and was stopped.")
    return outcome


def _parts_of(outcome: Outcome) -> Sequence[FoundPart | DocumentTable]:
    """Return the ranges of the file in front of the outcome."""
    if outcome.document is not None:
        return outcome.document.parts
    return () if outcome.tables is None else outcome.tables.tables
