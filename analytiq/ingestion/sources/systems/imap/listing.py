"""Listings of mailboxes: all messages, or those since the last run.

A server tells which UIDs were expunged, but not which messages they were, and a message has another UID in each
mailbox. So a run lists the changes only if nothing was taken away, which the numbers of messages tell. Otherwise it
lists all, which costs the headers of each message and no body.
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from analytiq.errors import PermanentError
from analytiq.ingestion.sources.base import Accepts, ListedBatch, ListedItem
from analytiq.ingestion.sources.systems.imap.connection import (
    MailboxInfo,
    MailboxState,
    MailboxUnreadableError,
    MailConnection,
    Message,
)
from analytiq.ingestion.sources.systems.imap.messages import LISTED_PARTS, MessageChoice, listed

BATCH = 200
MOST_MAILBOXES = 2000
CATCHING_UP = 3
"""Most rounds through the mailboxes for messages that came while the run went on."""

States = dict[str, MailboxState]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a listing.

    Attributes:
        before: the states after the last run, if changes are listed; None: everything is.
        done: states of mailboxes up to which their messages are listed.
        mailbox: the mailbox that is being listed, from `state`.
        state: its state when that began.
        uid: the last listed message of it.
    """

    before: Mapping[str, MailboxState] | None = None
    done: Mapping[str, MailboxState] = field(default_factory=States)
    mailbox: str | None = None
    state: MailboxState | None = None
    uid: int = 0

    def written(self) -> str:
        """Return the position as a cursor."""
        return json.dumps(asdict(self))

    @classmethod
    def of_cursor(cls, cursor: str) -> "Position":
        """Read a cursor."""
        kept = json.loads(cursor)
        before = kept["before"]
        return cls(
            before=None if before is None else _states(before),
            done=_states(kept["done"]),
            mailbox=kept["mailbox"],
            state=MailboxState(**kept["state"]) if kept["state"] else None,
            uid=kept["uid"],
        )


