"""A job never outlives its truth: random lives of documents and knowledge bases, with crashes between any two commands.

Hypothesis chooses what people ask for, which process goes on next and how far, which dies, and which sleeps through
its lease. After every write, every knowledge base is searched and must show what the model says that it may and must;
when all work is done, every collection must hold what the model says, and nothing else.
"""

from hypothesis import event, example, given, note

from analytiq.storage.client import MongoConnection
from tests.property import decisions
from tests.property.audit import audit, require_pairs
from tests.property.conftest import emptied, schedules
from tests.property.decisions import (
    TO_THE_END,
    Ask,
    CrashClient,
    Decision,
    Rival,
    TagDocument,
    TagKnowledgeBase,
    Upload,
    Work,
)
from tests.property.processes import Launch
from tests.property.wishes import ask
from tests.property.world import World, new_world


async def decide(world: World, decision: Decision) -> None:
    match decision:
        case decisions.Ask(client, wish, reach):
            await ask(world, client, wish, reach)
        case decisions.MoveClient(client, reach):
            await world.move_client(client, reach)
        case decisions.CrashClient(client):
            await world.crash_client(client)
        case decisions.Work(worker, pick, reach):
            await world.work(worker, pick, reach)
        case decisions.CrashWorker(worker, pick, reach):
            await world.work(worker, pick, reach)
            await world.crash_worker(worker)
        case decisions.StopWorker(worker):
            await world.stop_worker(worker)
        case decisions.LoseLease(worker):
            await world.lose_lease(worker)
        case decisions.Rival(worker, pick, reach, others_reach, goes_on):
            await world.work(worker, pick, reach)
            await world.rival(worker, others_reach, goes_on=goes_on)
        case decisions.NoticeLostLease(worker):
            await world.notice_lost_lease(worker)
        case decisions.TimePasses():
            await world.pass_time()
        case decisions.Reconcile(reach):
            await world.reconcile(reach)
        case decisions.CrashReconciler(reach):
            await world.reconcile(reach)
            await world.crash_reconciler()
        case decisions.Drain():
            await world.drain()
    await world.watching.look()


async def require_truth(world: World) -> None:
    """All work done, one pass of the reconciler, all work done: the state is what the model says.

    What is found must be right before the pass: it is for the leavings of the dead, not for what jobs forgot. Where
    nobody died or slept, everything must be right without it.
    """
    await world.finish_all_work()
    assert not world.unforeseen, world.unforeseen
    reconciling = await world.launch(grace_seconds=0.0)
    require_latest(world, await world.watching.look())
    require_latest(world, await world.watching.look(reconciling))
    await require_pairs(world)
    if not (world.crashes or world.lost_leases):
        await audit(world)
    await reconciling.operations.reconciler.run_pass()
    await world.finish_all_work()
    # Counts are written after a job, by its process; the next pass does it where that one has died.
    await reconciling.operations.reconciler.run_pass()
    require_latest(world, await world.watching.look())
    require_latest(world, await world.watching.look(reconciling))
    await audit(world)
    healthy = await reconciling.operations.reconciler.run_pass(is_dry=True)
    assert healthy.drift == []


def require_latest(world: World, found: dict[str, dict[str, int]]) -> None:
    """Every knowledge base shows the latest version of each of its members, and nothing else."""
    for kb_id in world.model.knowledge_bases:
        latest = {item: len(world.model.documents[item].contents) - 1 for item in world.model.indexed(kb_id)}
        assert found[kb_id] == latest


STALE_EXTRACTION = [
    Ask(0, Upload(1, (0,), 1), TO_THE_END),
    Rival(0, 0, 1, 8, goes_on=False),
    Work(0, 0, 4),
    Work(1, 0, TO_THE_END),
]
"""A worker that lost its lease begins by removing what earlier attempts have staged: here the text of its rival, whose
commit then pointed the document at a text that was not there any more."""

STALE_REMOVAL = [
    Ask(0, TagKnowledgeBase(0, (1,)), TO_THE_END),
    Work(0, 0, TO_THE_END),
    Work(0, 0, 6),
    Ask(0, TagDocument(0, (1,)), TO_THE_END),
    Work(0, 0, TO_THE_END),
]
"""A document left and came back between the plan to take it out and its commit: it was found, and was taken out."""

DISCARDED_UPLOAD = [Ask(0, Upload(0, (0,), 1), 5), CrashClient(0)]
"""A process died while it discarded an upload: its lease was forgotten before its bytes, which stayed for good."""


@given(schedule=decisions.schedules)
@example(schedule=STALE_EXTRACTION)
@example(schedule=STALE_REMOVAL)
@example(schedule=DISCARDED_UPLOAD)
@schedules(15)
async def test_job_never_outlives_its_truth(gated: MongoConnection, launch: Launch, schedule: list[Decision]) -> None:
    world = await new_world(gated, launch)
    try:
        for decision in schedule:
            world.trace.append(f"— {decision}")
            await decide(world, decision)
        moved = len(world.trace)
        await require_truth(world)
        event(f"moves, in hundreds: {moved // 100}")
        event(f"crashes: {world.crashes}")
        event(f"searches, in hundreds: {world.watching.searches // 100}")
        event(f"versions: {max((len(d.contents) for d in world.model.documents.values()), default=0)}")
    finally:
        note("\n".join(world.trace))
        await world.bury()
        await emptied(gated)
