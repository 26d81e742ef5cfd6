"""The file in which a child leaves its outcome: the bytes of the parts, the outcome as JSON, the JSON's length."""

import os
import struct

import orjson

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.messages import OUTCOME, Outcome

MAX_UNPACKED_BYTES = 512 * 1024 * 1024
"""Most bytes of all parts of a document."""
TOO_LONG = "The document's text is larger than a text may be: split the document."
_LENGTH = struct.Struct(">Q")


def write_outcome(outcome: Outcome, descriptor: int) -> None:
    """Write the outcome behind the parts; a failure has none."""
    parts = () if outcome.document is None else outcome.document.parts
    content = orjson.dumps(outcome)
    os.ftruncate(descriptor, parts[-1].end if parts else 0)
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
    parts = () if outcome.document is None else outcome.document.parts
    if any(not 0 <= part.start <= part.end <= start for part in parts):
        raise CorruptFileError("The document has taken over its parser and was stopped.")
    return outcome
