"""Decisions of a schedule: small, independent choices, so that Hypothesis can leave any of them out.

Slots, not ids, are named: a choice that has nothing to act on does nothing, and so stays meaningful when those
before it are left out.
"""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

TAGS = 2
DOCUMENTS = 3
KNOWLEDGE_BASES = 2
WORKERS = 2
CLIENTS = 2

TO_THE_END = 0

TagSet = tuple[int, ...]
Reach = int
"""The extent of an actor's move: past so many gates, or TO_THE_END."""


@dataclass(frozen=True)
class Upload:
    """A new document; where the slot has one, the same bytes again. `lines`: chunks."""

    document: int
    tags: TagSet
    lines: int


@dataclass(frozen=True)
class Replace:
    """Other bytes under the document's name. `lines` 0: white space only."""

    document: int
    lines: int
    tags: TagSet | None


@dataclass(frozen=True)
class TagDocument:
    document: int
    tags: TagSet


@dataclass(frozen=True)
class RenameDocument:
    document: int


@dataclass(frozen=True)
class DescribeDocument:
    document: int


@dataclass(frozen=True)
class ExtractAgain:
    document: int


@dataclass(frozen=True)
class DeleteDocument:
    document: int


@dataclass(frozen=True)
class CreateKnowledgeBase:
    """A move of a slot without a job; where the slot has one, nothing."""

    kb: int
    tags: TagSet


@dataclass(frozen=True)
class TagKnowledgeBase:
    kb: int
    tags: TagSet


@dataclass(frozen=True)
class RenameKnowledgeBase:
    kb: int


@dataclass(frozen=True)
class DeleteKnowledgeBase:
    kb: int


@dataclass(frozen=True)
class SearchSlowly:
    """A search during which others work."""

    kb: int


Wish = (
    Upload
    | Replace
    | TagDocument
    | RenameDocument
    | DescribeDocument
    | ExtractAgain
    | DeleteDocument
    | CreateKnowledgeBase
    | TagKnowledgeBase
    | RenameKnowledgeBase
    | DeleteKnowledgeBase
    | SearchSlowly
)
"""The wish of a person."""


@dataclass(frozen=True)
class Ask:
    """A client's process begins with a wish, after ending what it was at, and goes on so far."""

    client: int
    wish: Wish
    reach: Reach


@dataclass(frozen=True)
class MoveClient:
    client: int
    reach: Reach


@dataclass(frozen=True)
class CrashClient:
    client: int


@dataclass(frozen=True)
class Work:
    """A worker goes on with its job; an idle one takes the due job at `pick`, counted around."""

    worker: int
    pick: int
    reach: Reach


@dataclass(frozen=True)
class CrashWorker:
    """The worker goes on as at `Work`, and dies there."""

    worker: int
    pick: int
    reach: Reach


@dataclass(frozen=True)
class StopWorker:
    """As at a shutdown without time left: its job is interrupted and given back."""

    worker: int


@dataclass(frozen=True)
class LoseLease:
    """The worker is paused for longer than its lease; it does not know."""

    worker: int


@dataclass(frozen=True)
class Rival:
    """The worker goes on as at `Work`, and sleeps through its lease; the other one takes the job and goes on.

    Before, the other one ends what it was at; `goes_on`: then the first comes to its end, while the other waits.
    """

    worker: int
    pick: int
    reach: Reach
    others_reach: Reach
    goes_on: bool


@dataclass(frozen=True)
class NoticeLostLease:
    """Its heartbeat finds that the lease is lost, and stops the work."""

    worker: int


@dataclass(frozen=True)
class TimePasses:
    """Leases of the dead run out, retries and sweeps become due."""


@dataclass(frozen=True)
class Reconcile:
    """The reconciler goes on with its pass, or begins one, with the grace that is the default.

    Where the pass ends, a search is made in its process.
    """

    reach: Reach


@dataclass(frozen=True)
class CrashReconciler:
    """The reconciler goes on as at `Reconcile`, and dies there."""

    reach: Reach


@dataclass(frozen=True)
class Drain:
    """Nobody asks for anything, and all work is done."""


Decision = (
    Ask
    | MoveClient
    | CrashClient
    | Work
    | CrashWorker
    | StopWorker
    | LoseLease
    | Rival
    | NoticeLostLease
    | TimePasses
    | Reconcile
    | CrashReconciler
    | Drain
)

_documents = st.integers(0, DOCUMENTS - 1)
_kbs = st.integers(0, KNOWLEDGE_BASES - 1)
_workers = st.integers(0, WORKERS - 1)
_clients = st.integers(0, CLIENTS - 1)
_tags = st.sampled_from([(0,), (1,), (0, 1), ()])
_lines = st.integers(1, 3)
_picks = st.integers(0, 5)
_short = st.integers(1, 30)
_reaches = st.just(TO_THE_END) | _short | st.integers(1, 6)


def _weighted(choices: list[tuple[int, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
    """One of the choices, each as often as its weight says; `one_of` would count a repeated one once."""
    places = [place for place, (weight, _) in enumerate(choices) for _ in range(weight)]
    return st.sampled_from(places).flatmap(lambda place: choices[place][1])


_wishes: st.SearchStrategy[Wish] = _weighted(
    [
        (4, st.builds(Upload, _documents, _tags, _lines)),
        (5, st.builds(Replace, _documents, st.integers(0, 3), st.none() | _tags)),
        (3, st.builds(TagDocument, _documents, _tags)),
        (2, st.builds(DeleteDocument, _documents)),
        (2, st.builds(CreateKnowledgeBase, _kbs, _tags)),
        (2, st.builds(TagKnowledgeBase, _kbs, _tags)),
        (1, st.builds(DeleteKnowledgeBase, _kbs)),
        (1, st.builds(ExtractAgain, _documents)),
        (3, st.builds(SearchSlowly, _kbs)),
        (1, st.builds(RenameDocument, _documents)),
        (1, st.builds(DescribeDocument, _documents)),
        (1, st.builds(RenameKnowledgeBase, _kbs)),
    ]
)
_decisions: st.SearchStrategy[Decision | None] = _weighted(
    [
        (1, st.none()),
        (8, st.builds(Ask, _clients, _wishes, st.just(TO_THE_END) | _reaches)),
        (12, st.builds(Work, _workers, _picks, _reaches)),
        (4, st.builds(Rival, _workers, _picks, _short, _reaches, st.booleans())),
        (3, st.builds(MoveClient, _clients, _reaches)),
        (2, st.builds(CrashWorker, _workers, _picks, _short)),
        (1, st.builds(CrashClient, _clients)),
        (1, st.builds(StopWorker, _workers)),
        (1, st.builds(LoseLease, _workers)),
        (1, st.builds(NoticeLostLease, _workers)),
        (1, st.just(TimePasses())),
        (2, st.builds(Reconcile, st.just(TO_THE_END) | _reaches)),
        (1, st.builds(CrashReconciler, _short)),
        (1, st.just(Drain())),
    ]
)
# Lists that may be short mostly are; from one that may not, Hypothesis leaves choices out by choosing None.
schedules: st.SearchStrategy[list[Decision]] = st.lists(_decisions, min_size=25, max_size=60).map(
    lambda chosen: [decision for decision in chosen if decision is not None]
)
