"""Continuity of a replica: checks whether its version leads on to the stored state. Pure."""

from collections.abc import Sequence

from analytiq.models.index_entry import IndexChange
from analytiq.models.knowledge_base import Epoch


def is_fresh(have: Epoch | None, wanted: Epoch) -> bool:
    """Return whether the state just read is the requested one, or newer."""
    if have is None or have.epoch < wanted.epoch:
        return False
    return have.epoch > wanted.epoch or have.commit_id == wanted.commit_id


def lead_on(changes: Sequence[IndexChange], *, have: Epoch, to: Epoch) -> bool:
    """Return whether the changes lead from the replica's epoch to the stored one, without a gap or another history.

    The first change is the one that made the replica's epoch. A database that was restored from a backup and written to
    since has another commit id there.
    """
    if to.epoch < have.epoch:
        return False
    if to.epoch == have.epoch:
        return to.commit_id == have.commit_id
    epochs = [change.epoch for change in changes]
    if have.epoch == 0:
        return epochs == list(range(1, to.epoch + 1))
    return epochs == list(range(have.epoch, to.epoch + 1)) and changes[0].commit_id == have.commit_id
