"""Messages that reach inbound addresses: each has its effect once, however often it arrives."""

from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.errors import ConflictError
from analytiq.ingestion.documents.naming import LONGEST_EXTERNAL_ID
from analytiq.ingestion.sources.pushes.addresses import Inbound
from analytiq.ingestion.sources.pushes.protocol import PushAnswer
from analytiq.ingestion.sources.pushes.standard_webhooks import SignedHead
from analytiq.ingestion.sources.pushes.taking import PushedItem, PushTaking
from analytiq.ingestion.sources.runs.run_requests import SourceRuns
from analytiq.models.inbound import MessageState
from analytiq.models.source import ItemOutcome, SourceRunEntry
from analytiq.storage.all_repositories import Repositories


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """The outcome of pushed items; none for a message that was done before."""

    entries: Sequence[SourceRunEntry] = ()
    is_repeated: bool = False


class InboundMessages:
    """Carries out verified messages."""

    def __init__(self, rows: Repositories, taking: PushTaking, runs: SourceRuns) -> None:
        self._addresses = rows.inbound
        self._taking = taking
        self._runs = runs

    async def take(
        self, inbound: Inbound, head: SignedHead, items: Sequence[PushedItem], *, request_id: str | None
    ) -> PushOutcome:
        """Take in the items of a verified message.

        Raises:
            ConflictError: the same request arrived before.
            AnalytiqError: see `PushTaking.take`; the message may be sent again, signed anew.
        """
        address = inbound.address
        state = await self._addresses.begin_message(address, head.message_id, head.sent_at)
        _require_no_replay(state)
        if state is MessageState.DONE:
            return PushOutcome(is_repeated=True)
        entries = await self._taking.take(inbound.source, items, request_id=request_id)
        if all(entry.outcome is not ItemOutcome.FAILED for entry in entries):
            await self._addresses.finish_message(address, head.message_id)
        return PushOutcome(entries)

    async def follow(self, inbound: Inbound, answer: PushAnswer, *, request_id: str | None) -> bool:
        """Have the items looked at again that a service names; return False for a message that was done before.

        Raises:
            ConflictError: the same request arrived before.
        """
        address, source = inbound.address, inbound.source
        state = await self._addresses.begin_message(address, answer.message_id, answer.sent_at)
        _require_no_replay(state)
        if state is MessageState.DONE:
            return False
        named = [each for each in answer.external_ids if 0 < len(each) <= LONGEST_EXTERNAL_ID and "\0" not in each]
        if named or answer.is_whole:
            await self._runs.look_again(source, named, is_whole=answer.is_whole, request_id=request_id)
        await self._addresses.finish_message(address, answer.message_id)
        return True


def _require_no_replay(state: MessageState) -> None:
    if state is MessageState.REPLAYED:
        raise ConflictError("This request arrived before. Sign a repetition anew.", code="push_replayed")
