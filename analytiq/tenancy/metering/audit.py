"""Audit of the books: charges equal first-stored embeddings, and an account's use equals its ledger."""

from collections import Counter
from dataclasses import dataclass

from analytiq.storage.repositories.books import Books


@dataclass(frozen=True, slots=True)
class Imbalance:
    """Two figures of an organization that should be equal and are not, in a sentence.

    `is_explained`: erasing cached embeddings causes it, and their charge stays in the ledger.
    """

    organization_id: str
    detail: str
    is_explained: bool = False


def imbalances(books: Books) -> list[Imbalance]:
    """Return all imbalances, by organization."""
    found: list[Imbalance] = []
    for organization_id, model in sorted(books.cached.keys() | books.removed.keys() | books.charged.keys()):
        key = (organization_id, model)
        # Evicted embeddings were stored all the same.
        stored = books.cached.get(key, 0) + books.removed.get(key, 0)
        charged = books.charged.get(key, 0)
        if stored != charged:
            detail = (
                f"{charged} SPUs were charged for {model}, but {stored} of its embeddings were first stored for it."
            )
            found.append(Imbalance(organization_id, detail, is_explained=stored < charged))
    ledger: Counter[str] = Counter()
    for (organization_id, _), spus in books.charged.items():
        ledger[organization_id] += spus
    for organization_id, used in sorted(books.used.items()):
        counted = used + books.unreleased.get(organization_id, 0)
        if counted != ledger[organization_id]:
            detail = f"Its account has used {counted} SPUs, but its ledger charges {ledger[organization_id]}."
            found.append(Imbalance(organization_id, detail))
    return found