class MailListing:
    """One listing of the chosen mailboxes."""

    def __init__(self, connection: MailConnection, choice: MessageChoice, accepts: Accepts) -> None:
        self._connection = connection
        self._choice = choice
        self._accepts = accepts
        self._problems: list[str] = []

    async def batches(
        self, mailboxes: Sequence[MailboxInfo], *, cursor: str | None, since: str | None
    ) -> AsyncGenerator[ListedBatch]:
        """Yield the messages behind a cursor."""
        if len(mailboxes) > MOST_MAILBOXES:
            raise PermanentError(f"The source has more than {MOST_MAILBOXES:,} mailboxes. Choose some by a pattern.")
        position = Position.of_cursor(cursor) if cursor else await self._begun(mailboxes, since)
        for mailbox in mailboxes:
            if mailbox.name in position.done:
                continue
            async for reached, items in self._listed(mailbox, position):
                position = reached
                if items or self._problems:
                    yield self._batch(reached, items)
        for _ in range(CATCHING_UP):
            is_settled = True
            for mailbox in mailboxes:
                async for reached, items in self._caught_up(mailbox, position):
                    position, is_settled = reached, False
                    yield self._batch(reached, items)
            if is_settled:
                break
        is_whole = all(mailbox.name in position.done for mailbox in mailboxes)
        yield replace(self._batch(position, []), next_since=_written(position.done) if is_whole else None)

    def _batch(self, position: Position, items: Sequence[ListedItem]) -> ListedBatch:
        problems, self._problems = self._problems, []
        return ListedBatch(
            items=items, cursor=position.written(), problems=problems, is_delta=position.before is not None
        )

    async def _begun(self, mailboxes: Sequence[MailboxInfo], since: str | None) -> Position:
        """Return the beginning of a listing: of the changes if that is enough."""
        before = _read(since)
        if before is None or before.keys() != {mailbox.name for mailbox in mailboxes}:
            return Position()
        if not await self._connection.tells_changes():
            return Position()
        for mailbox in mailboxes:
            try:
                if not await self._only_grew(mailbox.name, before[mailbox.name]):
                    return Position()
            except MailboxUnreadableError:
                return Position()
        return Position(before=before)

    async def _only_grew(self, mailbox: str, before: MailboxState) -> bool:
        """Return True if a mailbox has lost no message since, and no message has left the choice."""
        state = await self._connection.examine(mailbox)
        if state.validity != before.validity or not before.change_number or not state.change_number:
            return False
        arrived = await self._connection.search(mailbox, before.next_uid, state.next_uid, ["ALL"])
        if before.count + len(arrived) != state.count:
            return False
        if state.change_number == before.change_number:
            return True
        changed = ["MODSEQ", before.change_number + 1]
        left = [*changed, "NOT", self._choice.criteria()]
        return not await self._connection.search(mailbox, 1, before.next_uid, left)

    async def _listed(
        self, mailbox: MailboxInfo, position: Position
    ) -> AsyncGenerator[tuple[Position, list[ListedItem]]]:
        """Yield a mailbox's messages, or its changes."""
        try:
            now = await self._connection.examine(mailbox.name)
        except MailboxUnreadableError as error:
            self._problems.append(error.detail)
            yield position, []
            return
        state, first = now, 1
        if position.mailbox == mailbox.name and position.state and position.state.validity == now.validity:
            state, first = position.state, position.uid + 1
        criteria = self._choice.criteria()
        before = position.before.get(mailbox.name) if position.before is not None else None
        if before is not None and before.validity == now.validity:
            criteria = [*criteria, "MODSEQ", before.change_number + 1]
            arrived = await self._connection.search(mailbox.name, before.next_uid, state.next_uid, ["ALL"])
            # The number of messages as it has to be, so that the next run sees it if one was lost meanwhile.
            state = replace(state, count=before.count + len(arrived))
        uids = await self._connection.search(mailbox.name, first, state.next_uid, criteria)
        begun = replace(position, mailbox=mailbox.name, state=state)
        async for uid, items in self._items(mailbox, state, uids):
            yield replace(begun, uid=uid), items
        yield _done(position, mailbox, state), []

    async def _caught_up(
        self, mailbox: MailboxInfo, position: Position
    ) -> AsyncGenerator[tuple[Position, list[ListedItem]]]:
        """Yield messages that came since a mailbox was listed: one may have been moved here from a later mailbox."""
        state = position.done.get(mailbox.name)
        if state is None:
            return
        try:
            now = await self._connection.examine(mailbox.name)
        except MailboxUnreadableError as error:
            self._problems.append(error.detail)
            return
        if now.validity != state.validity or now.next_uid <= state.next_uid:
            return
        arrived = await self._connection.search(mailbox.name, state.next_uid, now.next_uid, ["ALL"])
        grown = replace(state, next_uid=now.next_uid, count=state.count + len(arrived))
        chosen = await self._connection.search(mailbox.name, state.next_uid, now.next_uid, self._choice.criteria())
        items = [item async for _, some in self._items(mailbox, now, chosen) for item in some]
        yield _done(position, mailbox, grown), items

    async def _items(
        self, mailbox: MailboxInfo, state: MailboxState, uids: Sequence[int]
    ) -> AsyncGenerator[tuple[int, list[ListedItem]]]:
        for start in range(0, len(uids), BATCH):
            some = uids[start : start + BATCH]
            messages = await self._connection.fetch(mailbox.name, some, LISTED_PARTS)
            yield some[-1], self._accepted(mailbox, state, messages)

    def _accepted(self, mailbox: MailboxInfo, state: MailboxState, messages: Mapping[int, Message]) -> list[ListedItem]:
        found = [
            listed(mailbox, state.validity, uid, messages[uid])
            for uid in sorted(messages)
            if self._choice.accepts(messages[uid])
        ]
        return [item for item in found if item is not None and self._accepts(item.name)]


def _done(position: Position, mailbox: MailboxInfo, state: MailboxState) -> Position:
    done = {**position.done, mailbox.name: state}
    return replace(position, done=done, mailbox=None, state=None, uid=0)


def _written(states: Mapping[str, MailboxState]) -> str:
    return json.dumps({name: asdict(state) for name, state in states.items()})


def _read(since: str | None) -> States | None:
    if since is None:
        return None
    try:
        return _states(json.loads(since))
    except (ValueError, TypeError, AttributeError):
        return None


def _states(kept: Mapping[str, dict[str, int]]) -> States:
    return {name: MailboxState(**state) for name, state in kept.items()}
