"""Descriptors that turn the description of a call into a method of both clients.

    class TagCalls(Calls):
        @operation
        def tag(self, tag_id: str) -> Flow[Tag]: ...

`Client.tag` returns a `Tag`, `AsyncClient.tag` an awaitable of one. Within descriptions, `self.tag(…)` is the flow.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from analytiq.client.steps import Flow, Items

P = ParamSpec("P")
T = TypeVar("T")


class Calls:
    """Descriptions of calls; the base of all groups of operations."""


class Synchronous(ABC):
    """A client whose methods return when the call has ended."""

    @abstractmethod
    def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end."""

    @abstractmethod
    def iterate(self, items: Items[T]) -> Generator[T, None, None]:
        """Run a flow, and yield its items."""


class Asynchronous(ABC):
    """A client whose methods are awaited."""

    @abstractmethod
    async def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end."""

    @abstractmethod
    def iterate(self, items: Items[T]) -> AsyncGenerator[T, None]:
        """Run a flow, and yield its items."""


class operation(Generic[P, T]):  # noqa: N801  # used as a decorator
    """A call that returns one result."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__
        self.__name__ = describe.__name__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Synchronous, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Asynchronous, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: Calls, owner: type) -> Callable[P, Flow[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """Return the method of a client, or the description for another description."""
        if client is None:
            return self
        if not isinstance(client, Synchronous | Asynchronous):
            return partial(self.describe, client)
        described = _described(type(client))
        runner = client

        def method(*arguments: Any, **options: Any) -> Any:
            return runner.run(self.describe(described, *arguments, **options))

        return update_wrapper(method, self.describe)


class listing(Generic[P, T]):  # noqa: N801  # used as a decorator
    """A call that yields items."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Items[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__
        self.__name__ = describe.__name__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Synchronous, owner: type) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, client: Asynchronous, owner: type) -> Callable[P, AsyncGenerator[T, None]]: ...
    @overload
    def __get__(self, client: Calls, owner: type) -> Callable[P, Items[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """Return the method of a client, or the description for another description."""
        if client is None:
            return self
        if not isinstance(client, Synchronous | Asynchronous):
            return partial(self.describe, client)
        described = _described(type(client))
        runner = client

        def method(*arguments: Any, **options: Any) -> Any:
            return runner.iterate(self.describe(described, *arguments, **options))

        return update_wrapper(method, self.describe)


def _described(client: type) -> Calls:
    """Return an object that has a client's descriptions, without being a client."""
    if client not in _descriptions:
        groups = next(kind for kind in client.__mro__ if issubclass(kind, Calls) and not _runs(kind))
        _descriptions[client] = groups()
    return _descriptions[client]


_descriptions: dict[type, Calls] = {}


def _runs(kind: type) -> bool:
    return issubclass(kind, Synchronous | Asynchronous)
