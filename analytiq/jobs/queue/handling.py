"""Declarations of the work of jobs and of what follows it, each at the method that does it.

`job` declares the handler of a kind of job by the type of its payload, `follows` a further part of the job,
`job_batch` and `follows_batch` the same for several jobs of one partition together,
`after_attempt` what each attempt leaves to do, and `when_dead` what a dead job leaves to do. A payload is validated
once, when its job is handed over.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from types import FunctionType
from typing import Any, TypeVar

from pydantic import ValidationError

from analytiq.errors import PermanentError
from analytiq.jobs.queue.running_batch import BatchHandler, RunningBatch
from analytiq.jobs.queue.running_job import Handler, RunningJob
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobPayload

ServiceT = TypeVar("ServiceT")
PayloadT = TypeVar("PayloadT", bound=JobPayload)
Work = Callable[[ServiceT, RunningJob, PayloadT], Awaitable[None]]
BatchWork = Callable[[ServiceT, RunningBatch, Sequence[PayloadT]], Awaitable[None]]
FollowsBatch = Callable[[ServiceT, Sequence[Job], Sequence[PayloadT]], Awaitable[None]]
AfterAttempt = Callable[[ServiceT, Job, PayloadT], Awaitable[None]]
WhenDead = Callable[[ServiceT, Job, PayloadT, Failure], Awaitable[None]]

OnSettled = Callable[[Job], Awaitable[None]]
"""Called after an attempt has ended: the job is finished, failed, or waits for a retry."""
OnDead = Callable[[Job, Failure], Awaitable[None]]
"""Called after a job has failed for good, before `OnSettled`."""


_Method = Callable[..., Awaitable[None]]


class _Part(Enum):
    WORK = auto()
    FOLLOWING = auto()
    BATCH = auto()
    FOLLOWING_BATCH = auto()
    AFTER_ATTEMPT = auto()
    WHEN_DEAD = auto()


_DECLARED: dict[object, tuple[_Part, tuple[type[JobPayload], ...]]] = {}


def job(payload: type[PayloadT]) -> Callable[[Work[ServiceT, PayloadT]], Work[ServiceT, PayloadT]]:
    """Declare a method as the handler of the payload's kind of job; it takes the running job and its payload."""

    def declare(method: Work[ServiceT, PayloadT]) -> Work[ServiceT, PayloadT]:
        _DECLARED[method] = (_Part.WORK, (payload,))
        return method

    return declare


def follows(payload: type[PayloadT]) -> Callable[[Work[ServiceT, PayloadT]], Work[ServiceT, PayloadT]]:
    """Declare a method as part of a kind of job, after its handler; a failure repeats the whole job."""

    def declare(method: Work[ServiceT, PayloadT]) -> Work[ServiceT, PayloadT]:
        _DECLARED[method] = (_Part.FOLLOWING, (payload,))
        return method

    return declare


def job_batch(
    payload: type[PayloadT],
) -> Callable[[BatchWork[ServiceT, PayloadT]], BatchWork[ServiceT, PayloadT]]:
    """Declare a method that handles several jobs of a partition at once, beside the kind's ordinary handler.

    It takes the running batch and the payloads, in the order of `batch.jobs`; see `RunningBatch`.
    """

    def declare(method: BatchWork[ServiceT, PayloadT]) -> BatchWork[ServiceT, PayloadT]:
        _DECLARED[method] = (_Part.BATCH, (payload,))
        return method

    return declare


def follows_batch(
    payload: type[PayloadT],
) -> Callable[[FollowsBatch[ServiceT, PayloadT]], FollowsBatch[ServiceT, PayloadT]]:
    """Declare a method as `follows`, for the jobs that a batch has done; a failure repeats them one by one."""

    def declare(method: FollowsBatch[ServiceT, PayloadT]) -> FollowsBatch[ServiceT, PayloadT]:
        _DECLARED[method] = (_Part.FOLLOWING_BATCH, (payload,))
        return method

    return declare


def after_attempt(
    *payloads: type[PayloadT],
) -> Callable[[AfterAttempt[ServiceT, PayloadT]], AfterAttempt[ServiceT, PayloadT]]:
    """Declare a method to call after each attempt at a job of these kinds, however it ended."""

    def declare(method: AfterAttempt[ServiceT, PayloadT]) -> AfterAttempt[ServiceT, PayloadT]:
        _DECLARED[method] = (_Part.AFTER_ATTEMPT, payloads)
        return method

    return declare


