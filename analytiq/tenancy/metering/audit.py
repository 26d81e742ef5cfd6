"""Whether the books balance: what was charged is what was first stored, and what an account has used is its ledger."""

from collections import Counter
from dataclasses import dataclass

from analytiq.storage.repositories.books import Books


@dataclass(frozen=True, slots=True)
class Imbalance:
    """Two figures of an organization that should be equal and are not; a sentence says which.

    `is_explained`: erasing cached embeddings does this, and what was paid for them stays in the ledger.
    """

    organization_id: str
    detail: str
    is_explained: bool = False


def imbalances(books: Books) -> list[Imbalance]:
    """Everything in the books that does not balance, by organization."""
    found: list[Imbalance] = []
    for organization_id, model in sorted(books.cached.keys() | books.removed.keys() | books.charged.keys()):
        key = (organization_id, model)
        # What eviction took out was stored all the same.
        stored = books.cached.get(key, 0) + books.removed.get(key, 0)
        charged = books.charged.get(key, 0)
        if stored != charged:
            detail = f"{charged} SPUs were charged for {model}, and {stored} of its embeddings were first stored for it"
            found.append(Imbalance(organization_id, detail, is_explained=stored < charged))
    ledger: Counter[str] = Counter()
    for (organization_id, _), spus in books.charged.items():
        ledger[organization_id] += spus
    for organization_id, used in sorted(books.used.items()):
        counted = used + books.unreleased.get(organization_id, 0)
        if counted != ledger[organization_id]:
            detail = f"its account has used {counted} SPUs, and its ledger charges {ledger[organization_id]}"
            found.append(Imbalance(organization_id, detail))
    return found
