"""One run of a schedule: actors on a real database beside the model, watched at every step."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import ConflictError, NotFoundError
from analytiq.models.job import Job, JobKind
from analytiq.models.organization import Organization
from analytiq.models.upload import DuplicatePolicy
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from tests.property.decisions import CLIENTS, TAGS, TO_THE_END, WORKERS, Reach
from tests.property.gates import Actor
from tests.property.model import Content, DocumentTruth, KnowledgeBaseTruth, Model
from tests.property.processes import (
    ENDLESS_SECONDS,
    Launch,
    SteppedRunner,
    commit,
    create_knowledge_base,
    stage,
)
from tests.property.watching import Watching

DRAINING_ROUNDS = 30
"""Of letting time pass and running what became due: far more than any backlog of a schedule needs."""

Noted = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Worker:
    """A worker process and the job in its hands."""

    runner: SteppedRunner
    actor: Actor | None = None
    job: Job | None = None


@dataclass(slots=True)
class Client:
    """An API process and the call that it is answering."""

    services: Services
    actor: Actor | None = None
    on_commit: Noted | None = None
    noted_commits: int = 0
    began_at: int = 0
    """The number of changes when the call came."""
    is_search: bool = False


@dataclass(slots=True)
class Repairer:
    """A reconciler process and the pass that it is at."""

    services: Services
    actor: Actor | None = None


@dataclass(slots=True)
class World:
    """Everything of one run. `changes` counts what people have changed, `trace` tells how it went."""

    connection: MongoConnection
    launch: Launch
    observer: Services
    organization: Organization
    foreign: Organization
    tag_ids: tuple[str, ...]
    model: Model
    watching: Watching
    repairer: Repairer
    workers: list[Worker] = field(default_factory=list[Worker])
    clients: list[Client] = field(default_factory=list[Client])
    document_slots: dict[int, str] = field(default_factory=dict[int, str])
    kb_slots: dict[int, str] = field(default_factory=dict[int, str])
    first_contents: dict[int, Content] = field(default_factory=dict[int, Content])
    """Of documents that are being uploaded for the first time, by slot."""
    unforeseen: list[Exception] = field(default_factory=list[Exception])
    trace: list[str] = field(default_factory=list[str])
    changes: int = 0
    crashes: int = 0
    lost_leases: int = 0
    numbers: int = 0

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def tags_of(self, indexes: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.tag_ids[index] for index in indexes)

    def changed(self) -> None:
        """A person's change has been committed."""
        self.changes += 1
        self.model.changed()

    # ── Actors ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def go_on(self, actor: Actor, reach: Reach, noted: Noted) -> None:
        """Move an actor past `reach` gates, or to its end, and look at everything after each of its writes."""
        await actor.settle_down()
        while not actor.is_done:
            left = actor.place
            await actor.move()
            self.trace.append(f"{actor.name}: {left} ⟶ {'end' if actor.is_done else actor.place}")
            if actor.has_written:
                await noted()
                await self.watching.look(only_of=self.organization.id)
            reach -= 1
            if not reach:
                return

    async def work(self, number: int, pick: int, reach: Reach, *, job_id: str | None = None) -> bool:
        """Let a worker go on, or take a job; False where there is none."""
        worker = self.workers[number]
        if worker.actor is None:
            worker.job = await self._claim(pick, job_id, f"worker {number}")
            if worker.job is None:
                return False
            job = worker.job
            self.trace.append(f"worker {number} takes {job.id}")
            worker.actor = Actor(f"worker {number}", lambda: worker.runner.run_job(job))
        await self.go_on(worker.actor, reach, _nothing)
        if worker.actor.is_done:
            self._end_of(worker.actor)
            worker.actor = worker.job = None
        return True

    async def _claim(self, pick: int, job_id: str | None, worker: str) -> Job | None:
        """The due job at `pick` in order of name: ids grow, so a schedule that is run again picks the same."""
        if job_id is None:
            due = {"state": "available", "$expr": {"$lte": ["$run_at", "$$NOW"]}}
            rows = [row async for row in self.connection.database["jobs"].find(due, {"_id": 1}).sort("_id", 1)]
            if not rows:
                return None
            job_id = str(rows[pick % len(rows)]["_id"])
        return await self.observer.repositories.jobs._take(job_id, worker, new_id(), ENDLESS_SECONDS)

    async def crash_worker(self, number: int) -> None:
        """The process dies; another one takes its place."""
        worker = self.workers[number]
        if worker.actor is not None:
            self.trace.append(f"worker {number} dies at {worker.actor.place}")
            self.crashes += 1
            await worker.actor.kill()
        self.workers[number] = await self.new_worker()

    async def stop_worker(self, number: int) -> None:
        worker = self.workers[number]
        if worker.actor is not None:
            self.trace.append(f"worker {number} is stopped at {worker.actor.place}")
            worker.actor.task.cancel()
            await self.work(number, 0, TO_THE_END)

    async def lose_lease(self, number: int) -> None:
        worker = self.workers[number]
        if worker.job is not None:
            self.trace.append(f"worker {number} sleeps through its lease")
            self.lost_leases += 1
            await self._expire({"_id": worker.job.id, "lease_token": worker.job.lease_token})

    async def rival(self, number: int, reach: Reach, *, goes_on: bool) -> None:
        """Two at the same job, of whom the first does not know that it is not its own any more."""
        other = (number + 1) % WORKERS
        job = self.workers[number].job
        if job is None:
            return
        if self.workers[other].actor is not None:
            await self.work(other, 0, TO_THE_END)
        job_id = job.id
        await self.lose_lease(number)
        await self.work(other, 0, reach, job_id=job_id)
        if goes_on:
            await self.work(number, 0, TO_THE_END)

    async def notice_lost_lease(self, number: int) -> None:
        worker = self.workers[number]
        if worker.job is None or worker.actor is None:
            return
        if await self.observer.repositories.jobs.heartbeat(worker.job, lease_seconds=ENDLESS_SECONDS) is None:
            self.trace.append(f"worker {number} finds its lease lost")
            worker.runner.stop_work()
            await self.work(number, 0, 1)

    async def new_worker(self) -> Worker:
        runner = SteppedRunner(await self.launch())
        runner.unforeseen = self.unforeseen
        return Worker(runner)

    async def ask(
        self,
        number: int,
        name: str,
        call: Callable[[Client], Awaitable[object]],
        on_commit: Callable[[Client], Awaitable[None]],
        reach: Reach,
        *,
        is_search: bool = False,
    ) -> None:
        """A client's process is asked for something; it ends first what it was at."""
        await self.move_client(number, TO_THE_END)
        client = self.clients[number]
        client.on_commit, client.noted_commits, client.began_at = lambda: on_commit(client), 0, self.changes
        client.is_search = is_search

        async def answer() -> object:
            return await call(client)

        client.actor = Actor(f"client {number} ({name})", answer)
        await self.move_client(number, reach)

    async def move_client(self, number: int, reach: Reach) -> None:
        client = self.clients[number]
        if client.actor is None:
            return
        await self.go_on(client.actor, reach, lambda: self._note_commits(client))
        if client.actor.is_done:
            self._require_answer(client, client.actor)
            client.actor = client.on_commit = None

    async def _note_commits(self, client: Client) -> None:
        actor = client.actor
        if actor is not None and actor.commits > client.noted_commits and client.on_commit is not None:
            client.noted_commits = actor.commits
            await client.on_commit()

    def _require_answer(self, client: Client, actor: Actor) -> None:
        """A call may be refused, if others were at the same thing meanwhile."""
        error = actor.task.exception()
        if error is None:
            return
        self.trace.append(f"{actor.name} is refused: {error!r}")
        is_disturbed = self.changes > client.began_at
        if not (is_disturbed and isinstance(error, NotFoundError | ConflictError)):
            raise error

    async def crash_client(self, number: int) -> None:
        client = self.clients[number]
        if client.actor is not None:
            self.trace.append(f"{client.actor.name} dies at {client.actor.place}")
            self.crashes += 1
            await client.actor.kill()
        self.clients[number] = Client(await self.launch())

    def _end_of(self, actor: Actor) -> None:
        if not actor.task.cancelled():
            actor.task.result()

    async def reconcile(self, reach: Reach) -> None:
        """Let the reconciler go on with its pass, or begin one; where it ends, search in its process."""
        repairer = self.repairer
        if repairer.actor is None:
            repairer.actor = Actor("reconciler", repairer.services.operations.reconciler.run_pass)
        await self.go_on(repairer.actor, reach, _nothing)
        if repairer.actor.is_done:
            self._end_of(repairer.actor)
            repairer.actor = None
            await self.watching.look(repairer.services)

    async def crash_reconciler(self) -> None:
        if self.repairer.actor is not None:
            self.trace.append(f"reconciler dies at {self.repairer.actor.place}")
            self.crashes += 1
            await self.repairer.actor.kill()
        self.repairer = Repairer(await self.launch())

    # ── Time, repairs, the end ──────────────────────────────────────────────────────────────────────────────────────

    async def pass_time(self) -> None:
        """Everything that waits for a time is due; a lease holds only where a process renews it."""
        waiting: dict[str, Any] = {"state": "available"}
        if any(client.actor is not None and client.is_search for client in self.clients):
            # No search takes as long as superseded vectors are kept.
            waiting["kind"] = {"$ne": JobKind.SWEEP.value}
        await self.connection.database["jobs"].update_many(waiting, [{"$set": {"run_at": "$$NOW"}}])
        held = [worker.job.lease_token for worker in self.workers if worker.job is not None]
        await self._expire({"state": "running", "lease_token": {"$nin": held}})
        if not any(client.actor is not None and not client.is_search for client in self.clients):
            past = clock.now() - timedelta(hours=2)
            await self.connection.database["uploads"].update_many({}, {"$set": {"lease_expires_at": past}})

    async def _expire(self, query: dict[str, Any]) -> None:
        past = clock.now() - timedelta(hours=2)
        await self.connection.database["jobs"].update_many(query, {"$set": {"lease_expires_at": past}})
        await self.observer.repositories.jobs.rescue(max_deaths=1000)

    async def drain(self) -> None:
        """Let every process end what it is at, and run what is due."""
        for number in range(CLIENTS):
            await self.move_client(number, TO_THE_END)
        for number in range(WORKERS):
            if self.workers[number].actor is not None:
                await self.work(number, 0, TO_THE_END)
        if self.repairer.actor is not None:
            await self.reconcile(TO_THE_END)
        while await self.work(0, 0, TO_THE_END):
            pass

    async def finish_all_work(self) -> None:
        """Drain, letting time pass, until no job is left."""
        jobs = self.connection.database["jobs"]
        for _ in range(DRAINING_ROUNDS):
            await self.drain()
            await self.pass_time()
            if not await jobs.count_documents({"state": {"$ne": "dead"}}):
                return
        left = [f"{row['_id']} {row['state']} {row['error']}" async for row in jobs.find()]
        raise AssertionError(f"work that never ends: {left}")

    async def bury(self) -> None:
        """End whatever is still under way, without a trace in the database."""
        actors = [*(worker.actor for worker in self.workers), *(client.actor for client in self.clients)]
        for actor in [*actors, self.repairer.actor]:
            if actor is not None:
                await actor.kill()