def when_dead(payload: type[PayloadT]) -> Callable[[WhenDead[ServiceT, PayloadT]], WhenDead[ServiceT, PayloadT]]:
    """Declare a method to call when a job of this kind was given up or cancelled."""

    def declare(method: WhenDead[ServiceT, PayloadT]) -> WhenDead[ServiceT, PayloadT]:
        _DECLARED[method] = (_Part.WHEN_DEAD, (payload,))
        return method

    return declare


@dataclass(frozen=True, slots=True)
class DeclaredJobs:
    """The handler of each kind of job, and the callbacks of all kinds."""

    handlers: Mapping[JobKind, Handler]
    on_settled: OnSettled
    on_dead: OnDead
    batch_handlers: Mapping[JobKind, BatchHandler] = field(default_factory=dict[JobKind, BatchHandler])


def declared_by(services: Iterable[object]) -> DeclaredJobs:
    """Return what the services declare; a job's followers are in the order of the services."""
    parts: dict[_Part, dict[type[JobPayload], list[_Method]]] = {part: {} for part in _Part}
    for service in services:
        for part, payload, method in _declarations(service):
            parts[part].setdefault(payload, []).append(method)
    handlers: dict[JobKind, Handler] = {}
    for payload, methods in parts[_Part.WORK].items():
        if len(methods) > 1 or payload.kind in handlers:
            raise ValueError(f"Two handlers are declared for jobs of kind {payload.kind.value!r}. Remove one.")
        handlers[payload.kind] = _handler(payload, [*methods, *parts[_Part.FOLLOWING].get(payload, [])])
    for payload in parts[_Part.FOLLOWING]:
        if payload.kind not in handlers:
            raise ValueError(f"Jobs of kind {payload.kind.value!r} have followers and no handler. Declare one.")
    return DeclaredJobs(
        handlers,
        _callback(parts[_Part.AFTER_ATTEMPT]),
        _callback(parts[_Part.WHEN_DEAD]),
        _batch_handlers(parts),
    )


def _batch_handlers(parts: Mapping[_Part, Mapping[type[JobPayload], Sequence[_Method]]]) -> dict[JobKind, BatchHandler]:
    found: dict[JobKind, BatchHandler] = {}
    for payload, methods in parts[_Part.BATCH].items():
        following = parts[_Part.FOLLOWING_BATCH].get(payload, [])
        if len(methods) > 1 or len(following) != len(parts[_Part.FOLLOWING].get(payload, [])):
            raise ValueError(
                f"Declare one handler of batches of kind {payload.kind.value!r}, and a follower of batches for each"
                " follower of its jobs."
            )
        found[payload.kind] = _batch_handler(payload, methods[0], following)
    return found


def _declarations(service: object) -> Iterator[tuple[_Part, type[JobPayload], _Method]]:
    for cls in type(service).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, FunctionType) and member in _DECLARED:
                part, payloads = _DECLARED[member]
                for payload in payloads:
                    yield part, payload, getattr(service, name)


def _handler(payload_type: type[JobPayload], steps: Sequence[_Method]) -> Handler:
    async def handle(running: RunningJob) -> None:
        try:
            payload = payload_type.from_job(running.job)
        except ValidationError as error:
            fields = ", ".join(str(item["loc"][0]) for item in error.errors())
            raise PermanentError(
                f"The job {running.job.id!r} has no valid {fields}. Request the work again.", code="malformed_job"
            ) from None
        for step in steps:
            await step(running, payload)

    return handle


def _batch_handler(payload_type: type[JobPayload], work: _Method, following: Sequence[_Method]) -> BatchHandler:
    async def handle(batch: RunningBatch) -> None:
        payload_of: dict[RunningJob, JobPayload] = {}
        for running in batch.members:
            # A malformed job is left to the ordinary handler, which reports it.
            with suppress(ValidationError):
                payload_of[running] = payload_type.from_job(running.job)
        batch.jobs = tuple(payload_of)
        await work(batch, list(payload_of.values()))
        done = batch.done
        if not done:
            return
        try:
            for method in following:
                await method([running.job for running in done], [payload_of[running] for running in done])
        except BaseException:
            batch.forget_done()
            raise

    return handle


def _callback(
    methods_of: Mapping[type[JobPayload], Sequence[_Method]],
) -> _Method:
    """Return a callback that passes a job of any kind to the methods of its kind, with its payload."""
    payload_types = {payload.kind: payload for payload in methods_of}

    async def call(job: Job, *arguments: Any) -> None:
        payload_type = payload_types.get(job.kind)
        if payload_type is None:
            return
        try:
            payload = payload_type.from_job(job)
        except ValidationError:
            # Its attempt has failed for this reason, and nothing else can be named.
            return
        for method in methods_of[payload_type]:
            await method(job, payload, *arguments)

    return call
