"""Documents to upload: from files, bytes, texts and streams."""

import base64
import io
import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import JsonValue

from analytiq.client.calls import given
from analytiq.client.upload import BYTES_A_CALL, FILES_A_CALL, OCTET_STREAM, CountedFile, CountedStream, OnBytes
from analytiq.client.values import ExternalIdentity


@dataclass(frozen=True, kw_only=True)
class NewDocument:
    """A document to upload.

    Attributes:
        content: a file's path, its bytes, a text, or a binary stream, which is read once from its present position.
        name: the document's name, also with folders (`contracts/2024/acme.pdf`); empty: the path's last part.
        tag_ids: None: none, or those of a replaced document.
        metadata: None: none, or that of a replaced document.
        content_type: None: guessed by the name; the server checks the content too.
        external_identity: the item of another system that the document copies.
        source_url: the web address of the original.
        password: opens an encrypted file; it is stored encrypted and never returned.
    """

    content: Path | bytes | str | IO[bytes]
    name: str = ""
    tag_ids: Sequence[str] | None = None
    metadata: Mapping[str, JsonValue] | None = None
    content_type: str | None = None
    external_identity: ExternalIdentity | None = None
    source_url: str | None = None
    password: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            if not isinstance(self.content, Path):
                raise ValueError("Give a name to a document that is not a file.")
            object.__setattr__(self, "name", self.content.name)

    @property
    def media_type(self) -> str:
        """Return the MIME type to send."""
        return self.content_type or mimetypes.guess_type(self.name)[0] or OCTET_STREAM

    @property
    def known_bytes(self) -> int | None:
        """Return the content's size if it is a file or in memory; None for streams and unreadable files."""
        match self.content:
            case bytes():
                return len(self.content)
            case str():
                return len(self.content.encode())
            case Path():
                try:
                    return self.content.stat().st_size if self.content.is_file() else None
                except OSError:
                    return None  # its upload tells
            case _:
                return None

    def opened(self, on_bytes: OnBytes | None) -> CountedFile | CountedStream:
        """Return the content as an open file that reports its progress.

        Raises:
            InvalidInputError: the file cannot be read.
        """
        match self.content:
            case Path():
                return CountedFile(self.content, on_bytes)
            case bytes():
                return CountedStream(io.BytesIO(self.content), on_bytes)
            case str():
                return CountedStream(io.BytesIO(self.content.encode()), on_bytes)
            case _:
                return CountedStream(self.content, on_bytes)

    def as_json(self) -> dict[str, Any]:
        """Return the document as a JSON upload describes it.

        Raises:
            InvalidInputError: the file cannot be read.
        """
        identity = self.external_identity
        body: dict[str, Any] = {"path": self.name, "content_type": self.media_type} | given(
            tag_ids=None if self.tag_ids is None else list(self.tag_ids),
            metadata=None if self.metadata is None else dict(self.metadata),
            external_identity=None if identity is None else identity.model_dump(mode="json", exclude_none=True),
            source_url=self.source_url,
            password=self.password,
        )
        if isinstance(self.content, str):
            return {**body, "text": self.content}
        with self.opened(None) as file:
            return {**body, "content": base64.b64encode(file.read()).decode()}


@dataclass(frozen=True, slots=True)
class Group:
    """Documents of one call: small ones together, or a large one or a stream alone."""

    documents: Sequence[NewDocument]
    is_small: bool
    byte_size: int


def in_groups(documents: Sequence[NewDocument]) -> Iterator[Group]:
    """Yield the documents in their order, by call: at most 64 small ones and 8 MB together."""
    small: list[NewDocument] = []
    byte_size = 0
    for document in documents:
        size = document.known_bytes
        is_large = size is None or size > BYTES_A_CALL
        if small and (is_large or len(small) >= FILES_A_CALL or byte_size + (size or 0) > BYTES_A_CALL):
            yield Group(small, is_small=True, byte_size=byte_size)
            small, byte_size = [], 0
        if is_large:
            yield Group([document], is_small=False, byte_size=0)
        else:
            small.append(document)
            byte_size += size or 0
    if small:
        yield Group(small, is_small=True, byte_size=byte_size)
