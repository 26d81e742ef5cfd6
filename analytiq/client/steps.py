"""Flows: calls described without any input or output, which the two transports run.

A flow is a generator. It yields steps, receives each step's result, and returns the call's. So retries, waits, pages
and reconnects exist once, for the synchronous and the asynchronous client.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

T = TypeVar("T")

QueryValue = str | int | float | bool | Sequence[str]
FilePart = tuple[str, tuple[str, IO[bytes], str]]


@runtime_checkable
class Rewindable(Protocol):
    """A file that is told when its upload begins again."""

    def begin_again(self) -> None:
        """Go back to the first byte."""
        ...


@runtime_checkable
class ReportsLater(Protocol):
    """A file that is read in a thread, and reports its progress afterwards."""

    reports_later: bool

    def report(self) -> None:
        """Report what was read."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request.

    Attributes:
        path: below the organization, with its leading slash; below the API's address if `is_outside`.
        query: parameters; None is omitted.
        json: the body.
        content: the body as bytes, or an open file.
        form: fields sent with `files`.
        files: open, at their beginning.
        is_repeatable: repeating it changes nothing more; every GET, PUT and DELETE is.
        is_outside: the path does not belong to an organization.
        accepts_text: the answer may be text.
    """

    method: str
    path: str
    query: Mapping[str, QueryValue | None] = field(default_factory=dict[str, QueryValue | None])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    json: Any = None
    content: bytes | IO[bytes] | None = None
    form: Mapping[str, str | list[str]] | None = None
    files: Sequence[FilePart] = ()
    is_repeatable: bool = False
    is_outside: bool = False
    accepts_text: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `content` is empty while it is streamed."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    url: str


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request and read its whole answer; receives a `Reply`."""

    request: Request


@dataclass(frozen=True, slots=True)
class Open:
    """Send a request whose answer is read in parts; receives a `Reply`. It ends the stream that was open before."""

    request: Request


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Read the open stream's next line; receives None at its end."""


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Read the open stream's next bytes; receives None at its end."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Sleep."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Identify:
    """Send these headers with every later request, such as a session's token against forged requests."""

    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Give an item to the reader of an iterator."""

    item: T


Step: TypeAlias = Send | Open | ReadLine | ReadBlock | Pause | Identify
Flow: TypeAlias = Generator[Step, Any, T]
"""A flow that returns its result."""
Items: TypeAlias = Generator[Step | Emit[T], Any, None]
"""A flow that emits items as they are read."""
