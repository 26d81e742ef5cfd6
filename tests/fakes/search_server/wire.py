"""MongoDB's wire protocol, as far as it has to be understood."""

import asyncio
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import bson
from bson import CodecOptions
from bson.binary import UuidRepresentation

OP_REPLY, OP_QUERY, OP_COMPRESSED, OP_MSG = 1, 2004, 2012, 2013
_HEADER = struct.Struct("<iiii")
_FLAGS = struct.Struct("<I")
CODEC: CodecOptions[dict[str, Any]] = CodecOptions(tz_aware=True, uuid_representation=UuidRepresentation.STANDARD)
# 20 bytes of OP_REPLY come before its document: flags, cursor id, starting from, number returned.
_REPLY_BODY = _HEADER.size + 20


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `raw` with its header."""

    raw: bytes
    request_id: int
    operation: int

    @property
    def command(self) -> str:
        """The name of the command in an OP_MSG, read without decoding what may be many megabytes."""
        start = self._body_start
        if self.operation != OP_MSG or start is None:
            return ""
        return self.raw[start + 5 : self.raw.index(b"\0", start + 5)].decode()

    @property
    def body(self) -> dict[str, Any]:
        """The document of an OP_MSG, or the reply of an OP_REPLY."""
        start = self._body_start
        assert start is not None
        size = struct.unpack_from("<i", self.raw, start)[0]
        return bson.decode(self.raw[start : start + size], CODEC)

    def with_body(self, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> bytes:
        """The message with another document in the place of its own."""
        start = self._body_start
        assert start is not None
        size = struct.unpack_from("<i", self.raw, start)[0]
        document = bson.encode(change(self.body), codec_options=CODEC)
        rest = self.raw[:start] + document + self.raw[start + size :]
        return struct.pack("<i", len(rest)) + rest[4:]

    @property
    def _body_start(self) -> int | None:
        if self.operation == OP_REPLY:
            return _REPLY_BODY
        start = _HEADER.size + _FLAGS.size
        # The body is the section of kind 0; drivers send it first, before sequences of documents.
        return start + 1 if self.raw[start] == 0 else None


async def read_message(reader: asyncio.StreamReader) -> Message | None:
    """The next message; None at the end."""
    try:
        header = await reader.readexactly(_HEADER.size)
        length, request_id, _, operation = _HEADER.unpack(header)
        return Message(header + await reader.readexactly(length - _HEADER.size), request_id, operation)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def reply(to: Message, document: Mapping[str, Any]) -> bytes:
    """An OP_MSG that answers."""
    body = _FLAGS.pack(0) + b"\0" + bson.encode(document, codec_options=CODEC)
    return _HEADER.pack(_HEADER.size + len(body), 0, to.request_id, OP_MSG) + body
