"""Invariant: each knowledge base has an epoch, and its change log contains no later one."""

from collections.abc import AsyncGenerator, Sequence

from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import Batch, KnowledgeBaseInvariant, of_knowledge_base
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.storage.ids import new_id
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction


def judge_epoch(knowledge_base: KnowledgeBase, epoch: Epoch | None, latest_change: int) -> list[Drift]:
    """Compare a knowledge base's epoch with its log, which was read first; pure."""
    if epoch is None:
        return [of_knowledge_base(DriftKind.LOST_EPOCH, knowledge_base, "it is missing")]
    if epoch.epoch < latest_change:
        # The next commit would take a number that the log already has, and fail.
        detail = f"{epoch.epoch}, and the log has {latest_change}"
        return [of_knowledge_base(DriftKind.LOST_EPOCH, knowledge_base, detail)]
    return []


class KnowledgeBaseEpoch(KnowledgeBaseInvariant):
    """Checks this invariant; see the module."""

    name = "epoch"
    kinds = frozenset({DriftKind.LOST_EPOCH})

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        drift = await self._judge(knowledge_base)
        if drift:
            # A deletion removes the epoch too, and may have begun since.
            again = await self.rows.knowledge_bases.get(knowledge_base.organization_id, knowledge_base.id)
            drift = [] if again is None else await self._judge(again)
        yield Batch(drift)

    async def _judge(self, knowledge_base: KnowledgeBase) -> list[Drift]:
        latest = await self.rows.epochs.latest_change(knowledge_base.id)
        return judge_epoch(knowledge_base, await self.rows.epochs.read(knowledge_base.id), latest)

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Restore the epochs; see Invariant."""
        return await writer.apply(drift, self._restart)

    async def _restart(self, item: Drift) -> None:
        """Start a new history behind the log: the next commit's number is free, and every replica reloads."""
        kb_id = item.kb_id or ""

        async def commit(session: Session) -> None:
            # A write to the row, so that a deletion, which removes the epoch, conflicts.
            if await self.rows.knowledge_bases.change(session, item.organization_id, kb_id, {}) is None:
                return
            latest = await self.rows.epochs.latest_change(kb_id, session=session)
            epoch = await self.rows.epochs.read(kb_id, session=session)
            if epoch is None or epoch.epoch < latest:
                await self.rows.epochs.restart(session, kb_id, epoch=latest + 1, commit_id=new_id())

        await run_in_transaction(self.rows.connection, commit)
