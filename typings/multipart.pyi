# What we use of the package `multipart`. A stub, because `python-multipart` (a dependency of `mcp`) installs a folder
# of the same name, which hands over to this module when the program runs and which a type checker takes for it.
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

class MultipartError(ValueError): ...
class ParserLimitReached(MultipartError): ...  # noqa: N818

class MultipartSegment:
    headerlist: Sequence[tuple[str, str]]
    name: str
    filename: str | None
    content_type: str | None
    charset: str | None
    size: int
    complete: bool
    def header(self, name: str, default: str | None = None) -> str | None: ...

class PushMultipartParser:
    def __init__(
        self,
        boundary: str | bytes,
        content_length: int = -1,
        max_header_size: int = 4096,
        max_header_count: int = 8,
        max_segment_size: int | float = ...,
        max_segment_count: int | float = ...,
        header_charset: str = "utf8",
        strict: bool = False,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def parse(self, chunk: bytes | bytearray | memoryview) -> Iterator[MultipartSegment | bytearray | None]: ...
    def close(self, check_complete: bool = True) -> None: ...
    closed: bool
    error: MultipartError | None