async def new_world(connection: MongoConnection, launch: Launch) -> World:
    """An organization of two tags; another one whose document and knowledge base, by mistake, name them too."""
    observer = await launch()
    organization = await observer.tenancy.organizations.create("ours")
    foreign = await observer.tenancy.organizations.create("theirs")
    tags = [
        await observer.ingestion.tags.create(organization.id, name=f"tag {number}", color="#000000", description="")
        for number in range(TAGS)
    ]
    model = Model()
    watching = Watching(observer, model, {item.id: item for item in (organization, foreign)})
    tag_ids = tuple(tag.id for tag in tags)
    repairer = Repairer(await launch())
    world = World(connection, launch, observer, organization, foreign, tag_ids, model, watching, repairer)
    world.workers = [await world.new_worker() for _ in range(WORKERS)]
    world.clients = [Client(await launch()) for _ in range(CLIENTS)]
    world.document_slots[0], world.kb_slots[0] = await _settle(world, organization, "ours", (tag_ids[0],))
    # Nothing but the organization tells theirs from ours.
    await _settle(world, foreign, "theirs", tag_ids)
    await observer.jobs.new_runner().run_until_idle()
    await observer.ingestion.life_cycle.settle_noted()
    return world


async def _settle(world: World, owner: Organization, name: str, tag_ids: tuple[str, ...]) -> tuple[str, str]:
    """A document and a knowledge base; their ids."""
    content = Content(world.next_number(), 2)
    staged = await stage(world.observer, owner.id, f"{name}.txt", content)
    result = await commit(world.observer, staged, tag_ids=tag_ids, policy=DuplicatePolicy.RETURN)
    kb = await create_knowledge_base(world.observer, owner, name, tag_ids)
    world.model.documents[result.document.id] = DocumentTruth(owner.id, f"{name}.txt", tag_ids, [content])
    world.model.knowledge_bases[kb.id] = KnowledgeBaseTruth(owner.id, name, tag_ids)
    return result.document.id, kb.id


async def _nothing() -> None:
    """Workers' commits change nothing that people asked for."""
