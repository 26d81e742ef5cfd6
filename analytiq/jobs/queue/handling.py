"""Declarations of job handlers: a method names the kind of job that it handles or follows."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import TypeVar

from analytiq.jobs.queue.running_job import Handler, RunningJob
from analytiq.models.job import JobKind

MethodT = TypeVar("MethodT", bound=Callable[..., Awaitable[None]])

_HANDLED: dict[object, JobKind] = {}
_FOLLOWED: dict[object, JobKind] = {}


def job(kind: JobKind) -> Callable[[MethodT], MethodT]:
    """Declare a method as the handler of a kind of job; the method receives the running job."""

    def declare(method: MethodT) -> MethodT:
        _HANDLED[method] = kind
        return method

    return declare


def follows(kind: JobKind) -> Callable[[MethodT], MethodT]:
    """Declare a method that runs after the handler of a kind of job; its failure repeats the whole job."""

    def declare(method: MethodT) -> MethodT:
        _FOLLOWED[method] = kind
        return method

    return declare


def handlers_of(services: Iterable[object]) -> dict[JobKind, Handler]:
    """Return the handlers declared by the services, each with its followers in the order of the services."""
    handlers: dict[JobKind, Handler] = {}
    followers: dict[JobKind, list[Handler]] = {}
    for service in services:
        for function, method in _methods(service):
            if (kind := _HANDLED.get(function)) is not None:
                if kind in handlers:
                    raise ValueError(f"Two handlers are declared for jobs of kind {kind.value!r}. Remove one.")
                handlers[kind] = method
            if (kind := _FOLLOWED.get(function)) is not None:
                followers.setdefault(kind, []).append(method)
    return {kind: _chain([handler, *followers.get(kind, [])]) for kind, handler in handlers.items()}


def _methods(service: object) -> Iterator[tuple[FunctionType, Handler]]:
    for cls in type(service).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, FunctionType):
                yield member, getattr(service, name)


def _chain(steps: Sequence[Handler]) -> Handler:
    if len(steps) == 1:
        return steps[0]

    async def handle(running: RunningJob) -> None:
        for step in steps:
            await step(running)

    return handle
